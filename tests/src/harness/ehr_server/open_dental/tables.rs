//! The documented tables: fields with defaults, filters of lists, and writable fields.

mod files;

use serde_json::json;

use super::table::{Answers, NEVER, NO_TIME, Since, Table, post, table};

const PATIENT: &[&str] = &[
    "MiddleI", "Preferred", "PatStatus", "Gender", "Position", "Birthdate", "SSN", "Address", "Address2", "City",
    "State", "Zip", "HmPhone", "WkPhone", "WirelessPhone", "Guarantor", "Email", "PriProv", "SecProv", "BillingType",
    "ChartNumber", "MedicaidID", "ClinicNum", "Language", "TxtMsgOk", "PreferConfirmMethod", "PreferContactMethod",
    "PreferRecallMethod",
];
const PATIENT_PUT: &[&str] = &[
    "LName", "FName", "MiddleI", "Preferred", "PatStatus", "Gender", "Position", "Birthdate", "SSN", "Address",
    "Address2", "City", "State", "Zip", "HmPhone", "WkPhone", "WirelessPhone", "Guarantor", "Email", "PriProv",
    "SecProv", "BillingType", "ChartNumber", "MedicaidID", "ClinicNum", "Language", "TxtMsgOk",
];
const APPOINTMENT: &[&str] = &[
    "AptStatus", "Pattern", "Confirmed", "Note", "ProvNum", "ProvHyg", "ClinicNum", "IsHygiene", "IsNewPatient",
    "Priority", "AppointmentTypeNum", "colorOverride", "PatternSecondary", "SecUserNumEntry", "DateTimeArrived",
    "DateTimeSeated", "DateTimeDismissed",
];
const APPOINTMENT_PUT: &[&str] = &[
    "AptStatus", "Pattern", "Confirmed", "Op", "Note", "ProvNum", "ProvHyg", "AptDateTime", "ClinicNum", "IsHygiene",
    "IsNewPatient", "Priority", "AppointmentTypeNum", "UnschedStatus", "colorOverride", "PatternSecondary",
    "DateTimeArrived", "DateTimeSeated", "DateTimeDismissed",
];

pub fn all() -> Vec<Table> {
    let mut tables = people();
    tables.extend(schedule());
    tables.extend(files::all());
    tables
}

fn people() -> Vec<Table> {
    vec![
        Table {
            stamp: Some("DateTStamp"),
            since: Since::After,
            server_time: true,
            single: true,
            ..table(
                "providers",
                "ProvNum",
                json!({"ProvNum": 0, "Abbr": "", "LName": "", "FName": "", "MI": "", "Suffix": "", "FeeSched": 0,
                    "Specialty": 0, "SSN": "", "StateLicense": "", "IsSecondary": "false", "provColor": "164,255,164",
                    "IsHidden": "false", "UsingTIN": "false", "SigOnFile": "true", "NationalProvID": "", "DateTStamp": NO_TIME,
                    "IsNotPerson": "false", "ProvStatus": "Active", "IsHiddenReport": "false", "Birthdate": NEVER,
                    "SchedNote": "", "PreferredName": ""}),
            )
        },
        Table {
            filters: &["ClinicNum", "PatStatus", "PriProv", "Gender", "Position", "Guarantor", "Birthdate"],
            stamp: Some("DateTStamp"),
            since: Since::After,
            server_time: true,
            single: true,
            names: &[("priProvAbbr", "PriProv", "providers", "Abbr"), ("secProvAbbr", "SecProv", "providers", "Abbr")],
            post: post(&["LName", "FName"], PATIENT, Answers::Row),
            put: PATIENT_PUT,
            ..table(
                "patients",
                "PatNum",
                json!({"PatNum": 0, "LName": "", "FName": "", "MiddleI": "", "Preferred": "", "PatStatus": "Patient",
                    "Gender": "Unknown", "Position": "Single", "Birthdate": NEVER, "SSN": "", "Address": "", "Address2": "",
                    "City": "", "State": "", "Zip": "", "HmPhone": "", "WkPhone": "", "WirelessPhone": "", "Guarantor": 0,
                    "Email": "", "EstBalance": 0.0, "PriProv": 0, "SecProv": 0, "BillingType": "Standard Account", "ImageFolder": "",
                    "FamFinUrgNote": "", "ChartNumber": "", "MedicaidID": "", "BalTotal": 0.0, "DateFirstVisit": NEVER,
                    "ClinicNum": 0, "clinicAbbr": "", "Ward": "", "PreferConfirmMethod": "None", "PreferContactMethod": "None",
                    "PreferRecallMethod": "None", "Language": "", "AdmitDate": NEVER, "siteDesc": "", "DateTStamp": NO_TIME,
                    "SuperFamily": 0, "TxtMsgOk": "Unknown", "SecDateEntry": NEVER}),
            )
        },
        Table {
            stamp: Some("DateTStamp"),
            since: Since::After,
            filters: &["PatNum"],
            single: true,
            names: &[("commType", "CommType", "definitions", "ItemName")],
            post: post(
                &["PatNum", "Note"],
                &["CommDateTime", "CommType", "commType", "Mode_", "SentOrReceived"],
                Answers::Row,
            ),
            ..table(
                "commlogs",
                "CommlogNum",
                json!({"CommlogNum": 0, "PatNum": 0, "CommDateTime": NO_TIME, "CommType": 0, "Note": "", "Mode_": "Phone",
                    "SentOrReceived": "Sent", "UserNum": 0, "DateTStamp": NO_TIME, "CommSource": "API"}),
            )
        },
        Table {
            filters: &["Category"],
            ..table(
                "definitions",
                "DefNum",
                json!({"DefNum": 0, "ItemName": "", "ItemValue": "", "Category": 0, "category": "", "isHidden": "false"}),
            )
        },
    ]
}

fn schedule() -> Vec<Table> {
    vec![
        Table {
            filters: &["ClinicNum"],
            single: true,
            ..table(
                "operatories",
                "OperatoryNum",
                json!({"OperatoryNum": 0, "OpName": "", "Abbrev": "", "ItemOrder": 0, "IsHidden": "false", "ProvDentist": 0,
                    "ProvHygienist": 0, "IsHygiene": "false", "ClinicNum": 0, "SetProspective": "false",
                    "IsWebSched": "false", "OperatoryType": 0, "operatoryType": ""}),
            )
        },
        table(
            "appointmenttypes",
            "AppointmentTypeNum",
            json!({"AppointmentTypeNum": 0, "AppointmentTypeName": "", "appointmentTypeColor": "0,0,0", "IsHidden": "false",
                "Pattern": "", "CodeStr": "", "BlockoutTypes": ""}),
        ),
        Table {
            filters: &["PatNum", "AptStatus", "Op", "ClinicNum", "AppointmentTypeNum"],
            stamp: Some("DateTStamp"),
            since: Since::After,
            server_time: true,
            single: true,
            names: &[
                ("confirmed", "Confirmed", "definitions", "ItemName"),
                ("provAbbr", "ProvNum", "providers", "Abbr"),
                ("unschedStatus", "UnschedStatus", "definitions", "ItemName"),
            ],
            post: post(&["PatNum", "Op", "AptDateTime"], APPOINTMENT, Answers::Row),
            put: APPOINTMENT_PUT,
            ..table(
                "appointments",
                "AptNum",
                json!({"AptNum": 0, "PatNum": 0, "AptStatus": "Scheduled", "Pattern": "/XX/", "Confirmed": 0,
                    "TimeLocked": "false", "Op": 0, "Note": "", "ProvNum": 0, "ProvHyg": 0, "AptDateTime": NO_TIME,
                    "NextAptNum": 0, "UnschedStatus": 0, "IsNewPatient": "false", "ProcDescript": "", "ClinicNum": 0,
                    "IsHygiene": "false", "DateTStamp": NO_TIME, "DateTimeArrived": NO_TIME, "DateTimeSeated": NO_TIME,
                    "DateTimeDismissed": NO_TIME, "InsPlan1": 0, "InsPlan2": 0, "DateTimeAskedToArrive": NO_TIME,
                    "colorOverride": "0,0,0", "AppointmentTypeNum": 0, "SecUserNumEntry": 0, "SecDateTEntry": NO_TIME,
                    "Priority": "Normal", "PatternSecondary": "", "ItemOrderPlanned": 0}),
            )
        },
        Table {
            post: post(
                &["EndPointUrl"],
                &["Workstation", "WatchTable", "PollingSeconds", "DateTimeStart", "Note"],
                Answers::Row,
            ),
            delete: true,
            ..table(
                "subscriptions",
                "SubscriptionNum",
                json!({"SubscriptionNum": 0, "EndPointUrl": "", "Workstation": "", "CustomerKey": "", "WatchTable": "",
                    "PollingSeconds": 0, "UiEventType": "", "DateTimeStart": NO_TIME, "DateTimeStop": NO_TIME,
                    "Note": ""}),
            )
        },
        // Numbers are strings in this table.
        Table {
            filters: &["SchedType", "ProvNum", "EmployeeNum"],
            stamp: Some("DateTStamp"),
            single: true,
            ..table(
                "schedules",
                "ScheduleNum",
                json!({"ScheduleNum": "0", "SchedDate": NEVER, "StartTime": "00:00:00", "StopTime": "00:00:00",
                    "SchedType": "Provider", "ProvNum": "0", "BlockoutType": "0", "blockoutType": "", "Note": "",
                    "operatories": "", "EmployeeNum": "0", "DateTStamp": NO_TIME}),
            )
        },
        Table {
            filters: &["PatNum"],
            stamp: Some("DateTStamp"),
            names: &[("recallStatus", "RecallStatus", "definitions", "ItemName")],
            ..table(
                "recalls",
                "RecallNum",
                json!({"RecallNum": 0, "PatNum": 0, "DateDue": NEVER, "DatePrevious": NEVER, "RecallInterval": "",
                    "RecallStatus": 0, "Note": "", "IsDisabled": "false", "DateTStamp": NO_TIME, "RecallTypeNum": 0,
                    "DisableUntilBalance": 0.0, "DisableUntilDate": NEVER, "DateScheduled": NEVER, "Priority": "Normal",
                    "TimePatternOverride": ""}),
            )
        },
        table(
            "recalltypes",
            "RecallTypeNum",
            json!({"RecallTypeNum": 0, "Description": "", "DefaultInterval": "", "TimePattern": "", "Procedures": "",
                "AppendToSpecial": "false"}),
        ),
    ]
}

//! The tables: their fields with the defaults of new rows, what their lists are searched by, and what may be written, as documented.

use serde_json::{Value, json};

use super::{
    office::{Office, Row},
    rules,
};

pub const NEVER: &str = "0001-01-01";
pub const NO_TIME: &str = "0001-01-01 00:00:00";

/// Why the office refuses: status and explanation.
pub type Refusal = (u16, String);
/// Checks and completes a row that is made or changed; the fields that were sent are named.
pub type Rule = fn(&Office, &mut Row, &[String]) -> Result<(), Refusal>;

#[derive(Clone)]
pub struct Table {
    pub path: &'static str,
    pub key: &'static str,
    /// A new row.
    pub blank: Row,
    /// Parameters that are fields of the row.
    pub filters: &'static [&'static str],
    /// Set by the database whenever the row changes.
    pub stamp: Option<&'static str>,
    /// The parameter of that name filters: by what came after it, or on it too.
    pub since: Since,
    /// Rows carry the server's time.
    pub server_time: bool,
    /// The list is one patient's.
    pub by_patient: bool,
    /// Fields shown beside those of the database: name, the key it is of, its table, its field there.
    pub names: &'static [(&'static str, &'static str, &'static str, &'static str)],
    /// One row can be asked for by its key.
    pub single: bool,
    pub post: Option<Post>,
    /// Fields that may be changed.
    pub put: &'static [&'static str],
    pub delete: bool,
    pub rule: Rule,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Since {
    None,
    After,
    OnOrAfter,
}

#[derive(Clone, Copy)]
pub struct Post {
    pub required: &'static [&'static str],
    pub optional: &'static [&'static str],
    /// The answer holds the row; older methods answer with a `location` header, or with nothing at all.
    pub answers: Answers,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    Row,
    Location,
    Nothing,
}

fn table(path: &'static str, key: &'static str, blank: Value) -> Table {
    let Value::Object(blank) = blank else { panic!("a row is an object") };
    Table {
        path,
        key,
        blank,
        filters: &[],
        stamp: None,
        since: Since::None,
        server_time: false,
        by_patient: false,
        names: &[],
        single: false,
        post: None,
        put: &[],
        delete: false,
        rule: rules::none,
    }
}

const fn post(required: &'static [&'static str], optional: &'static [&'static str], answers: Answers) -> Option<Post> {
    Some(Post { required, optional, answers })
}

const PATIENT: &[&str] = &[
    "MiddleI",
    "Preferred",
    "PatStatus",
    "Gender",
    "Position",
    "Birthdate",
    "SSN",
    "Address",
    "Address2",
    "City",
    "State",
    "Zip",
    "HmPhone",
    "WkPhone",
    "WirelessPhone",
    "Guarantor",
    "Email",
    "PriProv",
    "SecProv",
    "BillingType",
    "ChartNumber",
    "MedicaidID",
    "ClinicNum",
    "Language",
    "TxtMsgOk",
    "PreferConfirmMethod",
    "PreferContactMethod",
    "PreferRecallMethod",
];
const PATIENT_PUT: &[&str] = &[
    "LName",
    "FName",
    "MiddleI",
    "Preferred",
    "PatStatus",
    "Gender",
    "Position",
    "Birthdate",
    "SSN",
    "Address",
    "Address2",
    "City",
    "State",
    "Zip",
    "HmPhone",
    "WkPhone",
    "WirelessPhone",
    "Guarantor",
    "Email",
    "PriProv",
    "SecProv",
    "BillingType",
    "ChartNumber",
    "MedicaidID",
    "ClinicNum",
    "Language",
    "TxtMsgOk",
];
const APPOINTMENT: &[&str] = &[
    "AptStatus",
    "Pattern",
    "Confirmed",
    "Note",
    "ProvNum",
    "ProvHyg",
    "ClinicNum",
    "IsHygiene",
    "IsNewPatient",
    "Priority",
    "AppointmentTypeNum",
    "colorOverride",
    "PatternSecondary",
    "DateTimeArrived",
    "DateTimeSeated",
    "DateTimeDismissed",
];
const APPOINTMENT_PUT: &[&str] = &[
    "AptStatus",
    "Pattern",
    "Confirmed",
    "Op",
    "Note",
    "ProvNum",
    "ProvHyg",
    "AptDateTime",
    "ClinicNum",
    "IsHygiene",
    "IsNewPatient",
    "Priority",
    "AppointmentTypeNum",
    "UnschedStatus",
    "colorOverride",
    "PatternSecondary",
    "DateTimeArrived",
    "DateTimeSeated",
    "DateTimeDismissed",
];
const CARRIER: &[&str] =
    &["Address", "Address2", "City", "State", "Zip", "Phone", "ElectID", "NoSendElect", "IsHidden"];
const PLAN: &[&str] = &[
    "GroupName",
    "GroupNum",
    "PlanNote",
    "FeeSched",
    "PlanType",
    "CopayFeeSched",
    "EmployerNum",
    "IsMedical",
    "CodeSubstNone",
    "IsHidden",
    "MonthRenew",
    "IsBlueBookEnabled",
];

pub fn all() -> Vec<Table> {
    let mut tables = people();
    tables.extend(schedule());
    tables.extend(insurance());
    tables.extend(history());
    tables.extend(ledger());
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
                    "Specialty": 0, "SSN": "", "StateLicense": "", "IsSecondary": "false", "IsHidden": "false",
                    "UsingTIN": "false", "NationalProvID": "", "DateTStamp": NO_TIME, "IsNotPerson": "false",
                    "ProvStatus": "Active", "PreferredName": ""}),
            )
        },
        Table {
            filters: &["ClinicNum", "PatStatus", "PriProv", "Gender", "Position", "Guarantor", "Birthdate"],
            stamp: Some("DateTStamp"),
            since: Since::After,
            server_time: true,
            single: true,
            post: post(&["LName", "FName"], PATIENT, Answers::Row),
            put: PATIENT_PUT,
            rule: rules::patient,
            ..table(
                "patients",
                "PatNum",
                json!({"PatNum": 0, "LName": "", "FName": "", "MiddleI": "", "Preferred": "", "PatStatus": "Patient",
                    "Gender": "Unknown", "Position": "Single", "Birthdate": NEVER, "SSN": "", "Address": "", "Address2": "",
                    "City": "", "State": "", "Zip": "", "HmPhone": "", "WkPhone": "", "WirelessPhone": "", "Guarantor": 0,
                    "Email": "", "EstBalance": 0.0, "PriProv": 0, "SecProv": 0, "BillingType": "Standard Account",
                    "ChartNumber": "", "MedicaidID": "", "BalTotal": 0.0, "ClinicNum": 0, "Language": "", "DateTStamp": NO_TIME,
                    "TxtMsgOk": "Unknown", "SecDateEntry": NEVER}),
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
            rule: rules::commlog,
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
                    "IsWebSched": "false"}),
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
            ],
            post: post(&["PatNum", "Op", "AptDateTime"], APPOINTMENT, Answers::Row),
            put: APPOINTMENT_PUT,
            rule: rules::appointment,
            ..table(
                "appointments",
                "AptNum",
                json!({"AptNum": 0, "PatNum": 0, "AptStatus": "Scheduled", "Pattern": "/XX/", "Confirmed": 0,
                    "TimeLocked": "false", "Op": 0, "Note": "", "ProvNum": 0, "ProvHyg": 0, "AptDateTime": NO_TIME,
                    "NextAptNum": 0, "UnschedStatus": 0, "IsNewPatient": "false", "ProcDescript": "", "ClinicNum": 0,
                    "IsHygiene": "false", "DateTStamp": NO_TIME, "DateTimeArrived": NO_TIME, "DateTimeSeated": NO_TIME,
                    "DateTimeDismissed": NO_TIME, "colorOverride": "0,0,0", "AppointmentTypeNum": 0,
                    "SecDateTEntry": NO_TIME, "Priority": "Normal", "PatternSecondary": ""}),
            )
        },
        // Its numbers are texts.
        Table {
            filters: &["SchedType", "ProvNum", "EmployeeNum"],
            single: true,
            ..table(
                "schedules",
                "ScheduleNum",
                json!({"ScheduleNum": "0", "SchedDate": NEVER, "StartTime": "00:00:00", "StopTime": "00:00:00",
                    "SchedType": "Provider", "ProvNum": "0", "BlockoutType": "0", "blockoutType": "", "Note": "",
                    "operatories": "", "EmployeeNum": "0"}),
            )
        },
        Table {
            filters: &["PatNum"],
            ..table(
                "recalls",
                "RecallNum",
                json!({"RecallNum": 0, "PatNum": 0, "DateDue": NEVER, "DatePrevious": NEVER, "RecallInterval": "",
                    "RecallStatus": 0, "Note": "", "IsDisabled": "false", "RecallTypeNum": 0}),
            )
        },
        table(
            "recalltypes",
            "RecallTypeNum",
            json!({"RecallTypeNum": 0, "Description": "", "DefaultInterval": "", "TimePattern": "", "Procedures": ""}),
        ),
    ]
}

fn insurance() -> Vec<Table> {
    vec![
        Table {
            single: true,
            post: post(&["CarrierName"], CARRIER, Answers::Row),
            rule: rules::carrier,
            ..table(
                "carriers",
                "CarrierNum",
                json!({"CarrierNum": 0, "CarrierName": "", "Address": "", "Address2": "", "City": "", "State": "", "Zip": "",
                    "Phone": "", "ElectID": "", "NoSendElect": "SendElect", "IsHidden": "false"}),
            )
        },
        Table {
            filters: &["CarrierNum", "PlanType"],
            stamp: Some("SecDateTEdit"),
            single: true,
            post: post(&["CarrierNum"], PLAN, Answers::Row),
            rule: rules::plan,
            ..table(
                "insplans",
                "PlanNum",
                json!({"PlanNum": 0, "GroupName": "", "GroupNum": "", "PlanNote": "", "FeeSched": 0, "PlanType": "",
                    "EmployerNum": 0, "CarrierNum": 0, "IsMedical": "false", "IsHidden": "false", "MonthRenew": 0,
                    "SecDateEntry": NEVER, "SecDateTEdit": NO_TIME}),
            )
        },
        Table {
            filters: &["PlanNum", "Subscriber"],
            stamp: Some("SecDateTEdit"),
            since: Since::OnOrAfter,
            single: true,
            post: post(
                &["PlanNum", "Subscriber", "SubscriberID"],
                &["DateEffective", "DateTerm", "BenefitNotes", "ReleaseInfo", "AssignBen", "SubscNote"],
                Answers::Row,
            ),
            delete: true,
            rule: rules::subscription,
            ..table(
                "inssubs",
                "InsSubNum",
                json!({"InsSubNum": 0, "PlanNum": 0, "Subscriber": 0, "DateEffective": NEVER, "DateTerm": NEVER,
                    "SubscriberID": "", "BenefitNotes": "", "ReleaseInfo": "true", "AssignBen": "true", "SubscNote": "",
                    "SecDateTEdit": NO_TIME}),
            )
        },
        Table {
            filters: &["PatNum", "InsSubNum"],
            stamp: Some("SecDateTEdit"),
            post: post(&["PatNum", "InsSubNum"], &["Ordinal", "Relationship", "PatID"], Answers::Row),
            delete: true,
            rule: rules::coverage,
            ..table(
                "patplans",
                "PatPlanNum",
                json!({"PatPlanNum": 0, "PatNum": 0, "Ordinal": 1, "IsPending": "false", "Relationship": "Self", "PatID": "",
                    "InsSubNum": 0, "SecDateTEntry": NO_TIME, "SecDateTEdit": NO_TIME}),
            )
        },
    ]
}

fn history() -> Vec<Table> {
    vec![
        table(
            "allergydefs",
            "AllergyDefNum",
            json!({"AllergyDefNum": 0, "Description": "", "IsHidden": "false", "DateTStamp": NO_TIME}),
        ),
        Table {
            single: true,
            ..table(
                "diseasedefs",
                "DiseaseDefNum",
                json!({"DiseaseDefNum": 0, "DiseaseName": "", "IsHidden": "false", "DateTStamp": NO_TIME}),
            )
        },
        table("medications", "MedicationNum", json!({"MedicationNum": 0, "MedName": "", "GenericNum": 0, "Notes": ""})),
        Table {
            filters: &["PatNum"],
            by_patient: true,
            names: &[("defDescription", "AllergyDefNum", "allergydefs", "Description")],
            post: post(
                &["PatNum"],
                &["AllergyDefNum", "defDescription", "Reaction", "StatusIsActive", "DateAdverseReaction"],
                Answers::Location,
            ),
            put: &["Reaction", "DateAdverseReaction", "StatusIsActive"],
            delete: true,
            rule: rules::allergy,
            ..table(
                "allergies",
                "AllergyNum",
                json!({"AllergyNum": 0, "AllergyDefNum": 0, "PatNum": 0, "Reaction": "", "StatusIsActive": "true",
                    "DateAdverseReaction": NEVER}),
            )
        },
        Table {
            filters: &["PatNum"],
            single: true,
            names: &[("diseaseDefName", "DiseaseDefNum", "diseasedefs", "DiseaseName")],
            post: post(
                &["PatNum"],
                &["DiseaseDefNum", "diseaseDefName", "DateStart", "DateStop", "ProbStatus", "PatNote"],
                Answers::Row,
            ),
            put: &["DateStart", "DateStop", "ProbStatus", "PatNote"],
            delete: true,
            rule: rules::disease,
            ..table(
                "diseases",
                "DiseaseNum",
                json!({"DiseaseNum": 0, "PatNum": 0, "DiseaseDefNum": 0, "PatNote": "", "ProbStatus": "Active",
                    "DateStart": NEVER, "DateStop": NEVER}),
            )
        },
        Table {
            filters: &["PatNum"],
            by_patient: true,
            names: &[("medName", "MedicationNum", "medications", "MedName")],
            post: post(
                &["PatNum"],
                &["medName", "MedicationNum", "PatNote", "DateStart", "DateStop", "ProvNum"],
                Answers::Nothing,
            ),
            put: &["PatNote", "DateStart", "DateStop", "ProvNum"],
            delete: true,
            rule: rules::medication,
            ..table(
                "medicationpats",
                "MedicationPatNum",
                json!({"MedicationPatNum": 0, "PatNum": 0, "MedicationNum": 0, "PatNote": "", "DateStart": NEVER,
                    "DateStop": NEVER, "ProvNum": 0}),
            )
        },
    ]
}

fn ledger() -> Vec<Table> {
    vec![
        Table {
            stamp: Some("DateTStamp"),
            since: Since::After,
            ..table(
                "procedurecodes",
                "CodeNum",
                json!({"CodeNum": 0, "ProcCode": "", "Descript": "", "AbbrDesc": "", "ProcCat": 0, "DateTStamp": NO_TIME}),
            )
        },
        Table {
            filters: &["PatNum", "AptNum", "ProcStatus", "ClinicNum", "CodeNum"],
            stamp: Some("DateTStamp"),
            since: Since::OnOrAfter,
            server_time: true,
            single: true,
            names: &[
                ("procCode", "CodeNum", "procedurecodes", "ProcCode"),
                ("descript", "CodeNum", "procedurecodes", "Descript"),
            ],
            ..table(
                "procedurelogs",
                "ProcNum",
                json!({"ProcNum": 0, "PatNum": 0, "AptNum": 0, "ProcDate": NEVER, "ProcFee": "0.00", "Surf": "", "ToothNum": "",
                    "ToothRange": "", "ProcStatus": "TP", "ProvNum": 0, "ClinicNum": 0, "CodeNum": 0, "UnitQty": 1,
                    "BaseUnits": 0, "DateTStamp": NO_TIME}),
            )
        },
        Table {
            filters: &["PatNum", "TPStatus"],
            stamp: Some("SecDateTEdit"),
            since: Since::After,
            ..table(
                "treatplans",
                "TreatPlanNum",
                json!({"TreatPlanNum": 0, "PatNum": 0, "DateTP": NEVER, "Heading": "", "Note": "", "TPStatus": "Active",
                    "SecDateEntry": NEVER, "SecDateTEdit": NO_TIME, "isSigned": "false"}),
            )
        },
        Table {
            filters: &["TreatPlanNum"],
            ..table(
                "treatplanattaches",
                "TreatPlanAttachNum",
                json!({"TreatPlanAttachNum": 0, "TreatPlanNum": 0, "ProcNum": 0}),
            )
        },
        Table {
            filters: &["TreatPlanNum"],
            ..table("proctps", "ProcTPNum", json!({"ProcTPNum": 0, "TreatPlanNum": 0, "ProcNumOrig": 0}))
        },
        table(
            "feescheds",
            "FeeSchedNum",
            json!({"FeeSchedNum": 0, "Description": "", "FeeSchedType": "Normal", "IsHidden": "false"}),
        ),
        Table {
            filters: &["FeeSched", "CodeNum", "ClinicNum", "ProvNum"],
            single: true,
            ..table(
                "fees",
                "FeeNum",
                json!({"FeeNum": 0, "Amount": 0.0, "FeeSched": 0, "CodeNum": 0, "ClinicNum": 0, "ProvNum": 0}),
            )
        },
        Table {
            filters: &["PatNum", "PayType"],
            stamp: Some("SecDateTEdit"),
            server_time: true,
            names: &[("payType", "PayType", "definitions", "ItemName")],
            post: post(
                &["PayAmt", "PatNum"],
                &[
                    "PayType",
                    "PayDate",
                    "CheckNum",
                    "PayNote",
                    "BankBranch",
                    "ClinicNum",
                    "isPatientPreferred",
                    "isPrepayment",
                    "procNums",
                    "payPlanNum",
                ],
                Answers::Row,
            ),
            rule: rules::payment,
            ..table(
                "payments",
                "PayNum",
                json!({"PayNum": 0, "PayType": 0, "PayDate": NEVER, "PayAmt": "0", "CheckNum": "", "BankBranch": "", "PayNote": "",
                    "PatNum": 0, "ClinicNum": "0", "DateEntry": NEVER, "SecDateTEdit": NO_TIME, "PaymentSource": "API"}),
            )
        },
        Table {
            filters: &["PatNum", "PayNum", "ProcNum"],
            ..table(
                "paysplits",
                "SplitNum",
                json!({"SplitNum": 0, "SplitAmt": 0.0, "PatNum": 0, "PayNum": 0, "ProvNum": 0, "PayPlanNum": 0,
                    "DatePay": NEVER, "ProcNum": 0, "UnearnedType": 0}),
            )
        },
        Table {
            filters: &["PatNum", "AdjType", "ProcNum"],
            by_patient: true,
            stamp: Some("SecDateTEdit"),
            names: &[("adjType", "AdjType", "definitions", "ItemName")],
            post: post(
                &["PatNum", "AdjType", "AdjAmt", "AdjDate"],
                &["ProvNum", "ProcNum", "ClinicNum", "ProcDate", "AdjNote"],
                Answers::Row,
            ),
            rule: rules::adjustment,
            ..table(
                "adjustments",
                "AdjNum",
                json!({"AdjNum": 0, "AdjDate": NEVER, "AdjAmt": 0.0, "PatNum": 0, "AdjType": 0, "ProvNum": 0, "AdjNote": "",
                    "ProcDate": NEVER, "ProcNum": 0, "DateEntry": NEVER, "ClinicNum": 0, "SecDateTEdit": NO_TIME}),
            )
        },
    ]
}

//! Unreadable values, values in other formats, and unrequested rows, for every list of the API.

use adapter_sdk::{
    Adapter, AppointmentChange, Fault, Page, Record, Resource, Write,
    http::{Request, Response},
    records,
    testing::Host,
    time::instant_of,
};
use opendental_adapter::OpenDental;
use serde_json::{Value, json};

fn office(location: &str, answer: impl Fn(&str) -> Value + 'static) -> Host {
    let host = Host::new().manifest(include_str!("../adapter.toml")).config("location", location);
    let host = host.offset_seconds(-5 * 3_600).at(instant_of("2026-12-01T13:00:00Z").unwrap());
    host.answer(move |request: &Request| {
        assert_eq!(request.method.as_str(), "GET", "nothing is written");
        Ok(Response { status: 200, headers: Vec::new(), body: answer(&request.path).to_string().into_bytes() })
    })
}

/// Reads a pass to its end, as one page.
fn pass(resource: Resource) -> Page {
    let mut all = OpenDental::pull(resource, None, 500).unwrap();
    while !all.last {
        let page = OpenDental::pull(resource, Some(all.cursor), 500).unwrap();
        all = Page {
            records: [all.records, page.records].concat(),
            skipped: [all.skipped, page.skipped].concat(),
            deleted: [all.deleted, page.deleted].concat(),
            ..page
        };
    }
    all
}

/// Two rows of a list, and the field of the first under test.
struct RowCase {
    resource: Resource,
    path: &'static str,
    row: Value,
    field: &'static str,
    /// Further rows of other requests.
    more: fn(&str) -> Value,
}

fn none(_: &str) -> Value {
    json!([])
}

fn kind(resource: Resource, path: &'static str, field: &'static str, row: Value) -> RowCase {
    RowCase { resource, path, row, field, more: none }
}

fn visit() -> Value {
    json!({"AptNum": 7, "PatNum": 5, "AptStatus": "Scheduled", "Pattern": "XX", "Op": 2, "AptDateTime": "2026-12-01 09:00:00"})
}

fn dated() -> Vec<RowCase> {
    let procedure = json!({"ProcNum": 7, "PatNum": 5, "ProcStatus": "C", "ProcDate": "2026-12-01"});
    let patient = json!({"PatNum": 7, "LName": "Ash", "FName": "Ada", "Birthdate": "2026-12-01"});
    vec![
        kind(Resource::Patients, "/patients/Simple", "Birthdate", patient),
        kind(Resource::Procedures, "/procedurelogs", "ProcDate", procedure.clone()),
        kind(Resource::Charges, "/procedurelogs", "ProcDate", procedure),
        kind(Resource::PatientRecalls, "/recalls", "DateDue", json!({"RecallNum": 7, "DateDue": "2026-12-01"})),
        kind(Resource::Payments, "/payments", "PayDate", json!({"PayNum": 7, "PatNum": 5, "PayDate": "2026-12-01"})),
    ]
}

fn timed() -> Vec<RowCase> {
    let arrived = json!({"AptNum": 7, "AptStatus": "Scheduled", "Pattern": "XX", "AptDateTime": "2026-12-01 09:00:00"});
    let log = json!({"CommlogNum": 7, "PatNum": 5, "CommDateTime": "2026-12-01 09:00:00"});
    vec![
        kind(Resource::Appointments, "/appointments", "AptDateTime", visit()),
        kind(Resource::Appointments, "/appointments", "DateTimeArrived", arrived.clone()),
        kind(Resource::Appointments, "/appointments", "DateTimeDismissed", arrived),
        kind(Resource::CommunicationLogs, "/commlogs", "CommDateTime", log),
    ]
}

impl RowCase {
    /// Reads a whole pass over the row with this value and a valid row.
    fn pass(&self, value: &Value) -> Page {
        let (mut tried, mut other, path, more) = (self.row.clone(), self.row.clone(), self.path, self.more);
        tried[self.field] = value.clone();
        let key = tried.as_object().unwrap().iter().find(|(_, key)| **key == 7).unwrap().0.clone();
        other[&key] = 8.into();
        let rows = json!([tried, other]);
        office("office", move |asked| if asked.starts_with(path) { rows.clone() } else { more(asked) })
            .run(|| pass(self.resource))
    }
}

fn ids(records: &[Record]) -> Vec<String> {
    records.iter().map(|record| adapter_sdk::json::id(record).to_owned()).collect()
}

/// The record's known state stays: it is neither listed without the value nor deleted, and the other one is listed.
#[test]
fn a_record_with_an_unreadable_value_is_skipped_and_not_deleted() {
    let texts = ["soon", "2026-02-30", "2026-12-01 25:00:00", "12/1/2026 9:00:00 AM", "20261201", "2026-12-01 or so"];
    let mut kinds = dated();
    kinds.extend(timed());
    for kind in &kinds {
        for value in texts.map(Value::from).into_iter().chain([json!({"at": 1}), json!([])]) {
            let page = kind.pass(&value);
            let skipped: Vec<&str> = page.skipped.iter().map(|skipped| skipped.id.as_str()).collect();
            let seen = (ids(&page.records), skipped, page.deleted.len());
            assert_eq!(seen, (vec!["8".to_owned()], vec!["7"], 0), "{:?} {} {value}", kind.resource, kind.field);
            assert!(page.skipped.iter().all(|skipped| !skipped.reason.contains("soon")), "{:?}", page.skipped);
        }
    }
    let pattern = kind(Resource::Appointments, "/appointments", "Pattern", visit());
    let status = kind(Resource::Procedures, "/procedurelogs", "ProcStatus", json!({"ProcNum": 7, "ProcStatus": "C"}));
    let interval = kind(
        Resource::RecallTypes,
        "/recalltypes",
        "DefaultInterval",
        json!({"RecallTypeNum": 7, "DefaultInterval": "6m"}),
    );
    let time = kind(Resource::Appointments, "/appointments", "AptDateTime", visit());
    for (kind, values) in [
        (&pattern, &["", "XQX", "20"][..]),
        (&status, &["", "Done"]),
        (&interval, &["soon", "6 months", "999y11m"]),
        // On the schedule without a time.
        (&time, &["", "0001-01-01 00:00:00"]),
    ] {
        for value in values {
            let page = kind.pass(&json!(value));
            let skipped: Vec<&str> = page.skipped.iter().map(|skipped| skipped.id.as_str()).collect();
            assert_eq!((skipped, page.deleted.len()), (vec!["7"], 0), "{:?} {value}", kind.resource);
        }
    }
}

#[test]
fn times_and_dates_are_read_in_every_unambiguous_format() {
    let nine = instant_of("2026-12-01T14:00:00Z");
    for kind in timed() {
        for text in [
            "2026-12-01 09:00:00",
            "2026-12-01T09:00:00",
            "2026-12-01T09:00",
            " 2026-12-01 09:00:00.000 ",
            "2026-12-01T14:00:00Z",
            "2026-12-01T14:00Z",
            "2026-12-01T15:00:00+0100",
        ] {
            let page = kind.pass(&json!(text));
            let shown = match &page.records[0] {
                Record::Appointment(visit) if kind.field == "AptDateTime" => Some(visit.start),
                Record::Appointment(visit) => visit.checkin_at.or(visit.checked_out_at),
                Record::CommunicationLog(log) => Some(log.occurred_at),
                other => panic!("{other:?}"),
            };
            assert_eq!(shown, nine, "{} {text}", kind.field);
        }
    }
    for kind in dated() {
        for text in ["2026-12-01", "2026-12-01 00:00:00", "2026-12-01T23:59:59.000+0000"] {
            let shown = day_of(&kind.pass(&json!(text)).records[0]);
            assert_eq!(shown.as_deref(), Some("2026-12-01"), "{} {text}", kind.field);
        }
    }
}

fn day_of(record: &Record) -> Option<String> {
    match record {
        Record::Patient(patient) => patient.date_of_birth.clone(),
        Record::Procedure(procedure) => procedure.start_date.clone(),
        Record::Charge(charge) => charge.charged_at.clone(),
        Record::PatientRecall(recall) => recall.date_due.clone(),
        Record::Payment(payment) => payment.paid_at.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn null_and_empty_texts_are_absent() {
    for kind in dated() {
        for value in [Value::Null, json!(""), json!(" "), json!("0001-01-01"), json!("0000-00-00")] {
            let page = kind.pass(&value);
            assert_eq!(
                (page.records.len(), page.skipped.len(), day_of(&page.records[0])),
                (2, 0, None),
                "{} {value}",
                kind.field
            );
        }
    }
    for kind in timed().iter().filter(|kind| kind.field.starts_with("DateTime")) {
        for value in [Value::Null, json!(""), json!("0001-01-01 00:00:00")] {
            let page = kind.pass(&value);
            let Record::Appointment(visit) = &page.records[0] else { panic!("{page:?}") };
            assert_eq!((visit.checkin_at, visit.checked_out_at), (None, None), "{value}");
        }
    }
    // Every field of a row at once.
    let empty = |value: Value| {
        let names = [
            "LName", "FName", "MiddleI", "PatStatus", "Gender", "Birthdate", "Address", "HmPhone", "Guarantor",
            "Email", "Language",
        ];
        let mut row = json!({"PatNum": 7});
        for name in names {
            row[name] = value.clone();
        }
        office("office", move |_| json!([row])).run(|| pass(Resource::Patients))
    };
    for value in [Value::Null, json!("")] {
        let page = empty(value);
        let [Record::Patient(patient)] = page.records.as_slice() else { panic!("{page:?}") };
        let shown = (&patient.middle_name, &patient.email, &patient.address, &patient.guarantor, patient.inactive);
        assert_eq!(shown, (&None, &None, &None, &None, false));
    }
}

/// The status alone shows that an appointment is off the schedule.
#[test]
fn a_broken_appointment_without_a_readable_time_is_off() {
    for status in ["UnschedList", "Broken"] {
        for (field, value) in [("AptDateTime", "0001-01-01 00:00:00"), ("AptDateTime", "soon"), ("Pattern", "?")] {
            let mut row = visit();
            row["AptStatus"] = status.into();
            row[field] = value.into();
            let rows = json!([row]);
            let host =
                office("office", move |path| if path.starts_with("/appointments") { rows.clone() } else { json!([]) });
            host.run(|| {
                let whole = pass(Resource::Appointments);
                let delta = OpenDental::pull(Resource::Appointments, Some(whole.cursor), 500).unwrap();
                assert_eq!(
                    (whole.records.len(), whole.skipped.len(), delta.deleted),
                    (0, 0, vec!["7".to_owned()]),
                    "{value}"
                );
            });
        }
    }
}

/// A row without a key cannot be identified: the others are listed, and no absence counts as deletion.
#[test]
fn a_row_without_a_key_leaves_the_others() {
    for broken in [json!({"LName": "Ash"}), json!({"PatNum": null, "LName": "Ash"}), json!(null), json!("x")] {
        let rows = json!([{"PatNum": 8, "LName": "Oak"}, broken]);
        let page = office("office", move |_| rows.clone()).run(|| pass(Resource::Patients));
        assert_eq!((ids(&page.records), page.whole, page.deleted.len()), (vec!["8".to_owned()], false, 0));
    }
}

/// An office ignores unsupported parameters and returns all rows.
#[test]
fn unrequested_rows_are_ignored() {
    let rooms = json!([{"OperatoryNum": 1, "ClinicNum": 3}, {"OperatoryNum": 2, "ClinicNum": 4}, {"OperatoryNum": 5, "ClinicNum": "3"}]);
    let page = office("3", move |_| rooms.clone()).run(|| pass(Resource::Operatories));
    assert_eq!((ids(&page.records), page.deleted.len(), page.whole), (vec!["1".to_owned(), "5".to_owned()], 0, true));
    let mut theirs = visit();
    theirs["ClinicNum"] = 4.into();
    let rows = json!([theirs]);
    let page = office("3", move |path| if path.starts_with("/appointments") { rows.clone() } else { json!([]) });
    let page = page.run(|| pass(Resource::Appointments));
    assert_eq!((page.records.len(), page.skipped.len(), page.deleted.len()), (0, 0, 0));
    // Requested one by one, so the filter is on the record's owner.
    let others = |path: &str, rows: Value| {
        let path = path.to_owned();
        move |asked: &str| if asked.starts_with(&path) { rows.clone() } else { json!([]) }
    };
    let splits = json!([{"SplitNum": 1, "PayNum": 7, "SplitAmt": 5, "ProcNum": 3}, {"SplitNum": 2, "PayNum": 9, "SplitAmt": 5, "ProcNum": 4}]);
    let paid = json!([{"PayNum": 7, "PatNum": 5, "PayAmt": "5"}]);
    let answer = others("/paysplits", splits);
    let host = office("office", move |path| if path.starts_with("/payments") { paid.clone() } else { answer(path) });
    let page = host.run(|| pass(Resource::Payments));
    let [Record::Payment(payment)] = page.records.as_slice() else { panic!("{page:?}") };
    assert_eq!(payment.charge_splits.iter().map(|split| split.id.as_str()).collect::<Vec<_>>(), ["3"]);
    let covered =
        json!([{"PatPlanNum": 1, "PatNum": 5, "InsSubNum": 7}, {"PatPlanNum": 2, "PatNum": 6, "InsSubNum": 8}]);
    let subscription = json!([{"InsSubNum": 7, "PlanNum": 2}]);
    let answer = others("/patplans", covered);
    let host =
        office("office", move |path| if path.starts_with("/inssubs") { subscription.clone() } else { answer(path) });
    assert_eq!(ids(&host.run(|| pass(Resource::Coverages)).records), ["1"]);
}

/// Coverages and history entries are parts of a row: an unreadable one prevents the pass from being whole.
#[test]
fn an_unreadable_part_of_a_row_deletes_nothing() {
    let stopped = json!([{"MedicationPatNum": 1, "PatNum": 7, "MedicationNum": 2, "DateStop": "soon"}]);
    let patients = json!([{"PatNum": 7}]);
    let host = office("office", move |path| match path {
        _ if path.starts_with("/patients") => patients.clone(),
        _ if path.starts_with("/medicationpats") => stopped.clone(),
        _ => json!([]),
    });
    let page = host.run(|| pass(Resource::PatientHistoryItems));
    assert_eq!((page.records.len(), page.deleted.len(), page.whole), (0, 0, false));
    let ended = json!([{"InsSubNum": 7, "PlanNum": 2, "DateTerm": "2026-13-01"}]);
    let covered = json!([{"PatPlanNum": 1, "PatNum": 5, "InsSubNum": 7}]);
    let host = office("office", move |path| if path.starts_with("/inssubs") { ended.clone() } else { covered.clone() });
    let page = host.run(|| pass(Resource::Coverages));
    assert_eq!((page.records.len(), page.deleted.len(), page.whole), (0, 0, false));
}

/// An unreadable appointment or blockout may occupy the requested time.
#[test]
fn an_operatory_with_an_unreadable_entry_is_not_booked() {
    let wanted = records::Appointment {
        patient: Some("5".into()),
        provider: Some("1".into()),
        operatory: Some("2".into()),
        start: instant_of("2026-12-01T14:00:00Z").unwrap(),
        end: instant_of("2026-12-01T14:30:00Z").unwrap(),
        ..records::Appointment::default()
    };
    let visit = |time: &str, pattern: &str| json!([{"AptNum": 9, "PatNum": 6, "AptStatus": "Scheduled", "Op": 2, "AptDateTime": time, "Pattern": pattern}]);
    let block = |start: &str, rooms: &str| {
        json!([{"ScheduleNum": "1", "SchedDate": "2026-12-01", "SchedType": "Blockout", "StartTime": start, "StopTime": "10:00:00",
            "operatories": rooms}])
    };
    for (visits, blocks, why) in [
        (visit("soon", "XX"), json!([]), "an appointment"),
        (visit("2026-12-01 08:00:00", "XQX"), json!([]), "an appointment"),
        (json!([]), block("soon", "2"), "a blockout"),
        (json!([]), block("09:00:00", "2;3"), "a blockout"),
    ] {
        let host = office("office", move |path| match path {
            _ if path.starts_with("/appointments?date") => visits.clone(),
            _ if path.starts_with("/schedules") => blocks.clone(),
            _ => json!([]),
        });
        let change = AppointmentChange { appointment: wanted.clone(), reason: None };
        let pushed = host.run(|| OpenDental::push("k".into(), Write::CreateAppointment(change)));
        assert!(matches!(&pushed, Err(Fault::Rejected(reason)) if reason.starts_with(why)), "{pushed:?}");
    }
}

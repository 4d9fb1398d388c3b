//! Writes that conflict with changes by others.

use std::{cell::RefCell, rc::Rc};

use adapter_sdk::{
    Adapter, AppointmentChange, Fault, PatientChange, Write,
    http::{Request, Response},
    records,
    testing::Host,
    time::instant_of,
};
use opendental_adapter::OpenDental;
use serde_json::{Value, json};

fn answer(status: u16, body: &str) -> Response {
    Response { status, headers: Vec::new(), body: body.as_bytes().to_vec() }
}

fn wanted(id: &str) -> records::Appointment {
    records::Appointment {
        id: id.into(),
        patient: Some("21".into()),
        provider: Some("1".into()),
        operatory: Some("2".into()),
        start: instant_of("2026-12-01T14:00:00Z").unwrap(),
        end: instant_of("2026-12-01T14:30:00Z").unwrap(),
        note: Some("Window".into()),
        ..records::Appointment::default()
    }
}

fn row(key: u64, time: &str) -> Value {
    json!({"AptNum": key, "PatNum": 21, "AptStatus": "Scheduled", "Pattern": "XXXXXX", "PatternSecondary": "//////", "Op": 2,
        "ProvNum": 1, "ProvHyg": 0, "AptDateTime": format!("2026-12-01 {time}"), "Note": "", "IsHygiene": "false"})
}

/// Method and path with the body.
type SentWrites = Rc<RefCell<Vec<(String, Value)>>>;

/// An office in which the time is taken during our write; also returns the requested writes.
fn contested(ours: Value) -> (Host, SentWrites) {
    let written = Rc::new(RefCell::new(Vec::new()));
    let writes = written.clone();
    let host =
        Host::new().manifest(include_str!("../adapter.toml")).offset_seconds(-5 * 3_600).config("location", "office");
    let host = host.answer(move |request: &Request| {
        let path = request.path.as_str();
        let body = request.body.as_deref().map(|body| serde_json::from_slice(body).unwrap()).unwrap_or_default();
        Ok(match request.method.as_str() {
            "GET" if path.starts_with("/appointments?") && path.contains("Op=2") => {
                let rivals = if writes.borrow().is_empty() { json!([]) } else { json!([row(90, "09:15:00"), ours]) };
                answer(200, &rivals.to_string())
            }
            "GET" if path.starts_with("/appointments/") => answer(200, &ours.to_string()),
            "GET" => answer(200, "[]"),
            method => {
                writes.borrow_mut().push((format!("{method} {path}"), body));
                answer(if method == "POST" { 201 } else { 200 }, &ours.to_string())
            }
        })
    });
    (host, written)
}

#[test]
fn a_concurrent_booking_stays_and_ours_is_cancelled() {
    let (host, written) = contested(row(55, "09:00:00"));
    let change = AppointmentChange { appointment: wanted(""), reason: None };
    let pushed = host.run(|| OpenDental::push("ps-1-1-aa".into(), Write::CreateAppointment(change)));
    assert_eq!(pushed, Err(Fault::rejected("the operatory is occupied at that time")));
    let written = written.borrow();
    assert_eq!(written[0].0, "POST /appointments");
    assert_eq!((&written[0].1["Note"], &written[0].1["Pattern"]), (&json!("Window [ref:ps-1-1-aa]"), &json!("XXXXXX")));
    assert_eq!(written[1], ("PUT /appointments/55/Break".into(), json!({"sendToUnscheduledList": "true"})));
}

#[test]
fn a_move_to_a_concurrently_taken_time_is_reverted() {
    let (host, written) = contested(row(55, "11:00:00"));
    let change = AppointmentChange { appointment: wanted("55"), reason: None };
    let pushed = host.run(|| OpenDental::push("ps-1-2-aa".into(), Write::RescheduleAppointment(change)));
    assert_eq!(pushed, Err(Fault::rejected("the operatory is occupied at that time")));
    let written = written.borrow();
    assert_eq!(
        written[0],
        ("PUT /appointments/55".into(), json!({"AptDateTime": "2026-12-01 09:00:00", "Op": 2, "ProvNum": 1}))
    );
    assert_eq!(written[1].1["AptDateTime"], "2026-12-01 11:00:00");
}

#[test]
fn unrepresentable_writes_are_refused_without_a_request() {
    let at = |start: &str, end: &str| records::Appointment {
        start: instant_of(start).unwrap(),
        end: instant_of(end).unwrap(),
        ..wanted("")
    };
    for (appointment, why) in [
        (at("2026-12-01T14:02:00Z", "2026-12-01T14:32:00Z"), "steps of five minutes"),
        (at("2026-12-01T14:00:00Z", "2026-12-01T23:30:00Z"), "nine hours"),
        (records::Appointment { operatory: None, ..wanted("") }, "an operatory"),
    ] {
        let (host, written) = contested(row(55, "09:00:00"));
        let change = AppointmentChange { appointment, reason: None };
        let pushed = host.run(|| OpenDental::push("k".into(), Write::CreateAppointment(change)));
        assert!(matches!(&pushed, Err(Fault::Rejected(reason)) if reason.contains(why)), "{pushed:?}");
        assert!(written.borrow().is_empty());
    }
}

/// An office with these rows in every list, and the requested writes.
fn office_with(rows: Value) -> (Host, SentWrites) {
    let written = Rc::new(RefCell::new(Vec::new()));
    let writes = written.clone();
    let host = Host::new()
        .manifest(include_str!("../adapter.toml"))
        .at(instant_of("2026-12-01T13:00:00Z").unwrap())
        .config("location", "office");
    let host = host.answer(move |request: &Request| {
        let body = request.body.as_deref().map(|body| serde_json::from_slice(body).unwrap()).unwrap_or_default();
        Ok(match request.method.as_str() {
            "GET" => answer(200, &rows.to_string()),
            method => {
                writes.borrow_mut().push((format!("{method} {}", request.path), body));
                answer(200, "{}")
            }
        })
    });
    (host, written)
}

/// If only the note changes, the end of an entry stays as staff wrote it.
#[test]
fn a_change_of_a_note_does_not_write_the_state() {
    use records::HistoryCategory::{Allergies, Conditions, Medications};
    let medication = |stop: &str| json!([{"MedicationPatNum": 5, "PatNum": 21, "MedicationNum": 3, "DateStop": stop}]);
    let problem = json!([{"DiseaseNum": 5, "PatNum": 21, "DiseaseDefNum": 3, "ProbStatus": "Resolved"}]);
    let allergy = json!([{"AllergyNum": 5, "PatNum": 21, "AllergyDefNum": 3, "StatusIsActive": "false"}]);
    for (category, rows, active, sent) in [
        (Medications, medication("2019-03-04"), false, json!({"PatNote": "new"})),
        (Medications, medication("2027-03-04"), true, json!({"PatNote": "new"})),
        (Medications, medication("0001-01-01"), false, json!({"PatNote": "new", "DateStop": "2026-12-01"})),
        (Medications, medication("2019-03-04"), true, json!({"PatNote": "new", "DateStop": ""})),
        // An office does not list discontinued medications.
        (Medications, json!([]), false, json!({"PatNote": "new"})),
        (Medications, json!([]), true, json!({"PatNote": "new", "DateStop": ""})),
        (Conditions, problem.clone(), false, json!({"PatNote": "new"})),
        (Conditions, problem, true, json!({"PatNote": "new", "ProbStatus": "Active"})),
        (Allergies, allergy.clone(), false, json!({"Reaction": "new"})),
        (Allergies, allergy, true, json!({"Reaction": "new", "StatusIsActive": "true"})),
    ] {
        let prefix = match category {
            Allergies => "allergy",
            Conditions => "condition",
            Medications => "medication",
        };
        let item = records::PatientHistoryItem {
            id: format!("{prefix}:5"),
            patient: "21".into(),
            category,
            item: format!("{prefix}:3"),
            note: Some("new".into()),
            active,
            extra: Vec::new(),
        };
        let (host, written) = office_with(rows);
        host.run(|| {
            let write = Write::SavePatientHistoryItem(item);
            assert_eq!(OpenDental::find("k".into(), write.clone()), Ok(None));
            OpenDental::push("k".into(), write).unwrap();
        });
        assert_eq!(written.borrow().iter().map(|(_, body)| body).collect::<Vec<_>>(), [&sent], "{category:?} {active}");
    }
}

fn all(patient: &records::Patient) -> PatientChange {
    PatientChange { patient: patient.clone(), before: None }
}

/// A cleared field must be sent empty, because an omitted field stays unchanged.
#[test]
fn cleared_fields_of_a_patient_are_sent_empty() {
    let row = json!({"PatNum": 21, "LName": "Łopata", "FName": "Zoë", "MiddleI": "Ann", "PatStatus": "Patient",
        "Gender": "Female", "Birthdate": "1990-02-28", "Address": "1 Rue", "City": "Chicago", "State": "IL", "Zip": "60601",
        "WirelessPhone": "555", "HmPhone": "556", "WkPhone": "557 x1", "Email": "zoe@mail.example", "Language": "spa",
        "Guarantor": 21, "PriProv": 1, "BillingType": "Standard Account", "ChartNumber": "C-1", "TxtMsgOk": "Yes"});
    let patient = records::Patient {
        id: "21".into(),
        first_name: "Zoë".into(),
        last_name: "Łopata".into(),
        cell_phone: Some("555".into()),
        ..records::Patient::default()
    };
    let (host, written) = office_with(row);
    host.run(|| {
        assert_eq!(OpenDental::find("k".into(), Write::UpdatePatient(all(&patient))), Ok(None));
        OpenDental::push("k".into(), Write::UpdatePatient(all(&patient))).unwrap();
    });
    let emptied = json!({"MiddleI": "", "Gender": "Unknown", "Birthdate": "0001-01-01", "Address": "", "City": "", "State": "",
        "Zip": "", "HmPhone": "", "WkPhone": "", "Email": "", "Language": ""});
    assert_eq!(*written.borrow(), [("PUT /patients/21".to_owned(), emptied)]);

    let row = json!({"PatNum": 21, "LName": "Łopata", "FName": "Zoë", "Gender": "Unknown", "Birthdate": "0001-01-01",
        "WirelessPhone": "555", "PriProv": 1, "BillingType": "Standard Account"});
    let (host, written) = office_with(row);
    host.run(|| {
        assert!(OpenDental::find("k".into(), Write::UpdatePatient(all(&patient))).unwrap().is_some());
        OpenDental::push("k".into(), Write::UpdatePatient(all(&patient))).unwrap();
    });
    assert!(written.borrow().is_empty(), "{:?}", written.borrow());
}

#[test]
fn only_what_a_client_changed_is_emptied() {
    let before = records::Patient {
        id: "21".into(),
        first_name: "Zoë".into(),
        last_name: "Łopata".into(),
        email: Some("zoe@mail.example".into()),
        cell_phone: Some("555".into()),
        billing_type: Some("Standard Account".into()),
        ..records::Patient::default()
    };
    // Staff have since entered a phone number.
    let row = json!({"PatNum": 21, "LName": "Łopata", "FName": "Zoë", "Email": "zoe@mail.example", "WirelessPhone": "555",
        "HmPhone": "556", "BillingType": "Standard Account", "Gender": "Female", "PatStatus": "Inactive"});
    let change =
        |patient: records::Patient| Write::UpdatePatient(PatientChange { patient, before: Some(before.clone()) });
    let (host, written) = office_with(row.clone());
    let cleared = change(records::Patient { email: None, ..before.clone() });
    host.run(|| {
        assert_eq!(OpenDental::find("k".into(), cleared.clone()), Ok(None));
        OpenDental::push("k".into(), cleared).unwrap();
    });
    assert_eq!(*written.borrow(), [("PUT /patients/21".to_owned(), json!({"Email": ""}))]);
    let (host, written) = office_with(row);
    let impossible = change(records::Patient { billing_type: None, ..before.clone() });
    let refused = host.run(|| OpenDental::push("k".into(), impossible));
    assert_eq!(refused, Err(Fault::rejected("Open Dental cannot take BillingType away from a patient")));
    assert!(written.borrow().is_empty());
}

/// The client saw one mail address, and a phone number with its extension.
#[test]
fn a_change_modifies_only_the_value_the_client_saw() {
    let address = |region: &str| {
        Some(records::Address {
            region: Some(region.into()),
            city: Some("Peoria".into()),
            ..records::Address::default()
        })
    };
    let before = records::Patient {
        id: "21".into(),
        last_name: "Ash".into(),
        first_name: "Ada".into(),
        email: Some("a@x.example".into()),
        work_phone: Some("(536)555-0182".into()),
        work_phone_extension: Some("12".into()),
        address: address("IL"),
        preferred_language: Some("es".into()),
        ..records::Patient::default()
    };
    // Staff have since changed the extension.
    let row = json!({"PatNum": 21, "LName": "Ash", "FName": "Ada", "Email": "a@x.example, b@y.example", "WkPhone": "(536)555-0182 x99",
        "City": "Peoria", "State": "IL", "Language": "spa"});
    let email = |email: Option<&str>| records::Patient { email: email.map(str::to_owned), ..before.clone() };
    for (patient, sent) in [
        (email(Some("c@z.example")), Some(json!({"Email": "c@z.example,b@y.example"}))),
        (email(None), Some(json!({"Email": "b@y.example"}))),
        (records::Patient { work_phone: Some("312".into()), ..before.clone() }, Some(json!({"WkPhone": "312 x99"}))),
        // A value that the office would refuse leaves the existing one.
        (records::Patient { address: address("Illinois"), ..before.clone() }, None),
        (records::Patient { preferred_language: Some("tlh".into()), ..before.clone() }, None),
    ] {
        let (host, written) = office_with(row.clone());
        let change = Write::UpdatePatient(PatientChange { patient, before: Some(before.clone()) });
        host.run(|| OpenDental::push("k".into(), change)).unwrap();
        assert_eq!(written.borrow().first().map(|(_, body)| body.clone()), sent);
    }
}

/// Documented as a time of day. A confirmation contains the number of the status that is read as confirmed.
#[test]
fn a_check_in_is_a_time_of_day_and_a_confirmation_the_number_of_a_status() {
    let office = |statuses: Value| {
        let written = Rc::new(RefCell::new(Vec::new()));
        let writes = written.clone();
        let host = Host::new()
            .manifest(include_str!("../adapter.toml"))
            .offset_seconds(-5 * 3_600)
            .config("location", "office");
        let host = host.answer(move |request: &Request| match (request.method.as_str(), request.path.as_str()) {
            ("GET", path) if path.starts_with("/definitions") => Ok(answer(200, &statuses.to_string())),
            ("GET", _) => Ok(answer(200, &row(55, "09:00:00").to_string())),
            (method, path) => {
                let body = serde_json::from_slice(request.body.as_deref().unwrap()).unwrap();
                writes.borrow_mut().push((format!("{method} {path}"), body));
                Ok(answer(200, ""))
            }
        });
        (host, written)
    };
    let at = |text: &str| instant_of(text).unwrap();
    let arrived = |at: i64| {
        let appointment = records::Appointment { checkin_at: Some(at), ..wanted("55") };
        Write::CheckInAppointment(AppointmentChange { appointment, reason: None })
    };
    let (host, written) = office(json!([]));
    host.run(|| OpenDental::push("k".into(), arrived(at("2026-12-01T13:52:31Z")))).unwrap();
    let put: Vec<(String, Value)> = vec![("PUT /appointments/55".into(), json!({"DateTimeArrived": "08:52:31"}))];
    assert_eq!(*written.borrow(), put);
    let (host, written) = office(json!([]));
    let refused = host.run(|| OpenDental::push("k".into(), arrived(at("2026-11-30T13:52:31Z"))));
    assert_eq!(refused, Err(Fault::rejected("Open Dental keeps an arrival only on the day of the appointment")));
    assert!(written.borrow().is_empty());

    let statuses = json!([{"DefNum": 19, "Category": 2, "ItemName": "Not Called"}, {"DefNum": 21, "Category": 2, "ItemName": "Confirmed"},
        {"DefNum": 22, "Category": 10, "ItemName": "Confirmed"}]);
    let confirm = |confirmed: bool| {
        let appointment = records::Appointment { confirmed, ..wanted("55") };
        Write::ConfirmAppointment(AppointmentChange { appointment, reason: None })
    };
    let (host, written) = office(statuses);
    host.run(|| OpenDental::push("k".into(), confirm(true))).unwrap();
    let put: Vec<(String, Value)> = vec![("PUT /appointments/55/Confirm".into(), json!({"defNum": 21}))];
    assert_eq!(*written.borrow(), put);
    // A status that could never be recognised is not written.
    let (host, written) = office(json!([{"DefNum": 19, "Category": 2, "ItemName": "Not Called"}]));
    let refused = host.run(|| OpenDental::push("k".into(), confirm(true)));
    assert!(matches!(&refused, Err(Fault::Rejected(why)) if why.contains("`confirmed`")), "{refused:?}");
    assert!(written.borrow().is_empty());
}

/// Staff drop a coverage between two pages, so the rows after it move up.
#[test]
fn a_lookup_during_a_deletion_between_pages_is_repeated() {
    let mut pages = 0;
    let host = Host::new().manifest(include_str!("../adapter.toml")).config("location", "office");
    let host = host.answer(move |request: &Request| {
        let (_, place) = request.path.split_once("Offset=").unwrap();
        let (offset, limit) = place.split_once("&Limit=").unwrap();
        let rows = (1..=150).filter(|n| pages == 0 || *n != 3).map(|n| json!({"PatPlanNum": n, "PatNum": 21}));
        let page: Value = rows.skip(offset.parse().unwrap()).take(limit.parse().unwrap()).collect();
        pages += 1;
        Ok(answer(200, &page.to_string()))
    });
    let found = host.run(|| OpenDental::find("k".into(), Write::DeleteCoverage("101".into())));
    assert!(matches!(found, Err(Fault::RetryLater(_))), "{found:?}");
}

/// The API answers some writes with an empty body, so only the content reveals a page of an intermediary.
#[test]
fn a_page_in_place_of_an_answer_is_not_a_completed_write() {
    let host = || {
        let host = Host::new().manifest(include_str!("../adapter.toml")).offset_seconds(-5 * 3_600);
        host.config("location", "office").answer(|request: &Request| match request.method.as_str() {
            "GET" => Ok(answer(200, &row(55, "09:00:00").to_string())),
            _ => Ok(answer(200, "\n<html>We are back soon</html>")),
        })
    };
    let cancel = Write::CancelAppointment(AppointmentChange { appointment: wanted("55"), reason: None });
    for write in [cancel, Write::DeleteCoverage("5".into())] {
        let pushed = host().run(|| OpenDental::push("k".into(), write));
        assert!(matches!(pushed, Err(Fault::Unknown(_))), "{pushed:?}");
    }
}

//! Conversion of rows to records.

use adapter_sdk::{
    PatientChange, Record,
    json::typed,
    records::{CommunicationDirection, CommunicationMode, Patient, Relation},
    streams::{Mapped, RowError, Shown},
    tables::Tables,
    testing::Host,
};
use gnuhealth_adapter::{
    GnuHealth,
    map::{self, communication_log, coverage, payment},
    requests::{Place, patient::changes},
    responses::{PatientRow, read},
};
use serde_json::{Value, json};

/// The host would repeatedly refuse a page with words that are not in the contract.
#[test]
fn edits_of_our_footer_by_staff_do_not_fail_a_page() {
    let host = Host::new().manifest(include_str!("../../adapter.toml")).config("location", "1");
    let ehr = host.run(GnuHealth::open).unwrap();
    let shown = |mapped: Mapped| match mapped.unwrap() {
        Shown::Record(record) => *record,
        other => panic!("{other:?}"),
    };
    let message = "x\n[practice-sync ps-1; mode=fax; direction=over; at=2026-12-01T10:00:00Z]";
    let row = json!({"id": 1, "resource": "gnuhealth.patient,5", "message": message});
    let log = shown(communication_log(&ehr, typed(row).unwrap()));
    let Record::CommunicationLog(log) = log else { panic!("{log:?}") };
    assert_eq!((log.mode, log.direction), (CommunicationMode::None, CommunicationDirection::Sent));
    let notes = "[practice-sync ps-1; relation=cousin; priority=0; subscriber=; subscriber-born=may; type=pets]";
    let row = json!({"id": 1, "patient": 5, "company": 2, "notes": notes});
    let covered = shown(coverage(&ehr, typed(row).unwrap()));
    let Record::Coverage(covered) = covered else { panic!("{covered:?}") };
    assert_eq!((covered.relation, covered.priority, covered.subscriber), (Relation::Oneself, None, None));
    assert_eq!((covered.subscriber_date_of_birth, covered.insurance_type), (None, None));
    let line = |credit: &str, currency: &str| {
        let amount = |text: &str| json!({"__class__": "Decimal", "decimal": text});
        let row = json!({"id": 1, "patient": 5, "debit": amount("0"), "credit": amount(credit),
            "currency.": {"id": 1, "code": currency}, "move.": {"description": "[practice-sync ps-1; type=%0A]"}});
        payment(&ehr, typed(row).unwrap())
    };
    let Ok(Shown::Record(paid)) = line("12.50", "USD") else { panic!("a payment") };
    let Record::Payment(paid) = *paid else { panic!("{paid:?}") };
    assert_eq!((paid.amount.amount.as_str(), paid.payment_type), ("12.50", None));
    assert!(line("1E+3", "USD").is_err() && line("5", "$").is_err());
}

fn time(text: &str) -> Value {
    let number = |from: usize, to: usize| text[from..to].parse::<u64>().unwrap();
    json!({"__class__": "datetime", "year": number(0, 4), "month": number(5, 7), "day": number(8, 10), "hour": number(11, 13),
        "minute": number(14, 16), "second": number(17, 19), "microsecond": 0})
}

fn person(changed: Value) -> Value {
    let mut person =
        json!({"id": 9, "active": true, "name": "Zoë", "lastname": "Ash", "contact_mechanisms.": [], "addresses.": []});
    for (name, value) in changed.as_object().unwrap() {
        person[name] = value.clone();
    }
    json!({"id": 5, "active": true, "party.": person})
}

fn ehr() -> GnuHealth {
    Host::new().manifest(include_str!("../../adapter.toml")).config("location", "1").run(GnuHealth::open).unwrap()
}

fn visit(changed: Value) -> Value {
    let mut row = json!({"id": 7, "patient": 5, "healthprof": 1, "institution": 1, "state": "confirmed", "write_date": time("2026-11-01T08:00:00"),
        "appointment_date": time("2026-12-01T10:00:00"), "appointment_date_end": time("2026-12-01T10:30:00")});
    for (name, value) in changed.as_object().unwrap() {
        row[name] = value.clone();
    }
    row
}

/// An unreadable value makes its row skipped: neither deleted nor free.
#[test]
fn a_row_with_an_unreadable_value_is_skipped_and_not_deleted() {
    let ehr = ehr();
    let appointment = |row: Value| read(row).map_err(Into::into).and_then(|row| map::appointment(&ehr, row));
    let patient = |row: Value| read(row).map_err(Into::into).and_then(|row| map::patient(&ehr, row));
    let unreadable = [
        json!("soon"),
        json!(7),
        json!({"__class__": "date", "year": 2026, "month": 12, "day": 1}),
        time("2026-13-01T10:00:00"),
        time("2026-12-01T25:00:00"),
    ];
    for field in ["appointment_date", "appointment_date_end", "checked_in_date"] {
        for value in &unreadable {
            let mapped = appointment(visit(json!({field: value})));
            assert!(matches!(mapped, Err(RowError::Row(_))), "{field} {value}: {mapped:?}");
        }
    }
    for value in [json!("soon"), json!({"__class__": "date", "year": 2026, "month": 2, "day": 30}), json!(7)] {
        let mapped = patient(person(json!({"dob": value})));
        assert!(matches!(mapped, Err(RowError::Row(_))), "{value}: {mapped:?}");
    }
    for absent in [Value::Null, json!("")] {
        // In the schedule without a time.
        let mapped = appointment(visit(json!({"appointment_date": absent})));
        assert!(matches!(mapped, Err(RowError::Row(_))), "{mapped:?}");
        let mapped = patient(json!({"id": 5, "active": true, "party.": absent}));
        assert!(
            matches!(mapped, Err(RowError::Row(_))),
            "a patient without a person is not an inactive one: {mapped:?}"
        );
    }
    // Without a patient it still occupies its time.
    let Ok(Shown::Record(record)) = appointment(visit(json!({"patient": null}))) else { panic!("it is shown") };
    assert!(matches!(*record, Record::Appointment(visit) if visit.unavailable && visit.patient.is_none()));
    // The state shows that a free appointment is not booked.
    assert!(matches!(appointment(visit(json!({"state": "free", "patient": null}))), Ok(Shown::Gone(id)) if id == "7"));
}

/// Hours that do not end after their begin would last until the next day.
#[test]
fn free_time_opens_no_time_beyond_its_end() {
    let hours = |start: &str, end: &str| map::local_hours(start, end).map(|parts| parts.join(" "));
    let shown = |text: &str| Some(text.to_owned());
    assert_eq!(hours("2026-12-01T10:00:00", "2026-12-01T10:30:00"), shown("2026-12-01 10:00 10:30"));
    assert_eq!(hours("2026-12-01T22:00:00", "2026-12-02T02:00:00"), shown("2026-12-01 22:00 02:00"));
    // Half an hour around the moment at which clocks are put back, and half a minute.
    assert_eq!(hours("2026-11-01T01:45:00", "2026-11-01T01:15:00"), None);
    assert_eq!(hours("2026-12-01T10:00:00", "2026-12-01T10:00:30"), None);
    let ehr = ehr();
    let half_a_minute = json!({"state": "free", "patient": null, "appointment_date_end": time("2026-12-01T10:00:30")});
    let row = read(visit(half_a_minute)).unwrap();
    assert!(matches!(Host::new().run(|| map::working_hour(&ehr, row)), Ok(Shown::Nothing)));
}

#[test]
fn times_and_dates_are_read_in_every_unambiguous_format() {
    let ehr = ehr();
    let ten = adapter_sdk::time::instant_of("2026-12-01T10:00:00Z").unwrap();
    for value in [
        time("2026-12-01T10:00:00"),
        json!({"__class__": "datetime", "year": 2026, "month": 12, "day": 1, "hour": 10, "minute": 0}),
        json!("2026-12-01T10:00:00"),
        json!("2026-12-01 10:00Z"),
        json!("2026-12-01T11:00:00+0100"),
    ] {
        let row = read(visit(json!({"appointment_date": value, "appointment_date_end": ""}))).unwrap();
        let Ok(Shown::Record(record)) = map::appointment(&ehr, row) else { panic!("{value}") };
        let Record::Appointment(visit) = *record else { panic!("{record:?}") };
        assert_eq!(visit.start, ten, "{value}");
    }
    for value in [
        json!({"__class__": "date", "year": 1940, "month": 1, "day": 1}),
        time("1940-01-01T23:00:00"),
        json!("1940-01-01T00:00:00"),
    ] {
        let row: PatientRow = read(person(json!({"dob": value}))).unwrap();
        assert_eq!(map::person(&row).date_of_birth.as_deref(), Some("1940-01-01"), "{value}");
    }
}

#[test]
fn null_and_empty_texts_are_absent() {
    let mail = |value: &str, id: i64| json!({"id": id, "type": "email", "value": value, "active": true});
    for absent in [Value::Null, json!(""), json!(" ")] {
        let lists = json!({"name": "Zoë\u{a0}", "gender": absent, "dob": absent, "ref": absent, "langs.": null,
            "contact_mechanisms.": [null, mail("", 1), mail("zoe@mail.example", 2)], "addresses.": [{"id": 3, "street": absent, "city": "Cork", "active": true,
            "country.": null, "subdivision.": null}]});
        let shown = map::person(&read(person(lists)).unwrap());
        assert_eq!(
            (shown.email.as_deref(), shown.middle_name, shown.chart_id, shown.gender),
            (Some("zoe@mail.example"), None, None, None)
        );
        let address = shown.address.unwrap();
        assert_eq!((address.line1, address.city.as_deref(), address.country), (None, Some("Cork"), None));
    }
    let nothing =
        map::person(&read(person(json!({"contact_mechanisms.": null, "addresses.": null, "langs.": null}))).unwrap());
    assert_eq!((nothing.email, nothing.address, nothing.preferred_language), (None, None, None));
}

/// The client saw one entry of each kind: others by staff stay, and so do unchanged parts of an address.
#[test]
fn a_change_modifies_only_the_value_the_client_saw() {
    let contact = |id: i64, kind: &str, value: &str| json!({"id": id, "type": kind, "value": value, "active": true});
    let row: PatientRow = read(person(json!({
        "contact_mechanisms.": [contact(1, "phone", ""), contact(2, "phone", "301"), contact(3, "phone", "302"), contact(4, "mobile", "401"),
            contact(5, "fax", "501")],
        "addresses.": [{"id": 6, "active": true, "street": "1 Elm St\nRear\nDoor 2", "city": "Cork", "subdivision.": {"id": 8, "code": "IE-C"},
            "country.": {"id": 7, "code": "IE"}}],
        "langs.": [{"id": 11, "lang.": {"id": 1, "code": "en"}}, {"id": 12, "lang.": {"id": 2, "code": "fr"}}],
    })))
    .unwrap();
    let shown = map::person(&row);
    assert_eq!((shown.home_phone.as_deref(), shown.preferred_language.as_deref()), (Some("301"), Some("en")));
    let place = Place { country: Some(7), subdivision: None, language: Some(3) };
    let before = shown.clone();
    type Edit = fn(&mut Patient);
    let change = |row: &PatientRow, change: Edit| {
        let mut patient = before.clone();
        change(&mut patient);
        let change = PatientChange { patient, before: Some(before.clone()) };
        Value::Object(changes(row, &change, &change.onto(map::person(row)), &place).0)
    };
    let contacts = |commands: Value| json!({"contact_mechanisms": commands});
    let cases: [(Edit, Value); 6] = [
        (|_| (), json!({})),
        (|p| p.home_phone = Some("309".into()), contacts(json!([["write", [2], {"value": "309"}]]))),
        (|p| p.home_phone = None, contacts(json!([["write", [2], {"active": false}]]))),
        (
            |p| p.email = Some("a@b.example".into()),
            contacts(json!([["create", [{"type": "email", "value": "a@b.example"}]]])),
        ),
        (|p| p.preferred_language = Some("de".into()), json!({"langs": [["write", [11], {"lang": 3}]]})),
        (
            |p| p.address.as_mut().unwrap().city = Some("Cobh".into()),
            json!({"addresses": [["write", [6], {"city": "Cobh"}]]}),
        ),
    ];
    for (wanted, commands) in cases {
        assert_eq!(change(&row, wanted), commands);
    }
    assert_eq!(change(&row, |p| p.preferred_language = None), json!({"langs": [["delete", [11]]]}));
    // After the write nothing is left to be done, whatever is pulled instead.
    let done: PatientRow = read(person(json!({
        "contact_mechanisms.": [contact(1, "phone", ""), contact(3, "phone", "302"), contact(4, "mobile", "401"), contact(5, "fax", "501")],
        "langs.": [{"id": 12, "lang.": {"id": 2, "code": "fr"}}],
        "addresses.": [{"id": 9, "active": true, "street": "2 Oak St", "city": "Derry"}],
    })))
    .unwrap();
    let cleared = |p: &mut Patient| (p.home_phone, p.preferred_language, p.address) = (None, None, None);
    assert_eq!(change(&done, cleared), json!({}));
}

/// The institution in a search is checked again in the response.
#[test]
fn an_appointment_of_another_institution_is_ignored() {
    let ehr = ehr();
    for (institution, shown) in [(json!(1), true), (json!(null), true), (json!(2), false)] {
        let mapped = map::appointment(&ehr, read(visit(json!({"institution": institution}))).unwrap()).unwrap();
        assert_eq!(matches!(mapped, Shown::Record(_)), shown, "{institution}");
        assert!(!matches!(mapped, Shown::Gone(_)), "it is another location's");
        let place = read(visit(json!({"institution": institution, "state": "free", "patient": null}))).unwrap();
        let hour = Host::new().run(|| map::working_hour(&ehr, place)).unwrap();
        assert_eq!(matches!(hour, Shown::Record(_)), shown, "{institution}");
    }
}

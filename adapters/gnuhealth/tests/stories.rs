//! The adapter with responses recorded from a real server: its reads, its writes, and their exact requests.

use crate::tape::Tape;
use adapter_sdk::{
    Adapter, AppointmentChange, Fault, Page, PatientChange, Receipt, Record, Resource, Write,
    records::{
        Address, Appointment, CommunicationDirection, CommunicationLog, CommunicationMode, Coverage, ExtraValue,
        Gender, HistoryCategory, Money, Patient, PatientHistoryItem, Payment, Relation,
    },
    time::instant_of,
};
use gnuhealth_adapter::{GnuHealth, client, values::DateTime};
use serde_json::{Value, json};

fn pull(tape: &Tape, resource: Resource, cursor: Option<String>) -> Page {
    tape.run(|| GnuHealth::pull(resource, cursor, 500)).unwrap()
}

fn push(tape: &Tape, key: &str, write: &Write) -> Result<Receipt, Fault> {
    tape.run(|| GnuHealth::push(key.into(), write.clone()))
}

fn find(tape: &Tape, key: &str, write: &Write) -> Option<String> {
    tape.run(|| GnuHealth::find(key.into(), write.clone())).unwrap().map(|receipt| receipt.id)
}

fn at(text: &str) -> i64 {
    instant_of(text).unwrap()
}

fn context() -> Value {
    json!({})
}

#[test]
fn the_practice_is_described_and_read() {
    let tape = Tape::open("practice");
    let description = tape.run(GnuHealth::describe).unwrap();
    assert_eq!((description.pulls.len(), description.writes.len(), description.operatories), (15, 14, false));
    let patients = pull(&tape, Resource::Patients, None);
    assert!(patients.whole && patients.last && patients.estimate.unwrap() >= 6);
    let Record::Patient(zoe) = &patients.records[0] else { panic!("no patient") };
    assert_eq!((zoe.first_name.as_str(), zoe.middle_name.as_deref()), ("Zoë", Some("Ann")));
    assert_eq!((zoe.last_name.as_str(), zoe.date_of_birth.as_deref()), ("Łopata-O’Brien", Some("1990-02-28")));
    assert_eq!(
        (zoe.cell_phone.as_deref(), zoe.work_phone.as_deref()),
        (Some("+1 312 555 0100"), Some("+1 312 557 0100"))
    );
    assert_eq!((zoe.provider.as_deref(), zoe.chart_id.as_deref()), (Some("1"), Some("C-0")));
    let address = zoe.address.as_ref().unwrap();
    assert_eq!((address.line1.as_deref(), address.line2.as_deref()), (Some("1 Rue de l’Été"), Some("Apt 2")));
    let Record::Patient(olga) = &patients.records[5] else { panic!("no patient") };
    assert!(olga.inactive && olga.gender.is_none() && olga.date_of_birth.is_none() && olga.address.is_none());
    let providers = pull(&tape, Resource::Providers, None);
    let Record::Provider(asa) = &providers.records[0] else { panic!("no provider") };
    assert_eq!((asa.first_name.as_str(), asa.state_license.as_deref()), ("Åsa", Some("LIC-0")));
    assert_eq!(asa.email.as_deref(), Some("doctor0@mail.example"));
    let items = pull(&tape, Resource::HistoryItems, None);
    // The conditions' model ends, and the medicaments' begins.
    assert!(!items.last);
    let drugs = pull(&tape, Resource::HistoryItems, Some(items.cursor));
    assert!(drugs.last && drugs.whole);
    let all: Vec<_> = items
        .records
        .iter()
        .chain(&drugs.records)
        .map(|record| match record {
            Record::HistoryItem(item) => (item.id.as_str(), item.category, item.name.as_str()),
            _ => panic!("no item"),
        })
        .collect();
    assert!(all.contains(&("gnuhealth.pathology,1", HistoryCategory::Allergies, "Allergy to penicillin")), "{all:?}");
    assert!(all.contains(&("gnuhealth.pathology,3", HistoryCategory::Conditions, "Hypertension")), "{all:?}");
    assert!(all.contains(&("gnuhealth.medicament,1", HistoryCategory::Medications, "Amoxicillin")), "{all:?}");
    tape.end();
}

fn change(appointment: &Appointment) -> AppointmentChange {
    AppointmentChange { appointment: appointment.clone(), reason: Some("ill".into()) }
}

#[test]
fn a_booking_replaces_a_free_appointment_and_restores_it() {
    let tape = Tape::open("booking");
    let (nine, ten) = (at("2027-03-01T14:00:00Z"), at("2027-03-01T15:00:00Z"));
    let place = json!({"state": "free", "patient": null, "healthprof": 3, "institution": 1, "comments": null,
        "appointment_date": DateTime::at(nine), "appointment_date_end": DateTime::at(nine + 1_800)});
    let place = tape.staff("model.gnuhealth.appointment.create", json!([[place], context()]))[0].to_string();
    let booked = Appointment {
        patient: Some("2".into()),
        provider: Some("3".into()),
        appointment_type: Some("CHECKUP".into()),
        start: nine,
        end: nine + 1_800,
        note: Some("läuft".into()),
        ..Appointment::default()
    };
    let create = Write::CreateAppointment(change(&booked));
    let receipt = push(&tape, "ps-7-1", &create).unwrap();
    assert_eq!(receipt.id, place, "it is the place that was free");
    assert_eq!(push(&tape, "ps-7-1", &create).unwrap(), receipt, "the same key, the same appointment");
    assert_eq!((find(&tape, "ps-7-1", &create), find(&tape, "ps-7-12", &create)), (Some(place.clone()), None));
    let second =
        Write::CreateAppointment(change(&Appointment { start: nine + 900, end: nine + 2_700, ..booked.clone() }));
    let refused = push(&tape, "ps-7-2", &second);
    assert_eq!(refused, Err(Fault::rejected("the provider has another appointment at that time")));

    let moved = Appointment { id: place.clone(), version: receipt.version, start: ten, end: ten + 1_800, ..booked };
    let reschedule = Write::RescheduleAppointment(change(&moved));
    assert_eq!(find(&tape, "ps-7-3", &reschedule), None);
    let receipt = push(&tape, "ps-7-3", &reschedule).unwrap();
    assert_eq!(find(&tape, "ps-7-3", &reschedule), Some(place.clone()));
    let stale = Write::CancelAppointment(change(&moved));
    assert_eq!(
        push(&tape, "ps-7-4", &stale),
        Err(Fault::rejected("the appointment was changed in the EHR since it was read"))
    );
    let cancel = Write::CancelAppointment(change(&Appointment { version: receipt.version, ..moved }));
    push(&tape, "ps-7-5", &cancel).unwrap();
    assert_eq!(find(&tape, "ps-7-5", &cancel), Some(place.clone()));
    // The free appointment at nine exists again, as another row.
    let free = json!([["state", "=", "free"], ["healthprof", "=", 3], ["appointment_date", "=", DateTime::at(nine)]]);
    let rows = tape.staff("model.gnuhealth.appointment.search_read", json!([free, 0, null, null, ["id"], context()]));
    assert_eq!(rows.as_array().unwrap().len(), 1);
    assert_ne!(rows[0]["id"].to_string(), place);
    let appointments = pull(&tape, Resource::Appointments, None).records;
    let shown = appointments.iter().find_map(|record| match record {
        Record::Appointment(a) if a.id == place => Some(a),
        _ => None,
    });
    let shown = shown.unwrap();
    assert_eq!((shown.start, shown.cancelled, shown.note.as_deref()), (ten, true, Some("läuft")));
    assert_eq!((shown.write_key.as_deref(), shown.appointment_type.as_deref()), (Some("ps-7-1"), Some("CHECKUP")));
    assert!(shown.extra.contains(&ExtraValue::new("reason", "ill")));
    tape.end();
}

#[test]
fn concurrent_changes_are_not_overwritten() {
    let tape = Tape::open("stale");
    let stale = tape.run(|| client::write_over("gnuhealth.patient", 3, Some("1.0"), &json!({"general_info": "mine"})));
    assert_eq!(stale.unwrap(), client::ConditionalWrite::Stale);
    tape.end();
}

#[test]
fn a_patient_is_created_in_one_call_and_updated_where_different() {
    let tape = Tape::open("patient");
    let new = Patient {
        first_name: "Þóra".into(),
        middle_name: Some("Björk".into()),
        last_name: "Made".into(),
        date_of_birth: Some("1971-05-06".into()),
        email: Some("thora@mail.example".into()),
        cell_phone: Some("+1 555 010 3000".into()),
        provider: Some("2".into()),
        preferred_language: Some("fr".into()),
        address: Some(Address {
            line1: Some("5 Harbour Road".into()),
            region: Some("NY".into()),
            ..Address::default()
        }),
        ..Patient::default()
    };
    let create = Write::CreatePatient(new.clone());
    assert_eq!(find(&tape, "ps-7-20", &create), None);
    let id = push(&tape, "ps-7-20", &create).unwrap().id;
    assert_eq!(find(&tape, "ps-7-20", &create), Some(id.clone()));
    let patient = Patient { id: id.clone(), email: Some("new@mail.example".into()), ..new.clone() };
    let update = Write::UpdatePatient(PatientChange { patient, before: None });
    assert_eq!(find(&tape, "ps-7-21", &update), None);
    push(&tape, "ps-7-21", &update).unwrap();
    assert_eq!(find(&tape, "ps-7-21", &update), Some(id));
    let twin = Write::CreatePatient(Patient { chart_id: Some("C-0".into()), ..new });
    assert_eq!(push(&tape, "ps-7-22", &twin), Err(Fault::rejected("The PUID must be unique")));
    tape.end();
}

#[test]
fn the_chart_and_the_ledger_are_written_once() {
    let tape = Tape::open("chart");
    let log = CommunicationLog {
        id: String::new(),
        patient: "3".into(),
        note: "Reminded".into(),
        mode: CommunicationMode::Text,
        direction: CommunicationDirection::Sent,
        occurred_at: at("2026-11-20T10:00:00Z"),
        extra: Vec::new(),
    };
    let item = |category, item: &str| PatientHistoryItem {
        id: String::new(),
        patient: "3".into(),
        category,
        item: item.into(),
        note: Some("since childhood".into()),
        active: true,
        extra: Vec::new(),
    };
    let coverage = Coverage {
        id: String::new(),
        patient: "3".into(),
        plan: "gnuhealth.insurance.plan,1".into(),
        relation: Relation::Child,
        priority: Some(1),
        subscriber: None,
        subscriber_name: Some("Jane; Doe".into()),
        subscriber_date_of_birth: None,
        subscriber_number: Some("S-77".into()),
        effective_date: Some("2026-01-01".into()),
        expiration_date: None,
        insurance_type: None,
        active: true,
        extra: Vec::new(),
    };
    let writes = [
        Write::CreateCommunicationLog(log),
        Write::SavePatientHistoryItem(item(HistoryCategory::Allergies, "gnuhealth.pathology,2")),
        Write::SavePatientHistoryItem(item(HistoryCategory::Medications, "gnuhealth.medicament,2")),
        Write::CreateCoverage(coverage),
    ];
    for (n, write) in writes.iter().enumerate() {
        let key = format!("ps-7-3{n}");
        assert_eq!(find(&tape, &key, write), None);
        let id = push(&tape, &key, write).unwrap().id;
        assert_eq!(find(&tape, &key, write), Some(id.clone()));
        assert_eq!(push(&tape, &key, write).unwrap().id, id);
    }
    let payment = |amount: &str| Payment {
        id: String::new(),
        patient: Some("3".into()),
        guarantor: None,
        provider: None,
        charge: None,
        claim: None,
        payment_plan: None,
        insurance_plan: None,
        payment_type: Some("2".into()),
        amount: Money { amount: amount.into(), currency: "USD".into() },
        paid_at: Some("2026-11-20".into()),
        transaction_id: None,
        description: None,
        charge_splits: Vec::new(),
        provider_splits: Vec::new(),
        extra: Vec::new(),
    };
    let refused = push(&tape, "ps-7-40", &Write::CreatePayment(payment("12.50")));
    assert_eq!(refused, Err(Fault::rejected("the patient has no open invoice over so much in this currency")));
    tape.end();
}

#[test]
fn unsupported_fields_are_logged() {
    let tape = Tape::open("none");
    assert!(matches!(push(&tape, "ps-7-50", &Write::DeleteWorkingHour("1".into())), Err(Fault::Unsupported(_))));
    assert!(matches!(tape.run(|| GnuHealth::pull(Resource::Claims, None, 5)), Err(Fault::Unsupported(_))));
    let described = tape.run(|| GnuHealth::pull(Resource::Patients, Some("no cursor".into()), 5));
    assert!(matches!(described, Err(Fault::Rejected(_))));
    tape.end();
}

#[test]
fn an_entry_ended_by_staff_keeps_its_reason() {
    let tape = Tape::open("history");
    let mut item = PatientHistoryItem {
        id: String::new(),
        patient: "3".into(),
        category: HistoryCategory::Medications,
        item: "gnuhealth.medicament,2".into(),
        note: Some("with food".into()),
        active: true,
        extra: Vec::new(),
    };
    item.id = push(&tape, "ps-7-60", &Write::SavePatientHistoryItem(item.clone())).unwrap().id;
    let number: i64 = item.id.split_once(',').unwrap().1.parse().unwrap();
    let model = "model.gnuhealth.patient.medication";
    let ended = json!({"is_active": false, "discontinued": true, "discontinued_reason": "rash"});
    tape.staff(&format!("{model}.write"), json!([[number], ended, context()]));
    let state = |tape: &Tape| {
        let fields = ["is_active", "discontinued", "course_completed", "discontinued_reason", "notes"];
        let row = tape.staff(&format!("{model}.read"), json!([[number], fields, context()]))[0].clone();
        let yes = |name: &str| serde_json::from_value::<gnuhealth_adapter::values::Flag>(row[name].clone()).unwrap().0;
        assert!(row["notes"].as_str().unwrap().ends_with("[practice-sync ps-7-60]"), "{row}");
        (yes("is_active"), yes("discontinued"), yes("course_completed"), row["discontinued_reason"].clone())
    };
    // Only the note changes.
    item = PatientHistoryItem { active: false, note: Some("was with food".into()), ..item };
    let change = Write::SavePatientHistoryItem(item.clone());
    assert_eq!(find(&tape, "ps-7-61", &change), None);
    push(&tape, "ps-7-61", &change).unwrap();
    assert_eq!(find(&tape, "ps-7-61", &change), Some(item.id.clone()));
    assert_eq!(state(&tape), (false, true, false, json!("rash")));
    // Resumed, and ended.
    push(&tape, "ps-7-62", &Write::SavePatientHistoryItem(PatientHistoryItem { active: true, ..item.clone() }))
        .unwrap();
    assert_eq!((state(&tape).0, state(&tape).1), (true, false));
    push(&tape, "ps-7-63", &change).unwrap();
    assert_eq!((state(&tape).0, state(&tape).2), (false, true));
    tape.end();
}

fn update_of(patient: &Patient) -> Write {
    Write::UpdatePatient(PatientChange { patient: patient.clone(), before: None })
}

/// A cleared address is no longer written to; values that are already right stay as staff entered them.
#[test]
fn cleared_fields_of_a_patient_are_removed() {
    let tape = Tape::open("cleared");
    let full = Patient {
        first_name: "Zoë".into(),
        middle_name: Some("Ann".into()),
        last_name: "Cleared".into(),
        date_of_birth: Some("1971-05-06".into()),
        gender: Some(Gender::Other),
        email: Some("zoe@mail.example".into()),
        cell_phone: Some("+1 555 010 3100".into()),
        home_phone: Some("+1 555 010 3101".into()),
        provider: Some("2".into()),
        preferred_language: Some("fr".into()),
        address: Some(Address {
            line1: Some("5 Harbour Road".into()),
            city: Some("Cork".into()),
            ..Address::default()
        }),
        ..Patient::default()
    };
    let id = push(&tape, "ps-7-70", &Write::CreatePatient(full.clone())).unwrap().id;
    let number: i64 = id.parse().unwrap();
    let party = tape.staff("model.gnuhealth.patient.read", json!([[number], ["party"], context()]))[0]["party"].clone();
    // Staff have since changed the gender and added a second address.
    tape.staff("model.party.party.write", json!([[party], {"gender": "nb"}, context()]));
    let second = json!({"party": party, "type": "email", "value": "second@mail.example"});
    tape.staff("model.party.contact_mechanism.create", json!([[second], context()]));
    let named = Patient { id: id.clone(), last_name: "Named".into(), ..full.clone() };
    push(&tape, "ps-7-71", &update_of(&named)).unwrap();
    let gender = |tape: &Tape| {
        tape.staff("model.party.party.read", json!([[party], ["gender"], context()]))[0]["gender"].clone()
    };
    assert_eq!(gender(&tape), "nb");

    let bare = Patient {
        id: id.clone(),
        first_name: "Zoë".into(),
        last_name: "Named".into(),
        cell_phone: full.cell_phone.clone(),
        ..Patient::default()
    };
    let update = update_of(&bare);
    assert_eq!(find(&tape, "ps-7-72", &update), None);
    push(&tape, "ps-7-72", &update).unwrap();
    assert_eq!(find(&tape, "ps-7-72", &update), Some(id.clone()));
    let patients = pull(&tape, Resource::Patients, None).records;
    let shown = patients.iter().find_map(|record| match record {
        Record::Patient(patient) if patient.id == id => Some(patient),
        _ => None,
    });
    let shown = shown.unwrap();
    assert!(shown.chart_id.is_some(), "the EHR's own number stays");
    assert_eq!(Patient { chart_id: None, ..shown.clone() }, bare);
    assert_eq!(gender(&tape), "u");
    // The change is reverted.
    push(&tape, "ps-7-73", &update_of(&named)).unwrap();
    assert_eq!(find(&tape, "ps-7-73", &update_of(&named)), Some(id));
    tape.end();
}

/// A server that refuses, and one with a malformed row: neither reports a deletion.
#[test]
fn unreadable_records_are_not_deleted() {
    use adapter_sdk::{
        http::{Request, Response},
        testing::Host,
    };
    let host = |condition: Value, broken: Value| {
        let answer = move |request: &Request| {
            let asked: Value = serde_json::from_slice(request.body.as_deref().unwrap()).unwrap();
            let model = asked["method"].as_str().unwrap();
            let medicine = model == "model.gnuhealth.patient.medication.search_read";
            let result = match (medicine, model.ends_with("search_count")) {
                (true, _) => broken.clone(),
                (_, true) => json!({"result": 1}),
                _ => {
                    let row =
                        json!({"id": 1, "patient": 5, "is_active": condition, "pathology.": {"id": 2, "name": "x"}});
                    json!({"result": [row]})
                }
            };
            Ok(Response { status: 200, headers: Vec::new(), body: result.to_string().into_bytes() })
        };
        Host::new().manifest(include_str!("../adapter.toml")).config("location", "1").answer(answer)
    };
    let pass = || {
        let first = GnuHealth::pull(Resource::PatientHistoryItems, None, 500)?;
        GnuHealth::pull(Resource::PatientHistoryItems, Some(first.cursor), 500)
    };
    let medication =
        |id: i64, medicament: Value| json!({"id": id, "patient": 5, "medicament": medicament, "is_active": false});
    let good = json!({"result": [medication(1, 2.into()), medication(2, 2.into())]});
    let page = host(true.into(), good.clone()).run(pass).unwrap();
    assert!(page.whole && page.last && page.records.len() == 2);
    let page = host("perhaps".into(), good).run(pass).unwrap();
    assert!(page.whole && page.last && page.records.len() == 2, "all others are shown");
    let first = host("perhaps".into(), json!({"result": []}))
        .run(|| GnuHealth::pull(Resource::PatientHistoryItems, None, 500))
        .unwrap();
    let ids = |page: &Page| -> Vec<String> { page.skipped.iter().map(|skipped| skipped.id.clone()).collect() };
    assert_eq!(ids(&first), ["gnuhealth.patient.disease,1"]);
    let page =
        host(true.into(), json!({"result": [medication(1, 2.into()), medication(2, "two".into())]})).run(pass).unwrap();
    assert!(page.whole && page.last && page.records.len() == 1 && page.deleted.is_empty(), "{page:?}");
    assert_eq!(ids(&page), ["gnuhealth.patient.medication,2"]);
    // The next pass is a delta, and the next whole one is whole again.
    let again = host(true.into(), json!({"result": []}))
        .run(|| GnuHealth::pull(Resource::PatientHistoryItems, Some(page.cursor), 500));
    assert!(!again.unwrap().whole);
    let denied = json!({"error": ["UserError", ["You are not allowed to access \"Patient Medication\".", "", null]]});
    let refused = host(true.into(), denied).run(pass);
    assert_eq!(refused, Err(Fault::rejected("You are not allowed to access “Patient Medication”.")));
}

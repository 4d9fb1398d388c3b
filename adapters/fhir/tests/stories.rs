//! The adapter with an in-memory FHIR server: pulls, and bookings with concurrent changes.

use crate::server;
use crate::server::{Server, json_answer, refused};
use adapter_sdk::{
    Adapter, AppointmentChange, Fault, Page, Receipt, Record, Resource, Write,
    http::{Error, Header, Method, Response},
    records::{Address, Appointment, ExtraValue, Gender, Patient},
    time::instant_of,
};
use fhir_adapter::{Fhir, faults};
use serde_json::{Value, json};

#[derive(Default)]
struct PassResult {
    records: Vec<Record>,
    deleted: Vec<String>,
    whole: bool,
    cursor: Option<String>,
}

fn pass(server: &Server, resource: Resource, mut cursor: Option<String>, limit: u32) -> PassResult {
    let mut pass = PassResult::default();
    for _ in 0..500 {
        let page = server.run(|| Fhir::pull(resource, cursor, limit)).unwrap();
        let Page { records, deleted, cursor: next, last, whole, .. } = page;
        assert!(next.len() <= 4_096);
        pass.records.extend(records);
        pass.deleted.extend(deleted);
        (pass.whole, cursor) = (whole, Some(next));
        if last {
            pass.cursor = cursor;
            return pass;
        }
    }
    panic!("a pass without end");
}

/// The second slot of the schedule on its second day, 09:30 local.
const START: &str = "2026-12-02T14:30:00Z";

fn booking(server: &Server, minutes: i64) -> Appointment {
    let start = instant_of(START).unwrap();
    Appointment {
        patient: Some(server.id("Patient", 0)),
        provider: Some(server.id("Practitioner", 0)),
        operatory: Some(server.id("Location", 1)),
        start,
        end: start + minutes * 60,
        note: Some("läuft".into()),
        ..Appointment::default()
    }
}

fn change(appointment: &Appointment) -> AppointmentChange {
    AppointmentChange { appointment: appointment.clone(), reason: Some("ill".into()) }
}

fn create(server: &Server, key: &str, a: &Appointment) -> Result<Receipt, Fault> {
    server.run(|| Fhir::push(key.into(), Write::CreateAppointment(change(a))))
}

fn appointment(server: &Server, id: &str) -> Value {
    server.all("Appointment").into_iter().find(|a| a["id"] == id).unwrap()
}

/// Returns the start of each slot with this status that begins on the second day.
fn slots(server: &Server, status: &str) -> Vec<String> {
    let all = server.all("Slot").into_iter().filter(|s| s["status"] == status);
    let starts = all.map(|s| s["start"].as_str().unwrap().to_owned());
    starts.filter(|start| start.starts_with("2026-12-02")).map(|start| start[11..16].to_owned()).collect()
}

#[test]
fn a_whole_pass_shows_the_site_and_nothing_of_others() {
    for links in [false, true] {
        let server = Server::new();
        server.0.borrow_mut().links = links;
        for (resource, count) in [
            (Resource::Providers, 3),
            (Resource::Operatories, 3),
            (Resource::Patients, 6),
            (Resource::Appointments, 5),
            (Resource::AppointmentTypes, 0),
        ] {
            for limit in [1, 2, 5, 1_000] {
                let pass = pass(&server, resource, None, limit);
                assert_eq!((pass.records.len(), pass.whole), (count, true), "{limit} links: {links}");
            }
        }
        // Three days of one schedule with slots, morning and afternoon.
        assert_eq!(pass(&server, Resource::WorkingHours, None, 1).records.len(), 6);
        assert_eq!(pass(&server, Resource::WorkingHours, None, 4).records.len(), 6);
    }
}

#[test]
fn records_are_read_in_every_script_and_state() {
    let server = Server::new();
    let patients = pass(&server, Resource::Patients, None, 10).records;
    let Record::Patient(zoe) = &patients[0] else { panic!("not a patient") };
    assert_eq!((zoe.first_name.as_str(), zoe.middle_name.as_deref()), ("Zoë", Some("Ann")));
    assert_eq!((zoe.last_name.as_str(), zoe.gender), ("Łopata-O’Brien", Some(Gender::Female)));
    assert_eq!((zoe.chart_id.as_deref(), zoe.preferred_language.as_deref()), (Some("C-0"), Some("fr")));
    assert_eq!(zoe.provider, Some(server.id("Practitioner", 0)));
    assert_eq!(zoe.address.as_ref().unwrap().line2.as_deref(), Some("Apt 2"));
    let Record::Patient(olga) = &patients[5] else { panic!("not a patient") };
    assert_eq!((olga.last_name.as_str(), olga.date_of_birth.as_deref(), olga.gender), ("Петрова", None, None));
    assert!(olga.inactive);

    let states: Vec<(bool, bool, bool, bool)> = pass(&server, Resource::Appointments, None, 10)
        .records
        .iter()
        .map(|record| match record {
            Record::Appointment(a) => (a.confirmed, a.cancelled, a.patient_missed, a.unavailable),
            _ => panic!("not an appointment"),
        })
        .collect();
    let (no, yes) = (false, true);
    assert_eq!(states, [(yes, no, no, no), (no, no, no, no), (no, yes, no, no), (no, no, yes, no), (yes, no, no, yes)]);

    let hours = pass(&server, Resource::WorkingHours, None, 10).records;
    let Record::WorkingHour(first) = &hours[0] else { panic!("not hours") };
    // The busy slot at nine is working time.
    assert_eq!((first.begin_time.as_str(), first.end_time.as_str()), ("09:00", "12:00"));
    assert_eq!(first.specific_date.as_deref(), Some("2026-12-01"));
    assert_eq!((&first.provider, &first.operatory), (&server.id("Practitioner", 0), &Some(server.id("Location", 1))));
}

#[test]
fn the_next_pass_lists_changes_and_periodically_everything() {
    let server = Server::new();
    let first = pass(&server, Resource::Patients, None, 100);
    let none = pass(&server, Resource::Patients, first.cursor.clone(), 100);
    assert_eq!((none.records.len(), none.whole), (0, false));
    server.0.borrow_mut().resources[2]["meta"]["lastUpdated"] = json!("2026-11-30T00:50:00Z");
    assert_eq!(pass(&server, Resource::Patients, first.cursor.clone(), 100).records.len(), 1);
    let often = [("whole_pass_minutes", "1")];
    let mut cursor: Value = serde_json::from_str(&first.cursor.unwrap()).unwrap();
    cursor["whole_at"] = json!(server::NOW - 61);
    let page = server.run_with(&often, || Fhir::pull(Resource::Patients, Some(cursor.to_string()), 100)).0.unwrap();
    assert_eq!((page.records.len(), page.whole), (6, true));
}

#[test]
fn a_deletion_during_a_walk_does_not_hide_the_next_record() {
    let mut pages = 0;
    let server = Server::new().meanwhile(move |resources, request| {
        if request.path.starts_with("/Patient?") {
            pages += 1;
            if pages == 2 {
                resources.remove(0);
            }
        }
        None
    });
    let torn = pass(&server, Resource::Patients, None, 2);
    assert!(!torn.whole, "it must not be taken for all there is");
    // The next pass is whole again.
    let again = pass(&server, Resource::Patients, torn.cursor, 2);
    assert_eq!((again.records.len(), again.whole), (5, true));
}

#[test]
fn a_server_that_cannot_search_by_change_shows_everything() {
    let server = Server::new()
        .meanwhile(|_, request| request.path.contains("_lastUpdated").then(|| Ok(refused(400, "not-supported"))));
    let first = pass(&server, Resource::Patients, None, 100);
    let second = pass(&server, Resource::Patients, first.cursor, 100);
    assert_eq!((second.records.len(), second.whole), (6, true));
}

#[test]
fn a_booking_takes_its_slots_and_frees_them() {
    let server = Server::new();
    let mut a = booking(&server, 60);
    let booked = create(&server, "k1", &a).unwrap();
    assert_eq!(slots(&server, "busy"), ["09:30", "10:00"]);
    let stored = appointment(&server, &booked.id);
    assert_eq!(stored["identifier"][0]["value"], "k1");
    assert_eq!(stored["slot"].as_array().unwrap().len(), 2);
    assert_eq!(stored["participant"].as_array().unwrap().len(), 3);
    // The same write again creates no second appointment.
    assert_eq!(create(&server, "k1", &a).unwrap(), booked);

    (a.id, a.version) = (booked.id.clone(), booked.version);
    (a.start, a.end) = (a.start + 1_800, a.end + 1_800);
    let moved = server.run(|| Fhir::push("k2".into(), Write::RescheduleAppointment(change(&a)))).unwrap();
    assert_eq!(slots(&server, "busy"), ["10:00", "10:30"]);
    let find = |key: &str| server.run(|| Fhir::find(key.into(), Write::CreateAppointment(change(&a)))).unwrap();
    assert_eq!((find("k1"), find("k2"), find("k3")), (Some(moved.clone()), Some(moved), None));
    let stale = server.run(|| Fhir::push("k3".into(), Write::RescheduleAppointment(change(&a))));
    assert_eq!(stale, Err(Fault::rejected("the appointment was changed in the EHR since it was read")));

    a.version = None;
    server.run(|| Fhir::push("k4".into(), Write::CancelAppointment(change(&a)))).unwrap();
    assert_eq!(slots(&server, "busy"), Vec::<String>::new());
    let stored = appointment(&server, &booked.id);
    assert_eq!((&stored["status"], &stored["cancelationReason"]["text"]), (&json!("cancelled"), &json!("ill")));
    // The creation's key stays; of the updates only the last key stays.
    let keys: Vec<&Value> = stored["identifier"].as_array().unwrap().iter().map(|i| &i["value"]).collect();
    assert_eq!(keys, ["k1", "k4"]);
    let moved_after = server.run(|| Fhir::push("k5".into(), Write::RescheduleAppointment(change(&a))));
    assert_eq!(moved_after, Err(Fault::rejected("the appointment is cancelled in the EHR")));
    server.run(|| Fhir::push("k6".into(), Write::CancelAppointment(change(&a)))).unwrap();
}

#[test]
fn an_occupied_room_and_a_busy_slot_are_refused() {
    let server = Server::new();
    let a = booking(&server, 60);
    create(&server, "k1", &a).unwrap();
    assert_eq!(create(&server, "k2", &a), Err(Fault::rejected("the operatory is occupied at that time")));
    // A slot blocked without an appointment.
    let server = Server::new();
    for slot in &mut server.0.borrow_mut().resources {
        if slot["resourceType"] == "Slot" && slot["start"] == "2026-12-02T10:00:00-05:00" {
            slot["status"] = json!("busy-unavailable");
        }
    }
    assert_eq!(create(&server, "k1", &a), Err(Fault::rejected("the slot is not free in the EHR")));
    assert_eq!(slots(&server, "busy"), Vec::<String>::new());
    assert_eq!(server.all("Appointment").len(), 6);
}

#[test]
fn a_slot_marked_by_us_is_free_once_no_appointment_uses_it() {
    let server = Server::new();
    let a = booking(&server, 60);
    let by_staff = |booked: &Receipt, change: &dyn Fn(&mut Value)| {
        let resources = &mut server.0.borrow_mut().resources;
        change(resources.iter_mut().find(|r| r["id"] == booked.id.as_str()).unwrap());
    };
    let first = create(&server, "k1", &a).unwrap();
    by_staff(&first, &|appointment| appointment["status"] = json!("cancelled"));
    assert_eq!(slots(&server, "busy"), ["09:30", "10:00"]);
    let second = create(&server, "k2", &a).unwrap();
    assert_eq!(appointment(&server, &second.id)["slot"].as_array().unwrap().len(), 2);
    assert_eq!(slots(&server, "busy"), ["09:30", "10:00"]);
    // The appointment still names its slots, wherever staff moved it.
    by_staff(&second, &|appointment| appointment["participant"] = json!([]));
    assert_eq!(create(&server, "k3", &a), Err(Fault::rejected("the slot is not free in the EHR")));
    // Slots marked by others are respected, with or without an appointment.
    by_staff(&second, &|appointment| appointment["status"] = json!("cancelled"));
    for slot in server.0.borrow_mut().resources.iter_mut().filter(|r| r["resourceType"] == "Slot") {
        slot.as_object_mut().unwrap().remove("identifier");
    }
    assert_eq!(create(&server, "k4", &a), Err(Fault::rejected("the slot is not free in the EHR")));
}

#[test]
fn a_concurrently_taken_slot_is_detected_and_other_slots_are_freed() {
    let mut done = false;
    let server = Server::new().meanwhile(move |resources, request| {
        if request.method == Method::Put && request.path.starts_with("/Slot/") && !done {
            done = true;
            let second = resources.iter_mut().find(|s| s["start"] == "2026-12-02T10:00:00-05:00").unwrap();
            (second["status"], second["meta"]["versionId"]) = (json!("busy"), json!("other"));
        }
        None
    });
    let taken = create(&server, "k1", &booking(&server, 60));
    assert_eq!(taken, Err(Fault::rejected("the slot was taken in the EHR meanwhile")));
    assert_eq!(slots(&server, "busy"), ["10:00"]);
}

#[test]
fn a_lost_answer_is_unknown_only_once_the_appointment_may_be_written() {
    for (lost, unknown) in [("PUT /Slot", false), ("POST /Appointment", true)] {
        let mut done = false;
        let server = Server::new().meanwhile(move |_, request| {
            let now = format!("{} {}", request.method, request.path).starts_with(lost) && !done;
            done |= now;
            now.then(|| Err(Error::NoAnswer("broke off".into())))
        });
        let a = booking(&server, 60);
        let fault = create(&server, "k1", &a).unwrap_err();
        assert_eq!(matches!(fault, Fault::Unknown(_)), unknown, "{fault:?}");
        assert_eq!(matches!(fault, Fault::RetryLater(_)), !unknown, "{fault:?}");
        let find = server.run(|| Fhir::find("k1".into(), Write::CreateAppointment(change(&a)))).unwrap();
        assert_eq!(find, None);
        create(&server, "k1", &a).unwrap();
        assert_eq!(slots(&server, "busy"), ["09:30", "10:00"]);
        assert_eq!(server.all("Appointment").len(), 7);
    }
}

#[test]
fn a_refused_appointment_frees_its_slots() {
    let outcome: Value = serde_json::from_str(include_str!("fixtures/refused.json")).unwrap();
    let server = Server::new()
        .meanwhile(move |_, request| (request.method == Method::Post).then(|| Ok(json_answer(400, &outcome))));
    let Err(Fault::Rejected(reason)) = create(&server, "k1", &booking(&server, 60)) else { panic!("not rejected") };
    assert!(reason.contains("Constraint app-2 not met") && reason.contains("(Appointment.status)"), "{reason}");
    assert_eq!(slots(&server, "busy"), Vec::<String>::new());
}

#[test]
fn servers_without_slots_are_tolerated() {
    // No slots, no matching slots, and slots that cannot be written.
    let without = Server::new();
    without.0.borrow_mut().resources.retain(|r| r["resourceType"] != "Slot");
    let read_only = Server::new().meanwhile(|_, r| {
        (r.method == Method::Put && r.path.starts_with("/Slot")).then(|| Ok(refused(405, "not-supported")))
    });
    for (server, minutes) in [(without, 60), (Server::new(), 45), (read_only, 60)] {
        let booked = create(&server, "k", &booking(&server, minutes)).unwrap();
        assert!(appointment(&server, &booked.id)["slot"].is_null());
    }
    let off = Server::new();
    let a = booking(&off, 60);
    off.run_with(&[("slots", "off")], || Fhir::push("k".into(), Write::CreateAppointment(change(&a)))).0.unwrap();
    assert!(!off.0.borrow().requests.iter().any(|r| r.contains("/Slot") || r.contains("/Schedule")));
}

#[test]
fn a_change_in_between_is_read_again_unless_a_version_was_named() {
    for named in [false, true] {
        let mut done = false;
        let server = Server::new();
        let mut a = booking(&server, 60);
        let booked = create(&server, "k1", &a).unwrap();
        let server = server.meanwhile(move |resources, request| {
            if request.method == Method::Put && request.path.starts_with("/Appointment/") && !done {
                done = true;
                let last = resources.last_mut().unwrap();
                (last["comment"], last["meta"]["versionId"]) = (json!("staff was here"), json!("other"));
            }
            None
        });
        (a.id, a.version) = (booked.id.clone(), booked.version.filter(|_| named));
        let cancelled = server.run(|| Fhir::push("k2".into(), Write::CancelAppointment(change(&a))));
        let stored = appointment(&server, &booked.id);
        assert_eq!(stored["comment"], "staff was here");
        assert_eq!((cancelled.is_ok(), stored["status"] == "cancelled"), (!named, !named));
    }
}

#[test]
fn a_patient_is_created_once_with_every_field_of_fhir() {
    let server = Server::new();
    let patient = Patient {
        first_name: "Ольга".into(),
        middle_name: Some("Ильинична".into()),
        last_name: "O’Brien-Łopata".into(),
        date_of_birth: Some("1990-02-28".into()),
        gender: Some(Gender::Female),
        email: Some("o@mail.example".into()),
        cell_phone: Some("+1 312 555 0199".into()),
        ssn: Some("078-05-1120".into()),
        address: Some(Address { line1: Some("1 Élm".into()), country: Some("US".into()), ..Address::default() }),
        provider: Some(server.id("Practitioner", 1)),
        unsubscribed_sms: true,
        extra: vec![ExtraValue::new("shoe size", "40")],
        ..Patient::default()
    };
    let push = || server.run_with(&[], || Fhir::push("p1".into(), Write::CreatePatient(patient.clone())));
    let (first, lines) = push();
    assert_eq!(first, push().0);
    assert!(lines[0].1.contains("extra") && lines.len() == 1);
    let stored = server.all("Patient").pop().unwrap();
    assert_eq!(
        stored["name"],
        json!([{"use": "official", "family": "O’Brien-Łopata", "given": ["Ольга", "Ильинична"]}])
    );
    assert_eq!(stored["identifier"][1]["system"], "http://hl7.org/fhir/sid/us-ssn");
    assert_eq!(stored["identifier"][1]["value"], "078-05-1120");
    assert_eq!(stored["address"], json!([{"use": "home", "line": ["1 Élm"], "country": "US"}]));
    assert!(stored.get("communication").is_none());
    let Record::Patient(read) = pass(&server, Resource::Patients, None, 100).records.pop().unwrap() else { panic!() };
    assert_eq!(read, Patient { id: read.id.clone(), ssn: None, extra: Vec::new(), ..patient });
}

#[test]
fn responses_without_a_body_are_accepted_and_others_are_unknown() {
    let bare = |headers: &[(&str, &str)]| {
        let headers: Vec<Header> = headers.iter().map(|(name, value)| Header::new(*name, *value)).collect();
        let server = Server::new().meanwhile(move |_, request| {
            (request.method == Method::Post)
                .then(|| Ok(Response { status: 201, headers: headers.clone(), body: Vec::new() }))
        });
        let patient = Patient { last_name: "X".into(), ..Patient::default() };
        server.run(|| Fhir::push("p".into(), Write::CreatePatient(patient)))
    };
    let location = ("location", "https://ehr.example/fhir/R4/Patient/77/_history/3");
    let receipt = Receipt { id: "77".into(), version: Some("3".into()) };
    assert_eq!(bare(&[location, ("etag", "W/\"3\"")]), Ok(receipt));
    assert!(matches!(bare(&[]), Err(Fault::Unknown(_))));
}

#[test]
fn a_page_in_place_of_an_answer_deletes_nothing() {
    let deleted = |body: &'static str| {
        let server = Server::new().meanwhile(move |_, request| {
            let answer = Response { status: 200, headers: Vec::new(), body: body.as_bytes().to_vec() };
            (request.method == Method::Delete).then_some(Ok(answer))
        });
        let push = || Fhir::push("k".into(), Write::DeleteCoverage("c".into()));
        server.run_with(&[("resources", "Coverage")], push).0
    };
    assert!(matches!(deleted("<html>We are back soon</html>"), Err(Fault::Unknown(_))));
    assert_eq!(deleted(""), Ok(Receipt::new("c")));
    assert_eq!(deleted("{\"resourceType\": \"OperationOutcome\"}"), Ok(Receipt::new("c")));
}

#[test]
fn appointment_types_come_from_the_setting_or_the_server() {
    let server = Server::new();
    let types = r#"[{"id":"CHK","system":"urn:x","name":"Check-up","minutes":30},{"id":"B","name":"B","minutes":45,"bookable_online":false}]"#;
    let settings = [("appointment_types", types)];
    let page = server.run_with(&settings, || Fhir::pull(Resource::AppointmentTypes, None, 10)).0.unwrap();
    assert!(page.last && page.whole && page.records.len() == 2);
    let a = Appointment { appointment_type: Some("CHK".into()), ..booking(&server, 60) };
    let push = || Fhir::push("k".into(), Write::CreateAppointment(change(&a)));
    let booked = server.run_with(&settings, push).0.unwrap();
    let coding = &appointment(&server, &booked.id)["appointmentType"]["coding"][0];
    assert_eq!(*coding, json!({"system": "urn:x", "code": "CHK", "display": "Check-up"}));
    let service = json!({"resourceType": "HealthcareService", "id": "s", "name": "Prophylaxe",
        "type": [{"coding": [{"code": "124"}]}], "meta": {"lastUpdated": "2026-01-01T00:00:00Z"}});
    server.0.borrow_mut().resources.push(service);
    let Record::AppointmentType(kind) = pass(&server, Resource::AppointmentTypes, None, 10).records.remove(0) else {
        panic!()
    };
    assert_eq!((kind.id.as_str(), kind.name.as_str(), kind.minutes), ("124", "Prophylaxe", 30));
}

#[test]
fn wrong_settings_cursors_and_resources_are_refused() {
    let server = Server::new();
    for (name, value) in [
        ("operatories", "some"),
        ("slots", "maybe"),
        ("slot_days", "soon"),
        ("whole_pass_minutes", "often"),
        ("appointment_types", "{}"),
        ("appointment_types", r#"[{"id":"a","name":"b","minutes":-1}]"#),
    ] {
        let refused = server.run_with(&[(name, value)], || Fhir::pull(Resource::Patients, None, 1)).0;
        assert!(matches!(&refused, Err(Fault::Unsupported(why)) if why.contains(name)), "{name}: {refused:?}");
    }
    assert!(matches!(server.run(|| Fhir::pull(Resource::Patients, Some("x".into()), 1)), Err(Fault::Rejected(_))));
    assert!(matches!(server.run(|| Fhir::pull(Resource::Claims, None, 1)), Err(Fault::Unsupported(_))));
    let other = Write::DeleteWorkingHour("x".into());
    assert!(matches!(server.run(|| Fhir::push("k".into(), other.clone())), Err(Fault::Unsupported(_))));
    assert!(matches!(server.run(|| Fhir::find("k".into(), other)), Err(Fault::Unsupported(_))));
    assert!(server.run(Fhir::describe).unwrap().pulls.len() == 6);
    let all_rooms = server.run_with(&[("operatories", "all")], || Fhir::pull(Resource::Operatories, None, 10)).0;
    assert_eq!(all_rooms.unwrap().records.len(), 5);
}

#[test]
fn a_lookup_accepts_only_resources_with_the_key() {
    // A server that ignores the search parameter returns arbitrary resources.
    let server = Server::new().meanwhile(|resources, request| {
        let somebody = resources.iter().find(|r| r["resourceType"] == "Patient").cloned();
        let bundle = json!({"resourceType": "Bundle", "entry": [{"resource": somebody}]});
        request.path.contains("identifier=").then(|| Ok(json_answer(200, &bundle)))
    });
    let find = server.run(|| Fhir::find("k".into(), Write::CreatePatient(Patient::default())));
    assert_eq!(find, Ok(None));
    assert!(matches!(faults::from_response(&refused(404, "not-found"), true, None), Fault::Rejected(_)));
}

/// A server that filters after the search links to the result from an empty page.
#[test]
fn a_lookup_follows_empty_pages_to_the_result() {
    let key = json!([{"system": "urn:practice-sync:write-key", "value": "k"}]);
    let server = Server::new().meanwhile(move |_, request| {
        let ours = json!({"resourceType": "Patient", "id": "p1", "identifier": key});
        let bundle = match request.path.as_str() {
            "/Patient?rest=2" => json!({"resourceType": "Bundle", "entry": [{"resource": ours}]}),
            path if path.contains("identifier=") => json!({"resourceType": "Bundle", "entry": [],
                "link": [{"relation": "next", "url": "?rest=2"}]}),
            _ => return None,
        };
        Some(Ok(json_answer(200, &bundle)))
    });
    let find = server.run(|| Fhir::find("k".into(), Write::CreatePatient(Patient::default())));
    assert_eq!(find, Ok(Some(Receipt::new("p1"))));
}

/// A booking of two slots at 09:30, and the same one moved by an hour.
fn booked_and_moved(server: &Server) -> (Appointment, Appointment) {
    let mut a = booking(server, 60);
    a.id = create(server, "k1", &a).unwrap().id;
    let moved = Appointment { start: a.start + 3_600, end: a.end + 3_600, ..a.clone() };
    (a, moved)
}

#[test]
fn a_refused_change_leaves_the_appointment_on_its_slots() {
    for refusal in [422, 403] {
        let server = Server::new();
        let (a, moved) = booked_and_moved(&server);
        let server = server.meanwhile(move |_, request| {
            let put = request.method == Method::Put && request.path.starts_with("/Appointment/");
            put.then(|| Ok(refused(refusal, "invalid")))
        });
        for write in [Write::RescheduleAppointment(change(&moved)), Write::CancelAppointment(change(&a))] {
            let ended = server.run(|| Fhir::push("k2".into(), write));
            assert!(matches!(ended, Err(Fault::Rejected(_))), "{ended:?}");
            assert_eq!(slots(&server, "busy"), ["09:30", "10:00"]);
        }
    }
    // Staff changed it between our read and our write, and the engine named a version.
    let mut done = false;
    let server = Server::new();
    let (_, mut moved) = booked_and_moved(&server);
    moved.version = server.all("Appointment").pop().unwrap()["meta"]["versionId"].as_str().map(str::to_owned);
    let server = server.meanwhile(move |resources, request| {
        if request.method == Method::Put && request.path.starts_with("/Appointment/") && !done {
            done = true;
            resources.last_mut().unwrap()["meta"]["versionId"] = json!("other");
        }
        None
    });
    let ended = server.run(|| Fhir::push("k2".into(), Write::RescheduleAppointment(change(&moved))));
    assert_eq!(ended, Err(Fault::rejected("the appointment was changed in the EHR since it was read")));
    assert_eq!(slots(&server, "busy"), ["09:30", "10:00"]);
}

#[test]
fn slots_are_freed_after_the_appointment_is_written() {
    let server = Server::new();
    let (_, moved) = booked_and_moved(&server);
    let since = server.0.borrow().requests.len();
    server.run(|| Fhir::push("k2".into(), Write::RescheduleAppointment(change(&moved)))).unwrap();
    assert_eq!(slots(&server, "busy"), ["10:30", "11:00"]);
    let written = |server: &Server, since: usize| -> Vec<String> {
        let all = server.0.borrow().requests[since..].to_vec();
        all.iter().filter_map(|r| r.strip_prefix("PUT /")?.split('/').next().map(str::to_owned)).collect()
    };
    assert_eq!(written(&server, since), ["Slot", "Slot", "Appointment", "Slot", "Slot"]);

    // A slot taken by staff during the cancellation stays taken.
    let server = server.meanwhile(|resources, request| {
        if request.method == Method::Put && request.path.starts_with("/Appointment/") {
            let theirs = resources.iter_mut().find(|s| s["start"] == "2026-12-02T11:00:00-05:00").unwrap();
            theirs["meta"]["versionId"] = json!("theirs");
        }
        None
    });
    server.run(|| Fhir::push("k3".into(), Write::CancelAppointment(change(&moved)))).unwrap();
    assert_eq!(slots(&server, "busy"), ["11:00"]);
}

#[test]
fn a_fulfilled_visit_stays_fulfilled() {
    let server = Server::new();
    let (a, _) = booked_and_moved(&server);
    server.0.borrow_mut().resources.last_mut().unwrap()["status"] = json!("fulfilled");
    let before = appointment(&server, &a.id);
    let checked_in = server.run(|| Fhir::push("k2".into(), Write::CheckInAppointment(change(&a)))).unwrap();
    assert_eq!(checked_in.version.as_deref(), before["meta"]["versionId"].as_str());
    assert_eq!(appointment(&server, &a.id), before);
}

#[test]
fn a_lost_answer_leaves_no_slot_busy_that_the_appointment_has_left() {
    // The response for the appointment, then the request that frees the first slot.
    for (lost, carried_out) in [("/Appointment/", true), ("/Slot/", false)] {
        let server = Server::new();
        let (a, moved) = booked_and_moved(&server);
        let lose = move |resources: &mut Vec<Value>, request: &adapter_sdk::http::Request| {
            if request.method != Method::Put || !request.path.starts_with(lost) {
                return None;
            }
            let body: Value = serde_json::from_slice(request.body.as_deref().unwrap()).unwrap();
            let freeing = body["status"] == "free";
            if lost == "/Slot/" && !freeing {
                return None;
            }
            if carried_out {
                let held = resources.iter_mut().find(|r| r["id"] == body["id"]).unwrap();
                *held = body;
                held["meta"]["versionId"] = json!("written");
            }
            Some(Err(Error::NoAnswer("broke off".into())))
        };
        for (key, write, busy) in [
            ("k2", Write::RescheduleAppointment(change(&moved)), vec!["10:30", "11:00"]),
            ("k3", Write::CancelAppointment(change(&a)), vec![]),
        ] {
            let mut done = false;
            let server = server.clone().meanwhile(move |resources, request| {
                let answer = if done { None } else { lose(resources, request) };
                done |= answer.is_some();
                answer
            });
            match server.run(|| Fhir::push(key.into(), write.clone())) {
                Err(Fault::Unknown(_)) => {
                    assert!(carried_out);
                    assert!(server.run(|| Fhir::find(key.into(), write)).unwrap().is_some());
                }
                ended => assert!(!carried_out && ended.is_ok(), "{ended:?}"),
            }
            assert_eq!(slots(&server, "busy"), busy, "{lost} {key}");
        }
    }
}

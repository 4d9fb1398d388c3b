//! The main job against a FHIR R4 server nobody here wrote: what the engine reads there, what it writes there, and that it writes it
//! once, whatever is lost on the way.
#![allow(clippy::unwrap_used)]

use std::{collections::BTreeSet, time::Duration};

use chrono::DateTime;
use engine::{
    engine::PatientDetails,
    records::{self, Writeback},
};
use location::{command::Placement, ids::AppointmentId, time::Timestamp};
use serde_json::{Value, json};
use tests::{
    clinic::{self, CHECK_UP, Clinic, LOCATION, visitor},
    practice::INSTITUTION,
    wait::until,
};

/// Minutes after midnight.
const NINE: i64 = 9 * 60;
const TEN: i64 = 10 * 60;

#[actix::test]
async fn a_booking_and_what_becomes_of_it_are_seen_on_both_sides() {
    let Some(clinic) = Clinic::open().await else { return };
    assert_eq!(clinic.server.status_for_strangers().await, 401, "the credentials are needed");
    the_first_pull_shows_the_practice(&clinic);
    slots_are_free_where_nobody_stands(&clinic).await;
    let id = a_new_patient_books(&clinic).await;
    we_move_it(&clinic, id).await;
    a_change_by_staff_is_not_overwritten(&clinic, id).await;
    staff_move_it(&clinic, id).await;
    we_cancel_it_and_the_patient_books_again(&clinic, id).await;
    staff_cancel_and_book(&clinic).await;
    clinic.engine.stop().await;
}

fn the_first_pull_shows_the_practice(clinic: &Clinic) {
    let providers = clinic.providers();
    let names: Vec<_> = providers.iter().map(records::Provider::name).collect();
    assert_eq!(names, ["Dr. Åsa Lindqvist", "Dr. Tomasz Żółkowski", "Dr. Mai Nguyễn"]);
    assert_eq!(providers[0].npi.as_deref(), Some("1234567893"));
    assert_eq!(providers[0].foreign_id.as_ref(), Some(&clinic.seeded.practitioners[0]));

    let rooms: Vec<_> = clinic.operatories().into_iter().map(|room| (room.name, room.active)).collect();
    assert_eq!(rooms, ["Room 1", "Room 2", "Zimmer 3 – Prophylaxe"].map(|name| (name.to_owned(), true)));

    let types = clinic.engine.appointment_types(INSTITUTION).unwrap();
    let types: Vec<_> = types.iter().map(|kind| (kind.name.as_str(), kind.minutes)).collect();
    assert_eq!(types, [("Check-up – kurz", 30)]);

    let patients = clinic.patients();
    assert_eq!(patients.len(), 6);
    let of = |n: usize| patients.iter().find(|p| p.foreign_id.as_ref() == Some(&clinic.seeded.patients[n])).unwrap();
    let zoe = of(0);
    assert_eq!(zoe.name(), "Zoë Ann Łopata-O’Brien");
    assert_eq!((zoe.gender.as_deref(), zoe.date_of_birth.as_deref()), (Some("Female"), Some("1990-02-28")));
    assert_eq!(zoe.cell_phone.as_deref(), Some("+1 312 555 0100"));
    assert_eq!(zoe.home_phone.as_deref(), Some("+1 312 556 0100"));
    assert_eq!(zoe.email.as_deref(), Some("patient0@mail.example"));
    assert_eq!((zoe.chart_id.as_deref(), zoe.preferred_language.as_deref()), (Some("C-0"), Some("fr")));
    assert_eq!(zoe.address.as_ref().unwrap().line_1.as_deref(), Some("1 Rue de l’Été"));
    assert_eq!(zoe.provider_id, Some(clinic.provider(0).0));
    assert_eq!((of(1).name(), of(2).name()), ("محمد حسين".to_owned(), "秀英 王".to_owned()));
    assert!(of(5).inactive && !zoe.inactive);
    assert_eq!(of(5).date_of_birth, None, "a month is no date of birth");

    assert_eq!(clinic.appointments().len(), 5, "and none of another site");
    let seen = |name: &str| clinic.seen(&clinic.seeded.appointments[name]);
    let booked = seen("booked").unwrap();
    assert_eq!(booked.placement, clinic.place(0, 0, NINE));
    assert_eq!((booked.patient_id, booked.note.as_deref()), (Some(zoe.id), Some("Check-up – läuft")));
    assert!(booked.confirmed && !booked.cancelled && !booked.unavailable && booked.booking.is_none());
    assert!(!seen("pending").unwrap().confirmed);
    assert!(seen("cancelled").unwrap().cancelled);
    assert!(seen("missed").unwrap().patient_missed);
    let blocked = seen("blocked").unwrap();
    assert!(blocked.unavailable && blocked.patient_id.is_none());
    assert!(seen("elsewhere").is_none());
}

async fn slots_are_free_where_nobody_stands(clinic: &Clinic) {
    let whole_day: Vec<String> =
        (18..34).filter(|half| !(24..26).contains(half)).map(|h| format!("{:02}:{:02}", h / 2, h % 2 * 30)).collect();
    let without = |taken: &[&str]| -> Vec<String> {
        whole_day.iter().filter(|time| !taken.contains(&time.as_str())).cloned().collect()
    };
    // In the first room one is booked and one was missed; the cancelled one left its place.
    assert_eq!(clinic.free_times(0, 0).await, without(&["09:00", "10:30"]));
    assert_eq!(clinic.free_times(1, 0).await, without(&["09:00"]));
    assert_eq!(clinic.free_times(2, 0).await, without(&["14:00", "14:30"]));
    for room in 0..3 {
        assert_eq!(clinic.free_times(room, 1).await, whole_day);
    }
}

fn zoe() -> PatientDetails {
    PatientDetails { middle_name: Some("Maria".to_owned()), ..visitor("Zoë", "Ångström-D’Arc", "555-010-7788") }
}

async fn a_new_patient_books(clinic: &Clinic) -> u64 {
    let (server, before) = (&clinic.server, clinic.server.faults().await.writes);
    let booked = clinic.book(clinic.place(0, 0, TEN), "story-1", &zoe(), "first visit ☺").await.unwrap();
    let record = clinic.written(booked.appointment.id).await;
    assert_eq!(server.faults().await.writes - before, 3, "the patient, the slot, the appointment, once each");

    let patient = patient_of(clinic, &record).await;
    let name = json!([{"use": "official", "family": "Ångström-D’Arc", "given": ["Zoë", "Maria"]}]);
    assert_eq!(patient["name"], name);
    assert_eq!((&patient["birthDate"], &patient["gender"]), (&json!("1990-02-28"), &json!("female")));
    let telecom = patient["telecom"].as_array().unwrap();
    assert!(telecom.contains(&json!({"system": "phone", "use": "mobile", "value": "555-010-7788"})), "{telecom:?}");
    assert!(telecom.contains(&json!({"system": "email", "value": "visitor@example.org"})), "{telecom:?}");

    let appointment = check_in_ehr(clinic, &record, clinic.place(0, 0, TEN)).await;
    assert_eq!((&appointment["status"], &appointment["comment"]), (&json!("booked"), &json!("first visit ☺")));
    let kind = &appointment["appointmentType"]["coding"][0];
    assert_eq!((&kind["system"], &kind["code"]), (&json!("urn:clinic:types"), &json!(CHECK_UP)));
    assert!(patient["meta"]["lastUpdated"].as_str() <= appointment["meta"]["lastUpdated"].as_str());
    once_each(clinic, 1, 1).await;

    // Read back it is the same appointment and the same patient.
    let (appointments, patients) = (clinic.appointments().len(), clinic.patients().len());
    clinic.sync().await;
    assert_eq!((clinic.appointments().len(), clinic.patients().len()), (appointments, patients));
    let read = clinic.appointment(record.id);
    assert!(read.confirmed && read.placement == record.placement && read.booking == record.booking);
    record.id
}

async fn we_move_it(clinic: &Clinic, id: u64) {
    let to = clinic.place(1, 1, TEN);
    let old_slot = slot_of(&clinic.in_ehr(&clinic.appointment(id)).await);
    clinic.engine.reschedule(LOCATION, AppointmentId(id), to, true).await.unwrap();
    clinic.idle().await;
    check_in_ehr(clinic, &clinic.appointment(id), to).await;
    assert_eq!(clinic.server.read("Slot", &old_slot).await["status"], "free");
    assert!(clinic.free_times(0, 0).await.contains(&"10:00".to_owned()));
    assert!(!clinic.free_times(1, 1).await.contains(&"10:00".to_owned()));
    once_each(clinic, 1, 1).await;
}

/// The version a change rests on is the one that was read: `If-Match` stops it, and the booking stands where the EHR has it.
async fn a_change_by_staff_is_not_overwritten(clinic: &Clinic, id: u64) {
    let (stood, to) = (clinic.place(1, 1, TEN), clinic.place(2, 1, TEN));
    let mut theirs = clinic.in_ehr(&clinic.appointment(id)).await;
    theirs["comment"] = json!("allergic to latex");
    let theirs = clinic.server.update(&theirs).await;
    clinic.engine.reschedule(LOCATION, AppointmentId(id), to, true).await.unwrap();
    clinic.idle().await;
    assert_eq!(clinic.in_ehr(&clinic.appointment(id)).await, theirs, "what staff wrote stands");
    assert_eq!(clinic.appointment(id).placement, stood);
    assert!(clinic.free_times(2, 1).await.contains(&"10:00".to_owned()));

    clinic.sync().await;
    assert_eq!(clinic.appointment(id).note.as_deref(), Some("allergic to latex"));
    clinic.engine.reschedule(LOCATION, AppointmentId(id), to, true).await.unwrap();
    clinic.idle().await;
    let moved = check_in_ehr(clinic, &clinic.appointment(id), to).await;
    assert_eq!(moved["comment"], "allergic to latex");
}

async fn staff_move_it(clinic: &Clinic, id: u64) {
    let to = clinic.place(0, 2, NINE);
    let mut theirs = clinic.in_ehr(&clinic.appointment(id)).await;
    theirs["start"] = json!(instant(to.span.start));
    theirs["end"] = json!(instant(to.span.end));
    let stays = |p: &&Value| p["actor"]["reference"].as_str().unwrap().starts_with("Patient/");
    let patient = theirs["participant"].as_array().unwrap().iter().find(stays).unwrap().clone();
    let actor = |reference: String| json!({"actor": {"reference": reference}, "status": "accepted"});
    let (provider, room) = (&clinic.seeded.practitioners[0], &clinic.seeded.rooms[0]);
    theirs["participant"] =
        json!([patient, actor(format!("Practitioner/{provider}")), actor(format!("Location/{room}"))]);
    clinic.server.update(&theirs).await;
    clinic.sync().await;
    assert_eq!(clinic.appointment(id).placement, to);
    assert!(clinic.free_times(2, 1).await.contains(&"10:00".to_owned()));
    assert!(!clinic.free_times(0, 2).await.contains(&"09:00".to_owned()));
}

async fn we_cancel_it_and_the_patient_books_again(clinic: &Clinic, id: u64) {
    let place = clinic.appointment(id).placement;
    let reason = Some("feels better already".to_owned());
    assert!(!clinic.engine.cancel(LOCATION, AppointmentId(id), reason).await.unwrap());
    assert!(clinic.engine.cancel(LOCATION, AppointmentId(id), None).await.unwrap(), "cancelled before");
    clinic.idle().await;
    let off = clinic.in_ehr(&clinic.appointment(id)).await;
    assert_eq!(
        (&off["status"], &off["cancelationReason"]["text"]),
        (&json!("cancelled"), &json!("feels better already"))
    );
    assert!(clinic.appointment(id).cancelled);

    let again = clinic.book(place, "story-2", &zoe(), "after all").await.unwrap();
    let again = clinic.written(again.appointment.id).await;
    assert_ne!(again.id, id);
    assert_eq!(again.patient_id, clinic.appointment(id).patient_id, "the same person");
    check_in_ehr(clinic, &again, place).await;
    once_each(clinic, 1, 2).await;
    clinic.sync().await;
    assert!(clinic.appointment(id).cancelled && !clinic.appointment(again.id).cancelled);
}

async fn staff_cancel_and_book(clinic: &Clinic) {
    let booked = clinic.book(clinic.place(0, 2, TEN), "story-3", &zoe(), "one more").await.unwrap();
    let record = clinic.written(booked.appointment.id).await;
    let mut off = clinic.in_ehr(&record).await;
    off["status"] = json!("cancelled");
    clinic.server.update(&off).await;
    let theirs = json!({
        "resourceType": "Appointment", "status": "booked", "comment": "by telephone",
        "start": instant(clinic.at(2, NINE)), "end": instant(clinic.at(2, TEN)),
        "participant": [
            {"actor": {"reference": format!("Patient/{}", clinic.seeded.patients[4])}, "status": "accepted"},
            {"actor": {"reference": format!("Practitioner/{}", clinic.seeded.practitioners[1])}, "status": "accepted"},
            {"actor": {"reference": format!("Location/{}", clinic.seeded.rooms[1])}, "status": "accepted"},
        ],
    });
    let theirs = clinic.server.create(&theirs).await["id"].as_str().unwrap().to_owned();
    clinic.sync().await;
    let ours = clinic.appointment(record.id);
    assert!(ours.cancelled, "staff cancelled it");
    assert!(clinic.free_times(0, 2).await.contains(&"10:00".to_owned()));
    let seen = clinic.seen(&theirs).unwrap();
    assert_eq!((seen.placement.span.start, seen.placement.span.end), (clinic.at(2, NINE), clinic.at(2, TEN)));
    assert!(seen.booking.is_none() && seen.note.as_deref() == Some("by telephone"));
    let free = clinic.free_times(1, 2).await;
    assert!(!free.contains(&"09:00".to_owned()) && !free.contains(&"09:30".to_owned()));
}

#[actix::test]
async fn names_of_every_kind_of_letter_arrive_as_they_are() {
    let Some(clinic) = Clinic::open().await else { return };
    let names = [
        ("Łucja", "Żółć-Ŵïllîăms"),
        ("Þórður", "Ægisson"),
        ("D’Angelo", "O'Neill \"Mac\" & <Sons> \\ 50%"),
        ("محمد", "الحسين"),
        ("רחל", "כהן"),
        ("秀英", "歐陽"),
        ("すずき", "ヴァレンティナ"),
        ("김", "서연"),
        ("Ольга", "Щербакова"),
        ("Αλεξάνδρα", "Παπαδοπούλου"),
        ("ठाकुर", "लक्ष्मी"),
        ("Zoe\u{308}", "combined A\u{30a}"),
        ("𝒥𝑜𝓎", "👩\u{200d}⚕\u{fe0f}"),
        ("İpek", "ẞ-Straße"),
    ];
    let mut booked = Vec::new();
    for (n, (first, last)) in names.into_iter().enumerate() {
        let slot = clinic.free(n % 3, 1).await[0];
        let place = Placement { operatory: slot.operatory, provider: Some(slot.provider), span: slot.span };
        let note = format!("{last}, {first}; a?b=c|d,e$f+g");
        let person = visitor(first, last, &format!("555-020-{n:04}"));
        let id = clinic.book(place, &format!("name-{n}"), &person, &note).await.unwrap().appointment.id;
        booked.push((id, first, last, note));
    }
    for (id, first, last, note) in &booked {
        let record = clinic.written(*id).await;
        let appointment = check_in_ehr(&clinic, &record, record.placement).await;
        assert_eq!(appointment["comment"], **note);
        let name = json!([{"use": "official", "family": last, "given": [first]}]);
        assert_eq!(patient_of(&clinic, &record).await["name"], name);
    }
    once_each(&clinic, names.len(), names.len()).await;
    clinic.sync().await;
    assert_eq!(clinic.patients().len(), 6 + names.len());
    for (id, first, last, note) in &booked {
        let record = clinic.appointment(*id);
        assert_eq!(record.note.as_ref(), Some(note));
        let patient = clinic.engine.patient(INSTITUTION, record.patient_id.unwrap()).unwrap().unwrap();
        assert_eq!((patient.first_name.as_str(), patient.last_name.as_str()), (*first, *last));
    }
    clinic.engine.stop().await;
}

#[actix::test]
async fn whatever_request_or_reply_is_lost_all_is_written_once() {
    let Some(clinic) = Clinic::open().await else { return };
    let mut booked = Vec::new();
    // A booking writes the patient, the slot and the appointment.
    for (n, (fault, position)) in losses(3).into_iter().enumerate() {
        let place = clinic.place(0, 1, NINE + 30 * i64::try_from(n).unwrap());
        let person = visitor("Lost", &format!("Of {fault} {position}"), &format!("555-030-{n:04}"));
        clinic.server.fault(fault, position).await;
        let id = clinic.book(place, &format!("lost-{n}"), &person, "lost").await.unwrap().appointment.id;
        let record = clinic.written(id).await;
        nothing_more_is_lost(&clinic).await;
        check_in_ehr(&clinic, &record, place).await;
        once_each(&clinic, n + 1, n + 1).await;
        booked.push(id);
    }
    // A move writes the new slot, the old slot and the appointment.
    let mut stands = slot_of(&clinic.in_ehr(&clinic.appointment(booked[0])).await);
    for (n, (fault, position)) in losses(3).into_iter().enumerate() {
        let to = clinic.place(1 + n % 2, 2, NINE);
        clinic.server.fault(fault, position).await;
        clinic.engine.reschedule(LOCATION, AppointmentId(booked[0]), to, true).await.unwrap();
        clinic.idle().await;
        nothing_more_is_lost(&clinic).await;
        assert_eq!(clinic.appointment(booked[0]).placement, to);
        let moved = check_in_ehr(&clinic, &clinic.appointment(booked[0]), to).await;
        assert_eq!(clinic.server.read("Slot", &stands).await["status"], "free", "{fault} {position}");
        stands = slot_of(&moved);
    }
    // A cancellation writes the slot and the appointment.
    for ((fault, position), id) in losses(2).into_iter().zip(&booked) {
        let slot = slot_of(&clinic.in_ehr(&clinic.appointment(*id)).await);
        clinic.server.fault(fault, position).await;
        clinic.engine.cancel(LOCATION, AppointmentId(*id), None).await.unwrap();
        clinic.idle().await;
        nothing_more_is_lost(&clinic).await;
        assert!(clinic.appointment(*id).cancelled);
        assert_eq!(clinic.in_ehr(&clinic.appointment(*id)).await["status"], "cancelled", "{fault} {position}");
        assert_eq!(clinic.server.read("Slot", &slot).await["status"], "free", "{fault} {position}");
    }
    let bookings = booked.len();
    once_each(&clinic, bookings, bookings).await;
    clinic.sync().await;
    assert_eq!(clinic.appointments().len(), 5 + bookings, "each was known by its write key");
    clinic.engine.stop().await;
}

/// Each fault of the server at each of so many writes.
fn losses(writes: u32) -> Vec<(&'static str, u32)> {
    ["drop_reply", "drop_request"].into_iter().flat_map(|fault| (1..=writes).map(move |n| (fault, n))).collect()
}

#[actix::test]
async fn a_server_that_is_down_and_an_engine_that_restarts_delay_a_booking_and_no_more() {
    let Some(mut clinic) = Clinic::open().await else { return };
    clinic.door.shut().await;
    let mut requests = Vec::new();
    for n in 0..3 {
        let person = visitor("Waits", &format!("For {n}"), &format!("555-040-{n:04}"));
        let request = clinic.request(clinic.place(n, 1, NINE), &format!("down-{n}"), &person, "down");
        let booked = clinic.engine.book(request.clone()).await.unwrap().appointment;
        requests.push((request, booked.id));
    }
    let parked = async || {
        let state = clinic.engine.sync_state(LOCATION).await.unwrap();
        (!state.write_ok).then_some((state.write_reason.unwrap(), state.queued))
    };
    let (reason, queued) = until("the circuit breaker", parked).await;
    assert!(reason.contains("failed several writes"), "{reason}");
    assert_eq!(queued, 6, "three patients and three appointments");
    clinic.engine.sync_now(LOCATION).await.unwrap();
    let unread = async || clinic.engine.sync_state(LOCATION).await.unwrap().read_reason;
    until("a read cycle that fails", unread).await;

    let mut clinic = clinic.restart().await;
    assert_eq!(clinic.engine.sync_state(LOCATION).await.unwrap().queued, 6);
    for (request, id) in &requests {
        let again = clinic.engine.book(request.clone()).await.unwrap();
        assert_eq!((again.replay, again.appointment.id), (true, *id));
        assert_eq!(again.appointment.booking.unwrap().writeback, Writeback::Pending);
    }
    once_each(&clinic, 0, 0).await;

    clinic.door.open().await;
    for (request, id) in &requests {
        let record = clinic.written(*id).await;
        check_in_ehr(&clinic, &record, clinic.appointment(*id).placement).await;
        assert_eq!(record.placement.span, request.offer.span);
    }
    let recovered = async || {
        let state = clinic.engine.sync_state(LOCATION).await.unwrap();
        (state.write_ok && state.read_ok && state.queued == 0).then_some(())
    };
    until("reading and writing go on", recovered).await;
    once_each(&clinic, 3, 3).await;
    clinic.engine.stop().await;
}

#[actix::test]
async fn an_engine_that_stops_in_the_middle_of_a_booking_goes_on_with_it() {
    let Some(mut clinic) = Clinic::open().await else { return };
    // Before the first write, between the writes, and about after the last one.
    for (n, pause) in [0, 60, 150].into_iter().enumerate() {
        let place = clinic.place(n, 1, TEN);
        let person = visitor("Stopped", &format!("After {pause}"), &format!("555-050-{n:04}"));
        let id = clinic.book(place, &format!("stop-{n}"), &person, "stopped").await.unwrap().appointment.id;
        tokio::time::sleep(Duration::from_millis(pause)).await;
        clinic = clinic.restart().await;
        let record = clinic.written(id).await;
        check_in_ehr(&clinic, &record, place).await;
        once_each(&clinic, n + 1, n + 1).await;
    }
    clinic.engine.stop().await;
}

async fn nothing_more_is_lost(clinic: &Clinic) {
    let faults = clinic.server.faults().await;
    assert_eq!((faults.drop_reply, faults.drop_request), (0, 0), "the fault was met");
}

/// The EHR has so many patients and appointments from us, each write once.
async fn once_each(clinic: &Clinic, patients: usize, appointments: usize) {
    for (resource_type, expected) in [("Patient", patients), ("Appointment", appointments)] {
        let ours = clinic.ours(resource_type).await;
        let keys: BTreeSet<_> = ours.iter().filter_map(clinic::key_of).collect();
        assert_eq!((ours.len(), keys.len()), (expected, expected), "{resource_type}: {ours:#?}");
    }
}

/// The appointment as the EHR has it: made by us, at this place and time, with its slot taken.
async fn check_in_ehr(clinic: &Clinic, record: &records::Appointment, place: Placement) -> Value {
    let there = clinic.in_ehr(record).await;
    let key = clinic::key_of(&there).unwrap();
    assert!(key.starts_with(&format!("ps-{LOCATION}-")), "{key}");
    let token = format!("{}|{key}", clinic::KEYS);
    assert_eq!(clinic.server.search("Appointment", &[("identifier", &token)]).await, std::slice::from_ref(&there));
    let time = |field: &str| DateTime::parse_from_rfc3339(there[field].as_str().unwrap()).unwrap().timestamp_millis();
    assert_eq!((time("start"), time("end")), (place.span.start.0, place.span.end.0));
    let room = (0..3).find(|room| Some(clinic.operatory(*room)) == place.operatory).unwrap();
    let patient = patient_of(clinic, record).await;
    let participants = there["participant"].as_array().unwrap();
    let actors: BTreeSet<_> = participants.iter().map(|p| p["actor"]["reference"].as_str().unwrap()).collect();
    let expected = [
        format!("Patient/{}", patient["id"].as_str().unwrap()),
        format!("Practitioner/{}", clinic.seeded.practitioners[room]),
        format!("Location/{}", clinic.seeded.rooms[room]),
    ];
    assert_eq!((actors, participants.len()), (expected.iter().map(String::as_str).collect(), 3));
    let slot = clinic.server.read("Slot", &slot_of(&there)).await;
    assert_eq!((&slot["status"], time("start")), (&json!("busy"), place.span.start.0));
    there
}

/// The patient of an appointment as the EHR has it.
async fn patient_of(clinic: &Clinic, record: &records::Appointment) -> Value {
    let patient = clinic.engine.patient(INSTITUTION, record.patient_id.unwrap()).unwrap().unwrap();
    clinic.server.read("Patient", &patient.foreign_id.unwrap()).await
}

/// The id of an appointment's one slot.
fn slot_of(appointment: &Value) -> String {
    let slots = appointment["slot"].as_array().unwrap();
    assert_eq!(slots.len(), 1);
    slots[0]["reference"].as_str().unwrap().strip_prefix("Slot/").unwrap().to_owned()
}

fn instant(at: Timestamp) -> String {
    DateTime::from_timestamp_millis(at.0).unwrap().to_rfc3339()
}

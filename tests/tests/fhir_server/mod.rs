//! The main job against third-party FHIR R4 servers: the records that the engine reads, the records that it writes,
//! and that each write happens once despite lost messages.

mod checks;
mod events;
mod faults;
mod files;
mod hospital;
mod losses;
mod tokens;
mod visits;

use checks::{check_in_ehr, once_each, patient_of, slot_of};
use chrono::DateTime;
use location::{command::Placement, ids::AppointmentId, time::Timestamp};
use processor::patients::PatientDetails;
use records::{self, Writeback};
use serde_json::{Value, json};
use setup::LocationSetup;
use tests::harness::{
    fixtures::INSTITUTION,
    in_process::{
        LOCATION,
        fhir::{CHECK_UP, FhirHarness},
        visitor,
    },
};

/// Minutes after midnight.
const NINE: i64 = 9 * 60;
const TEN: i64 = 10 * 60;

#[actix::test]
async fn booking_and_its_changes_are_visible_on_both_sides() {
    let Some(harness) = FhirHarness::open().await else { return };
    the_story(&harness).await;
    harness.engine.stop().await;
}

async fn the_story(harness: &FhirHarness) {
    assert_eq!(harness.server.status_for_strangers().await, 401, "the credentials are needed");
    the_first_pull_shows_the_practice(harness);
    slots_without_appointments_are_free(harness).await;
    let id = a_new_patient_books(harness).await;
    we_move_it(harness, id).await;
    a_change_by_staff_is_not_overwritten(harness, id).await;
    staff_move_it(harness, id).await;
    we_cancel_it_and_the_patient_books_again(harness, id).await;
    staff_cancel_it(harness).await;
    staff_book_and_close_rooms(harness).await;
}

fn the_first_pull_shows_the_practice(harness: &FhirHarness) {
    let providers = harness.providers();
    let names: Vec<_> = providers.iter().map(|provider| provider.name()).collect();
    assert_eq!(names, ["Dr. Åsa Lindqvist", "Dr. Tomasz Żółkowski", "Dr. Mai Nguyễn"]);
    assert_eq!(providers[0].npi.as_deref(), Some("1234567893"));
    assert_eq!(providers[0].foreign_id.as_ref(), Some(&harness.seeded.practitioners[0]));

    let rooms: Vec<_> = harness.operatories().into_iter().map(|room| (room.body.name, room.body.active)).collect();
    assert_eq!(rooms, ["Room 1", "Room 2", "Zimmer 3 – Prophylaxe"].map(|name| (name.to_owned(), true)));

    let types = harness.engine.appointment_types(INSTITUTION).unwrap();
    let types: Vec<_> = types.iter().map(|kind| (kind.name.as_str(), kind.minutes)).collect();
    assert_eq!(types, [("Check-up – kurz", 30)]);

    let patients = harness.patients();
    assert_eq!(patients.len(), 6);
    let of = |n: usize| patients.iter().find(|p| p.foreign_id.as_ref() == Some(&harness.seeded.patients[n])).unwrap();
    let zoe = of(0);
    assert_eq!(zoe.name(), "Zoë Ann Łopata-O’Brien");
    assert_eq!((zoe.gender.as_deref(), zoe.date_of_birth.as_deref()), (Some("Female"), Some("1990-02-28")));
    assert_eq!(zoe.cell_phone.as_deref(), Some("+1 312 555 0100"));
    assert_eq!(zoe.home_phone.as_deref(), Some("+1 312 556 0100"));
    assert_eq!(zoe.email.as_deref(), Some("patient0@mail.example"));
    assert_eq!((zoe.chart_id.as_deref(), zoe.preferred_language.as_deref()), (Some("C-0"), Some("fr")));
    assert_eq!(zoe.address.as_ref().unwrap().line1.as_deref(), Some("1 Rue de l’Été"));
    assert_eq!(zoe.provider_id, Some(harness.provider(0).0));
    assert_eq!((of(1).name(), of(2).name()), ("محمد حسين".to_owned(), "秀英 王".to_owned()));
    assert!(of(5).inactive && !zoe.inactive);
    assert_eq!(of(5).date_of_birth, None, "a month is no date of birth");

    assert_eq!(harness.appointments().len(), 5, "and none of another site");
    let seen = |name: &str| harness.seen(&harness.seeded.appointments[name]);
    let booked = seen("booked").unwrap();
    assert_eq!(booked.placement, harness.place(0, 0, NINE));
    assert_eq!((booked.patient_id, booked.note.as_deref()), (Some(zoe.id), Some("Check-up – läuft")));
    assert!(booked.confirmed && !booked.cancelled && !booked.unavailable && booked.booking.is_none());
    assert!(!seen("pending").unwrap().confirmed);
    assert!(seen("cancelled").unwrap().cancelled);
    assert!(seen("missed").unwrap().patient_missed);
    let blocked = seen("blocked").unwrap();
    assert!(blocked.unavailable && blocked.patient_id.is_none());
    assert!(seen("elsewhere").is_none());
}

async fn slots_without_appointments_are_free(harness: &FhirHarness) {
    let whole_day: Vec<String> =
        (18..34).filter(|half| !(24..26).contains(half)).map(|h| format!("{:02}:{:02}", h / 2, h % 2 * 30)).collect();
    let without = |taken: &[&str]| -> Vec<String> {
        whole_day.iter().filter(|time| !taken.contains(&time.as_str())).cloned().collect()
    };
    // The first room has a booked, a missed and a cancelled appointment; only the cancelled one leaves its time free.
    // The third room's practitioner is at another site at nine.
    assert_eq!(harness.free_times(0, 0).await, without(&["09:00", "10:30"]));
    assert_eq!(harness.free_times(1, 0).await, without(&["09:00"]));
    assert_eq!(harness.free_times(2, 0).await, without(&["09:00", "14:00", "14:30"]));
    for room in 0..3 {
        assert_eq!(harness.free_times(room, 1).await, whole_day);
    }
}

fn zoe() -> PatientDetails {
    PatientDetails { middle_name: Some("Maria".to_owned()), ..visitor("Zoë", "Ångström-D’Arc", "555-010-7788") }
}

async fn a_new_patient_books(harness: &FhirHarness) -> u64 {
    let (server, before) = (&harness.server, harness.server.faults().await.writes);
    let booked = harness.book(harness.place(0, 0, TEN), "story-1", &zoe(), "first visit ☺").await.unwrap();
    let record = harness.written(booked.appointment.id).await;
    assert_eq!(server.faults().await.writes - before, 3, "the patient, the slot, the appointment, once each");

    let patient = patient_of(harness, &record).await;
    let name = json!([{"use": "official", "family": "Ångström-D’Arc", "given": ["Zoë", "Maria"]}]);
    assert_eq!(patient["name"], name);
    assert_eq!((&patient["birthDate"], &patient["gender"]), (&json!("1985-07-14"), &json!("female")));
    let telecom = patient["telecom"].as_array().unwrap();
    assert!(telecom.contains(&json!({"system": "phone", "use": "mobile", "value": "555-010-7788"})), "{telecom:?}");
    assert!(telecom.contains(&json!({"system": "email", "value": "visitor@example.org"})), "{telecom:?}");

    let appointment = check_in_ehr(harness, &record, harness.place(0, 0, TEN)).await;
    assert_eq!((&appointment["status"], &appointment["comment"]), (&json!("booked"), &json!("first visit ☺")));
    let kind = &appointment["appointmentType"]["coding"][0];
    assert_eq!((&kind["system"], &kind["code"]), (&json!("urn:clinic:types"), &json!(CHECK_UP)));
    assert!(patient["meta"]["lastUpdated"].as_str() <= appointment["meta"]["lastUpdated"].as_str());
    once_each(harness, 1, 1).await;

    // Reading back finds the same appointment and the same patient.
    let (appointments, patients) = (harness.appointments().len(), harness.patients().len());
    harness.sync().await;
    assert_eq!((harness.appointments().len(), harness.patients().len()), (appointments, patients));
    let read = harness.appointment(record.id);
    assert!(read.confirmed && read.placement == record.placement && read.booking == record.booking);
    record.id
}

async fn we_move_it(harness: &FhirHarness, id: u64) {
    let to = harness.place(1, 1, TEN);
    let old_slot = slot_of(&harness.in_ehr(&harness.appointment(id)).await);
    harness.reschedule(id, to).await.unwrap();
    harness.idle().await;
    check_in_ehr(harness, &harness.appointment(id), to).await;
    assert_eq!(harness.server.read("Slot", &old_slot).await["status"], "free");
    assert!(harness.free_times(0, 0).await.contains(&"10:00".to_owned()));
    assert!(!harness.free_times(1, 1).await.contains(&"10:00".to_owned()));
    once_each(harness, 1, 1).await;
}

/// The change is based on the last version read. `If-Match` rejects it, and the booking keeps the EHR's placement.
async fn a_change_by_staff_is_not_overwritten(harness: &FhirHarness, id: u64) {
    let (stood, to) = (harness.place(1, 1, TEN), harness.place(2, 1, TEN));
    let mut theirs = harness.in_ehr(&harness.appointment(id)).await;
    theirs["comment"] = json!("allergic to latex");
    let theirs = harness.server.update(&theirs).await;
    harness.reschedule(id, to).await.unwrap();
    harness.idle().await;
    assert_eq!(harness.in_ehr(&harness.appointment(id)).await, theirs, "the text of staff stays");
    assert_eq!(harness.appointment(id).placement, stood);
    assert!(harness.free_times(2, 1).await.contains(&"10:00".to_owned()));

    harness.sync().await;
    assert_eq!(harness.appointment(id).note.as_deref(), Some("allergic to latex"));
    harness.reschedule(id, to).await.unwrap();
    harness.idle().await;
    let moved = check_in_ehr(harness, &harness.appointment(id), to).await;
    assert_eq!(moved["comment"], "allergic to latex");
}

async fn staff_move_it(harness: &FhirHarness, id: u64) {
    let to = harness.place(0, 2, NINE);
    let mut theirs = harness.in_ehr(&harness.appointment(id)).await;
    theirs["start"] = json!(instant(to.span.start));
    theirs["end"] = json!(instant(to.span.end));
    let stays = |p: &&Value| p["actor"]["reference"].as_str().unwrap().starts_with("Patient/");
    let patient = theirs["participant"].as_array().unwrap().iter().find(stays).unwrap().clone();
    let actor = |reference: String| json!({"actor": {"reference": reference}, "status": "accepted"});
    let (provider, room) = (&harness.seeded.practitioners[0], &harness.seeded.rooms[0]);
    theirs["participant"] =
        json!([patient, actor(format!("Practitioner/{provider}")), actor(format!("Location/{room}"))]);
    harness.server.update(&theirs).await;
    harness.sync().await;
    assert_eq!(harness.appointment(id).placement, to);
    assert!(harness.free_times(2, 1).await.contains(&"10:00".to_owned()));
    assert!(!harness.free_times(0, 2).await.contains(&"09:00".to_owned()));
}

async fn we_cancel_it_and_the_patient_books_again(harness: &FhirHarness, id: u64) {
    let place = harness.appointment(id).placement;
    let reason = Some("feels better already".to_owned());
    assert!(!harness.engine.cancel(LOCATION, AppointmentId(id), reason).await.unwrap());
    assert!(harness.engine.cancel(LOCATION, AppointmentId(id), None).await.unwrap(), "cancelled before");
    harness.idle().await;
    let off = harness.in_ehr(&harness.appointment(id)).await;
    assert_eq!(
        (&off["status"], &off["cancelationReason"]["text"]),
        (&json!("cancelled"), &json!("feels better already"))
    );
    assert!(harness.appointment(id).cancelled);

    let again = harness.book(place, "story-2", &zoe(), "after all").await.unwrap();
    let again = harness.written(again.appointment.id).await;
    assert_ne!(again.id, id);
    assert_eq!(again.patient_id, harness.appointment(id).patient_id, "the same person");
    check_in_ehr(harness, &again, place).await;
    once_each(harness, 1, 2).await;
    harness.sync().await;
    assert!(harness.appointment(id).cancelled && !harness.appointment(again.id).cancelled);
}

/// Staff cancel the appointment but do not free its slot.
async fn staff_cancel_it(harness: &FhirHarness) {
    let place = harness.place(0, 2, TEN);
    let booked = harness.book(place, "story-3", &zoe(), "one more").await.unwrap();
    let record = harness.written(booked.appointment.id).await;
    let mut off = harness.in_ehr(&record).await;
    off["status"] = json!("cancelled");
    harness.server.update(&off).await;
    harness.sync().await;
    let cancelled = harness.appointment(record.id);
    assert!(cancelled.cancelled && cancelled.booking == record.booking);
    assert!(harness.free_times(0, 2).await.contains(&"10:00".to_owned()));
    let again = harness.book(place, "story-4", &zoe(), "asked for it again").await.unwrap();
    check_in_ehr(harness, &harness.written(again.appointment.id).await, place).await;
}

async fn staff_book_and_close_rooms(harness: &FhirHarness) {
    let actor = |reference: String| json!({"actor": {"reference": reference}, "status": "accepted"});
    let theirs = json!({
        "resourceType": "Appointment", "status": "booked", "comment": "by telephone",
        "start": instant(harness.at(2, NINE)), "end": instant(harness.at(2, TEN)),
        "participant": [
            actor(format!("Patient/{}", harness.seeded.patients[4])),
            actor(format!("Practitioner/{}", harness.seeded.practitioners[1])),
            actor(format!("Location/{}", harness.seeded.rooms[1])),
        ],
    });
    let theirs = harness.server.create(&theirs).await["id"].as_str().unwrap().to_owned();
    // The staff's appointment was not read yet. The booking is accepted, and the check before the write refuses it.
    let place = harness.place(1, 2, NINE);
    let late = harness.book(place, "story-5", &zoe(), "too late").await.unwrap().appointment.id;
    harness.idle().await;
    let booking = harness.appointment(late).body.booking.unwrap();
    assert_eq!(booking.writeback, Writeback::Failed);
    assert_eq!(booking.failure_reason.as_deref(), Some("the operatory is occupied at that time"));

    let schedule = format!("Schedule/{}", harness.seeded.schedules[2]);
    for mut slot in harness.server.search("Slot", &[("schedule", &schedule)]).await {
        let starts = DateTime::parse_from_rfc3339(slot["start"].as_str().unwrap()).unwrap().timestamp_millis();
        if starts == harness.at(2, NINE).0 {
            slot["status"] = json!("busy-unavailable");
            harness.server.update(&slot).await;
        }
    }
    harness.sync().await;
    let seen = harness.seen(&theirs).unwrap();
    assert_eq!((seen.placement.span.start, seen.placement.span.end), (harness.at(2, NINE), harness.at(2, TEN)));
    assert!(seen.booking.is_none() && seen.note.as_deref() == Some("by telephone"));
    assert!(harness.patients().iter().any(|p| Some(p.id) == seen.patient_id && p.name() == "Þóra Jónsdóttir"));
    assert_eq!(harness.free_times(1, 2).await[0], "10:00");
    assert_eq!(harness.free_times(2, 2).await[0], "09:30", "hours closed by staff are not offered");
}

#[actix::test]
async fn deletions_are_read_and_small_pages_lose_no_records() {
    let whole = |place: &mut LocationSetup| {
        place.settings_mut().pull.page = 2;
        place.extras.get_or_insert_default().adapter_config.insert("whole_pass_minutes".to_owned(), "0".to_owned());
    };
    let Some(harness) = FhirHarness::open_with(whole).await else { return };
    the_first_pull_shows_the_practice(&harness);
    let ours = harness.book(harness.place(1, 0, TEN), "delete-1", &zoe(), "to be deleted").await.unwrap();
    let ours = harness.written(ours.appointment.id).await;
    let deleted = [&harness.seeded.appointments["booked"], ours.foreign_id.as_ref().unwrap()];
    for id in deleted {
        harness.server.delete("Appointment", id).await;
    }
    harness.sync().await;
    for id in deleted {
        assert!(harness.seen(id).unwrap().cancelled);
    }
    assert_eq!(harness.free_times(0, 0).await[0], "09:30", "the slot of the deleted appointment is still busy");
    let left: Vec<_> = harness.appointments().into_iter().filter(|a| !a.cancelled).collect();
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(harness.patients().iter().filter(|patient| patient.inactive).count() == 1, "no patient went");
    harness.engine.stop().await;
}

#[actix::test]
async fn names_in_any_script_arrive_unchanged() {
    let Some(harness) = FhirHarness::open().await else { return };
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
        let slot = harness.free(n % 3, 1).await[0];
        let place = Placement { operatory: slot.operatory, provider: Some(slot.provider), span: slot.span };
        let note = format!("{last}, {first}; a?b=c|d,e$f+g");
        let person = visitor(first, last, &format!("555-020-{n:04}"));
        let id = harness.book(place, &format!("name-{n}"), &person, &note).await.unwrap().appointment.id;
        booked.push((id, first, last, note));
    }
    for (id, first, last, note) in &booked {
        let record = harness.written(*id).await;
        let appointment = check_in_ehr(&harness, &record, record.placement).await;
        assert_eq!(appointment["comment"], **note);
        let name = json!([{"use": "official", "family": last, "given": [first]}]);
        assert_eq!(patient_of(&harness, &record).await["name"], name);
    }
    once_each(&harness, names.len(), names.len()).await;
    harness.sync().await;
    assert_eq!(harness.patients().len(), 6 + names.len());
    for (id, first, last, note) in &booked {
        let record = harness.appointment(*id);
        assert_eq!(record.note.as_ref(), Some(note));
        let patient = harness.engine.patient(INSTITUTION, record.patient_id.unwrap()).unwrap().unwrap();
        assert_eq!((patient.first_name.as_str(), patient.last_name.as_str()), (*first, *last));
    }
    harness.engine.stop().await;
}

fn instant(at: Timestamp) -> String {
    DateTime::from_timestamp_millis(at.0).unwrap().to_rfc3339()
}

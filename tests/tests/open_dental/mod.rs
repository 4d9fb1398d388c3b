//! The engine and its Open Dental adapter against the fake in `tests/src/harness/ehr_server/open_dental`. The fake is
//! written from public documentation and was never compared with a real Open Dental. The tests prove that the adapter
//! follows the documentation and writes once despite losses.

mod daylight;
mod events;
mod files;
mod lost;
mod refusals;
mod sdk;
mod visits;

use location::{
    ids::AppointmentId,
    time::{MINUTE, Timestamp},
};
use processor::{
    commands::{AppointmentChange, ChangeAppointment, ChangePatient, PatientChange},
    patients::PatientDetails,
};
use records::{self, Writeback};
use serde_json::json;
use tests::harness::{
    ehr_server::open_dental::{Database, OpenDentalRow},
    in_process::{LOCATION, open_dental::Harness, visitor},
};

/// Minutes after midnight.
const NINE: i64 = 9 * 60;
const TEN: i64 = 10 * 60;

#[actix::test]
async fn booking_and_its_changes_are_visible_on_both_sides() {
    let harness = Harness::open_large().await;
    the_first_pull_shows_the_practice(&harness);
    slots_without_appointments_are_free(&harness).await;
    let id = a_new_patient_books(&harness).await;
    we_move_it(&harness, id).await;
    staff_move_it(&harness, id).await;
    we_confirm_note_and_check_in(&harness, id).await;
    we_cancel_it_and_the_patient_books_again(&harness, id).await;
    staff_break_it(&harness).await;
    staff_book_and_block(&harness).await;
    assert_eq!(harness.server.database().ignored, [""; 0], "every parameter is one that its list knows");
    harness.engine.stop().await;
}

fn the_first_pull_shows_the_practice(harness: &Harness) {
    let names: Vec<_> = harness.providers().iter().map(|provider| provider.name()).collect();
    assert_eq!(names, ["Åsa Lindqvist", "Tomasz Żółkowski", "Mai Nguyễn"]);
    assert_eq!(harness.providers()[0].npi.as_deref(), Some("1234567893"));
    let rooms: Vec<_> = harness.operatories().into_iter().map(|room| (room.body.name, room.body.active)).collect();
    assert_eq!(rooms, ["Room 1", "Room 2", "Zimmer 3 – Prophylaxe"].map(|name| (name.to_owned(), true)));

    let zoe = harness.patient_by_foreign(harness.seeded.patients[0]);
    assert_eq!(zoe.name(), "Zoë Łopata-O’Brien");
    assert_eq!((zoe.gender.as_deref(), zoe.date_of_birth.as_deref()), (Some("Female"), Some("1990-02-28")));
    assert_eq!(zoe.cell_phone.as_deref(), Some("(312)555-0000"));
    assert_eq!((zoe.chart_id.as_deref(), zoe.preferred_language.as_deref()), (Some("C-0"), Some("fr")));
    assert_eq!(zoe.provider_id, Some(harness.provider(0).0));
    assert_eq!(zoe.body.address.unwrap().region.as_deref(), Some("IL"));
    let last = harness.patient_by_foreign(*harness.seeded.patients.last().unwrap());
    assert_eq!(last.last_name, "Filed 129", "the second page was read");
    assert_eq!(harness.patient_by_foreign(harness.seeded.patients[1]).guarantor_id, Some(zoe.id));
    let inactive = harness.patient_by_foreign(harness.seeded.patients[4]);
    assert!(inactive.inactive && inactive.date_of_birth.is_none());

    let booked = harness.seen(&harness.seeded.booked.to_string()).unwrap();
    assert_eq!(booked.placement, harness.place(0, 0, NINE));
    assert_eq!((booked.patient_id, booked.note.as_deref()), (Some(zoe.id), Some("Check-up läuft")));
    assert!(booked.confirmed && !booked.cancelled && !booked.unavailable && booked.booking.is_none());
    assert!(harness.seen(&harness.seeded.broken.to_string()).unwrap().cancelled);
    let blocked =
        harness.seen(&format!("blockout:{}:{}", harness.seeded.blockout, harness.seeded.operatories[1])).unwrap();
    assert!(blocked.unavailable && blocked.patient_id.is_none());
    assert_eq!((blocked.placement.span.start, blocked.note.as_deref()), (harness.at(0, 16 * 60), Some("Huddle")));
    // A scheduled and a broken appointment, and the blockout in two rooms. Planned and old appointments are not read.
    assert_eq!(harness.appointments().len(), 4);
}

async fn slots_without_appointments_are_free(harness: &Harness) {
    let half_hours = |hours: &[std::ops::Range<i64>]| -> Vec<String> {
        let halves = hours.iter().flat_map(|range| range.start * 2..range.end * 2);
        halves.map(|half| format!("{:02}:{:02}", half / 2, half % 2 * 30)).collect()
    };
    let on_grid = |times: Vec<String>| -> Vec<String> {
        times.into_iter().filter(|time| time.ends_with(":00") || time.ends_with(":30")).collect()
    };
    let morning_without_nine = on_grid(harness.free_times(0, 0).await);
    assert_eq!(morning_without_nine[0], "09:30");
    assert!(morning_without_nine.contains(&"10:00".to_owned()), "the broken one takes no time");
    assert_eq!(on_grid(harness.free_times(1, 0).await), half_hours(&[9..12, 13..16]), "less the huddle");
    assert_eq!(on_grid(harness.free_times(1, 1).await), half_hours(&[9..12, 13..17]));
    assert!(harness.free_times(1, 2).await.is_empty(), "a holiday");
}

async fn a_new_patient_books(harness: &Harness) -> u64 {
    let place = harness.place(0, 0, TEN);
    let booked = harness.book(place, "story-1", &ludmila(), "Wants the window").await.unwrap();
    assert_eq!(booked.appointment.booking.as_ref().unwrap().writeback, Writeback::Pending);
    let record = harness.written(booked.appointment.id).await;
    let row = harness.in_ehr(&record);
    assert_eq!(row["AptDateTime"], local(harness, place.span.start));
    // The pattern of the type, because the booked length equals the type's.
    assert_eq!((&row["Pattern"], &row["AptStatus"]), (&json!("/XXXX/"), &json!("Scheduled")));
    assert_eq!(row["Op"], harness.seeded.operatories[0]);
    assert_eq!(
        (&row["ProvNum"], &row["AppointmentTypeNum"]),
        (&json!(harness.seeded.providers[0]), &json!(harness.seeded.check_up))
    );
    let note = row["Note"].as_str().unwrap();
    assert!(note.starts_with(&format!("Wants the window [ref:ps-{LOCATION}-")) && note.ends_with(']'), "{note}");
    let patient = harness.row("patients", row["PatNum"].as_u64().unwrap());
    assert_eq!((&patient["FName"], &patient["LName"]), (&json!("Людмила"), &json!("Ångström")));
    assert_eq!((&patient["Birthdate"], &patient["Email"]), (&json!("1985-07-14"), &json!("visitor@example.org")));
    assert_eq!(patient["Guarantor"], patient["PatNum"]);
    once_each(harness, 1);
    // One record on both sides, with an unchanged note.
    let known = harness.appointments().len();
    harness.sync().await;
    assert_eq!(harness.appointments().len(), known);
    let seen = harness.appointment(record.id);
    assert_eq!((seen.note.as_deref(), seen.placement), (Some("Wants the window"), place));
    record.id
}

async fn we_move_it(harness: &Harness, id: u64) {
    let to = harness.place(1, 1, TEN);
    assert!(harness.reschedule(id, to).await.is_ok());
    harness.idle().await;
    let row = harness.in_ehr(&harness.appointment(id));
    assert_eq!(
        (&row["AptDateTime"], &row["Op"]),
        (&json!(local(harness, to.span.start)), &json!(harness.seeded.operatories[1]))
    );
    assert_eq!(harness.appointment(id).placement, to);
}

async fn staff_move_it(harness: &Harness, id: u64) {
    let to = harness.place(2, 1, NINE);
    let key = harness.in_ehr(&harness.appointment(id))["AptNum"].as_u64().unwrap();
    let (time, room, dentist) =
        (local(harness, to.span.start), harness.seeded.operatories[2], harness.seeded.providers[2]);
    harness.server.database().change("appointments", key, json!({"AptDateTime": time, "Op": room, "ProvNum": dentist}));
    // The staff's change was not read yet. A move based on the old place is refused, and theirs is shown after the
    // next read.
    let stale = harness.place(0, 1, 14 * 60);
    harness.reschedule(id, stale).await.unwrap();
    harness.idle().await;
    assert_eq!(harness.in_ehr(&harness.appointment(id))["AptDateTime"], time);
    harness.sync().await;
    assert_eq!(harness.appointment(id).placement, to);
}

async fn we_confirm_note_and_check_in(harness: &Harness, id: u64) {
    let arrived = harness.at(1, NINE - 7);
    for change in [
        AppointmentChange { confirmed: Some(true), ..AppointmentChange::default() },
        AppointmentChange { note: Some("Brings X-rays\nand a friend".into()), ..AppointmentChange::default() },
        AppointmentChange { checkin_at: Some(arrived), ..AppointmentChange::default() },
    ] {
        harness.save(ChangeAppointment { id: AppointmentId(id), change }).await;
        harness.idle().await;
    }
    let row = harness.in_ehr(&harness.appointment(id));
    assert_eq!(row["Confirmed"], harness.seeded.confirmed);
    assert_eq!(row["DateTimeArrived"], local(harness, arrived), "as the office keeps a time of day");
    let note = row["Note"].as_str().unwrap();
    assert!(note.starts_with("Brings X-rays\nand a friend [ref:ps-"), "{note}");
    harness.sync().await;
    let seen = harness.appointment(id);
    assert!(seen.confirmed && seen.checkin_at == Some(arrived));
    assert_eq!(seen.note.as_deref(), Some("Brings X-rays and a friend"), "line breaks come back as spaces");
}

async fn we_cancel_it_and_the_patient_books_again(harness: &Harness, id: u64) {
    let place = harness.appointment(id).placement;
    harness.engine.cancel(LOCATION, AppointmentId(id), Some("ill".to_owned())).await.unwrap();
    harness.idle().await;
    let row = harness.in_ehr(&harness.appointment(id));
    assert_eq!(row["AptStatus"], "UnschedList");
    assert!(row["Note"].as_str().unwrap().ends_with("\r\nCancelled: ill"));
    let again = harness.book(place, "story-2", &ludmila(), "again").await.unwrap();
    let again = harness.written(again.appointment.id).await;
    assert_eq!(again.patient_id, harness.appointment(id).patient_id, "the same person");
    once_each(harness, 2);
    harness.sync().await;
    assert!(harness.appointment(id).cancelled && !harness.appointment(again.id).cancelled);
}

async fn staff_break_it(harness: &Harness) {
    let place = harness.place(0, 1, TEN);
    let id = harness.book(place, "story-3", &ludmila(), "").await.unwrap().appointment.id;
    let key = harness.in_ehr(&harness.written(id).await)["AptNum"].as_u64().unwrap();
    harness.server.database().change("appointments", key, json!({"AptStatus": "Broken"}));
    harness.sync().await;
    assert!(harness.appointment(id).cancelled);
    assert!(harness.free_times(0, 1).await.contains(&"10:00".to_owned()));
}

/// The check before a write finds appointments that were not read yet.
async fn staff_book_and_block(harness: &Harness) {
    let (patient, rooms) = (harness.seeded.patients[3], harness.seeded.operatories.clone());
    let day = harness.first_day.add_days(1).to_string();
    let (theirs, blockout) = {
        let mut database: parking_lot::MutexGuard<'_, Database> = harness.server.database();
        let row = json!({"PatNum": patient, "Op": rooms[1], "ProvNum": 2, "Pattern": "XXXXXXXXXXXX",
            "AptDateTime": format!("{day} 13:00:00"), "Note": "by telephone"});
        let block = json!({"SchedDate": day, "SchedType": "Blockout", "StartTime": "15:00:00", "StopTime": "15:30:00",
            "blockoutType": "Lab", "operatories": rooms[1].to_string()});
        (database.insert("appointments", row), database.insert("schedules", block))
    };
    for (n, (minute, reason)) in
        [(13 * 60 + 30, "the operatory is occupied at that time"), (15 * 60, "the operatory is blocked at that time")]
            .into_iter()
            .enumerate()
    {
        let late = harness.book(harness.place(1, 1, minute), &format!("late-{n}"), &ludmila(), "").await.unwrap();
        harness.idle().await;
        let booking = harness.appointment(late.appointment.id).body.booking.unwrap();
        assert_eq!((booking.writeback, booking.failure_reason.as_deref()), (Writeback::Failed, Some(reason)));
    }
    harness.sync().await;
    let seen = harness.seen(&theirs.to_string()).unwrap();
    assert_eq!(seen.placement.span.end.since(seen.placement.span.start), 60 * MINUTE);
    assert!(harness.seen(&format!("blockout:{blockout}:{}", rooms[1])).is_some_and(|blocked| blocked.unavailable));
    // A blockout has no modification time. Its removal is visible after the second pass.
    harness.server.database().remove("schedules", blockout);
    harness.sync().await;
    harness.sync().await;
    assert!(harness.seen(&format!("blockout:{blockout}:{}", rooms[1])).is_none_or(|blocked| blocked.cancelled));
    assert!(harness.free_times(1, 1).await.contains(&"15:00".to_owned()));
}

#[actix::test]
async fn patients_are_changed_on_both_sides() {
    let harness = Harness::open().await;
    let key = harness.seeded.patients[0];
    let zoe = harness.patient_by_foreign(key);
    let change = PatientChange {
        last_name: Some("Łopata".into()),
        cell_phone: Some("+1 (415) 555-0199".into()),
        email: Some("zoe@new.example".into()),
        ..PatientChange::default()
    };
    harness.save(ChangePatient { id: zoe.id, change }).await;
    harness.idle().await;
    let row = harness.row("patients", key);
    assert_eq!((&row["LName"], &row["Email"]), (&json!("Łopata"), &json!("zoe@new.example")));
    assert!(row["WirelessPhone"].as_str().unwrap().contains("415"));
    assert_eq!((&row["City"], &row["PatStatus"]), (&json!("Chicago"), &json!("Patient")), "what was not changed stays");
    harness.server.database().change("patients", key, json!({"City": "Evanston", "TxtMsgOk": "No"}));
    harness.sync().await;
    let seen = harness.patient_by_foreign(key);
    assert_eq!((seen.last_name.as_str(), seen.address.as_ref().unwrap().city.as_deref()), ("Łopata", Some("Evanston")));
    assert!(seen.unsubscribed_sms);
    // An archived patient remains archived when the telephone number changes.
    let archived = harness.seeded.patients[5];
    harness.server.database().change("patients", archived, json!({"PatStatus": "Archived"}));
    harness.sync().await;
    let them = harness.patient_by_foreign(archived);
    assert!(them.inactive);
    let change = PatientChange { home_phone: Some("555-010-9999".into()), ..PatientChange::default() };
    harness.save(ChangePatient { id: them.id, change }).await;
    harness.idle().await;
    let row = harness.row("patients", archived);
    assert_eq!(row["PatStatus"], "Archived");
    assert!(row["HmPhone"].as_str().unwrap().ends_with("9999"));
    harness.engine.stop().await;
}

/// Checks the number of our appointments, and that each has its own key.
fn once_each(harness: &Harness, appointments: usize) {
    let ours = harness.ours("appointments", "Note");
    let keys: std::collections::BTreeSet<_> = ours.iter().map(|row| row["Note"].as_str().unwrap().to_owned()).collect();
    assert_eq!((ours.len(), keys.len()), (appointments, appointments), "{ours:?}");
    assert_eq!(harness.server.database().holding("patients", "LName", "Ångström").len(), 1);
}

/// Returns the only row.
fn once(rows: &[OpenDentalRow], at: &str) -> OpenDentalRow {
    assert_eq!(rows.len(), 1, "{at}: {rows:?}");
    rows[0].clone()
}

fn ludmila() -> PatientDetails {
    visitor("Людмила", "Ångström", "+1 555 020 0001")
}

fn local(harness: &Harness, at: Timestamp) -> String {
    harness.server.database().local_time(chrono::DateTime::from_timestamp_millis(at.0).unwrap())
}

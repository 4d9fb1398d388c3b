//! SEKMET, a simulated hospital from PyPI: the story of the other server, and appointments booked, moved and
//! cancelled by staff.

use serde_json::{Value, json};
use setup::LocationSetup;
use tests::harness::{ehr_server::fhir::Program, in_process::fhir::FhirHarness};

use super::{NINE, TEN, the_story, zoe};

/// Opens a hospital of which every pull reads everything, so that deletions are noticed.
async fn hospital() -> Option<FhirHarness> {
    let whole = |place: &mut LocationSetup| {
        place.extras.get_or_insert_default().adapter_config.insert("whole_pass_minutes".to_owned(), "0".to_owned());
    };
    FhirHarness::open_on(Program::Sekmet, whole, |_| ()).await
}

#[actix::test]
async fn booking_at_a_hospital_is_visible_on_both_sides() {
    let Some(harness) = hospital().await else { return };
    the_story(&harness).await;
    harness.engine.stop().await;
}

/// Returns the id of a room's slot at a time.
async fn slot(harness: &FhirHarness, room: usize, day: i32, minute: i64) -> String {
    let schedule = format!("Schedule/{}", harness.seeded.schedules[room]);
    let slots = harness.server.search("Slot", &[("schedule", &schedule)]).await;
    let start = |slot: &Value| chrono::DateTime::parse_from_rfc3339(slot["start"].as_str().unwrap()).unwrap();
    let found = slots.iter().find(|slot| start(slot).timestamp_millis() == harness.at(day, minute).0);
    found.unwrap()["id"].as_str().unwrap().to_owned()
}

/// Performs a staff action, reads the hospital, and returns the appointment's id.
async fn act(harness: &FhirHarness, workflow: &str, arguments: Value) -> String {
    let done = harness.server.staff(workflow, arguments).await;
    harness.sync().await;
    done["appointment"]["id"].as_str().unwrap().to_owned()
}

async fn book(harness: &FhirHarness, status: &str, (room, day, minute): (usize, i32, i64)) -> String {
    let arguments = json!({
        "patient": harness.seeded.patients[4], "slot": slot(harness, room, day, minute).await, "status": status,
    });
    act(harness, "scheduling.book", arguments).await
}

async fn is_free(harness: &FhirHarness, room: usize, day: i32, time: &str) -> bool {
    harness.free_times(room, day).await.iter().any(|free| free == time)
}

#[actix::test]
async fn staff_appointments_block_and_release_their_times() {
    let Some(harness) = hospital().await else { return };
    let booked = book(&harness, "booked", (0, 1, NINE)).await;
    let seen = harness.seen(&booked).unwrap();
    assert_eq!(seen.placement, harness.place(0, 1, NINE));
    assert!(seen.confirmed && seen.booking.is_none() && !is_free(&harness, 0, 1, "09:00").await);

    // Staff move an appointment by creating a new one and cancelling the old one.
    let to = slot(&harness, 1, 1, TEN).await;
    let moved = act(&harness, "scheduling.reschedule", json!({"appointment": booked, "slot": to})).await;
    assert!(harness.seen(&booked).unwrap().cancelled && is_free(&harness, 0, 1, "09:00").await);
    assert_eq!(harness.seen(&moved).unwrap().placement, harness.place(1, 1, TEN));
    assert!(!is_free(&harness, 1, 1, "10:00").await);
    act(&harness, "scheduling.cancel", json!({"appointment": moved})).await;
    assert!(harness.seen(&moved).unwrap().cancelled && is_free(&harness, 1, 1, "10:00").await);

    // A proposed appointment blocks its time although its slot is free; a declined one releases the time.
    let proposed = book(&harness, "proposed", (2, 1, NINE)).await;
    assert!(!harness.seen(&proposed).unwrap().confirmed && !is_free(&harness, 2, 1, "09:00").await);
    let declines = json!({"appointment": proposed, "participant_status": "declined"});
    act(&harness, "scheduling.respond", declines).await;
    assert!(harness.seen(&proposed).unwrap().cancelled && is_free(&harness, 2, 1, "09:00").await);

    // A fulfilled appointment still blocks its time.
    let visit = book(&harness, "booked", (2, 1, TEN)).await;
    act(&harness, "scheduling.check_in", json!({"appointment": visit})).await;
    assert!(!harness.seen(&visit).unwrap().cancelled);
    act(&harness, "scheduling.complete", json!({"appointment": visit})).await;
    assert!(!harness.seen(&visit).unwrap().cancelled && !is_free(&harness, 2, 1, "10:00").await);

    // A deletion releases the time once the slot is free.
    let deleted = book(&harness, "proposed", (0, 2, NINE)).await;
    harness.server.delete("Appointment", &deleted).await;
    harness.sync().await;
    assert!(harness.seen(&deleted).unwrap().cancelled && is_free(&harness, 0, 2, "09:00").await);
    harness.engine.stop().await;
}

#[actix::test]
async fn staff_of_a_hospital_move_and_cancel_our_bookings() {
    let Some(harness) = hospital().await else { return };
    let ours = harness.book(harness.place(0, 1, TEN), "ours", &zoe(), "first visit").await.unwrap();
    let ours = harness.written(ours.appointment.id).await;
    let id = ours.foreign_id.clone().unwrap();
    let to = slot(&harness, 1, 1, NINE).await;
    let moved = act(&harness, "scheduling.reschedule", json!({"appointment": id, "slot": to})).await;
    let ended = harness.appointment(ours.id);
    assert!(ended.cancelled && ended.booking == ours.booking && is_free(&harness, 0, 1, "10:00").await);
    let new = harness.seen(&moved).unwrap();
    assert_eq!((new.placement, new.patient_id), (harness.place(1, 1, NINE), ours.patient_id));

    // A booking at a time that staff took after the last read is refused before the write.
    let taken = slot(&harness, 2, 1, NINE).await;
    let arguments = json!({"patient": harness.seeded.patients[4], "slot": taken, "status": "booked"});
    harness.server.staff("scheduling.book", arguments).await;
    let late = harness.book(harness.place(2, 1, NINE), "late", &zoe(), "too late").await.unwrap().appointment.id;
    harness.idle().await;
    let failure = harness.appointment(late).body.booking.unwrap().failure_reason;
    assert_eq!(failure.as_deref(), Some("the operatory is occupied at that time"));
    harness.engine.stop().await;
}

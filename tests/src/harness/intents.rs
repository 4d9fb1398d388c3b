//! The booking intents after the booking, as a client sends them, and the visits that they leave in the simulated EHR.

use std::{collections::BTreeMap, io};

use sandbox_ehr::{
    Control,
    records::{Appointment, Record, Resource, Status},
};
use serde_json::{Value, json};
use testing::until;

use crate::harness::{
    ehr_server::EhrServer,
    http_client::Caller,
    process::{SUBDOMAIN, booking, path},
};

pub const BOOK: &str = "/intent/booking/book";
pub const FIND: &str = "/intent/booking/find";
pub const CONFIRM: &str = "/intent/booking/confirm";
pub const RESCHEDULE: &str = "/intent/booking/reschedule";
pub const CANCEL: &str = "/intent/booking/cancel";
/// Period of all appointments in these tests.
const EVER: &str = "start=2000-01-01T00:00:00Z&end=2100-01-01T00:00:00Z";

/// Returns a request that moves a booking to another slot.
pub fn reschedule(booking_ref: &str, slot_token: &str, idempotency_key: &str) -> Value {
    json!({"booking_ref": booking_ref, "slot_token": slot_token, "idempotency_key": idempotency_key})
}

/// Returns a group booking. Its members are consecutive persons, and [`member_note`] is the note of each booking.
pub fn group(slot_tokens: &[&str], idempotency_key: &str, first_person: u64) -> Value {
    let member = |(index, slot_token): (usize, &&str)| {
        let single = booking(slot_token, idempotency_key, first_person + index as u64, "");
        json!({"slot_token": slot_token, "patient": single["patient"], "note": member_note(idempotency_key, index)})
    };
    let bookings: Vec<Value> = slot_tokens.iter().enumerate().map(member).collect();
    json!({"idempotency_key": idempotency_key, "bookings": bookings})
}

/// Returns the note of a group's member.
pub fn member_note(idempotency_key: &str, index: usize) -> String {
    format!("{idempotency_key}/{index}")
}

/// Returns a request that finds the visits of a patient of [`booking`].
pub fn find(patient: &Value) -> Value {
    let known = json!({"last_name": patient["last_name"], "date_of_birth": patient["date_of_birth"],
        "phone_number": patient["phone_number"]});
    json!({ "patient": known })
}

/// Returns the booking as `GET /intent/booking/status` shows it.
pub async fn status(caller: &mut Caller, booking_ref: &str) -> io::Result<(u16, Value)> {
    caller.get(&format!("/intent/booking/status?subdomain={SUBDOMAIN}&booking_ref={booking_ref}")).await
}

/// Waits until no write of the booking is pending, and returns the booking.
pub async fn settled(caller: &mut Caller, booking_ref: &str) -> Value {
    until(&format!("the last write of {booking_ref}"), async || {
        let (code, answer) = status(caller, booking_ref).await.expect("the product answers");
        let made = &answer["booking"];
        let cancelled = made["booking_status"] == "cancelled";
        let last = if cancelled { &made["cancellation_writeback"] } else { &made["ehr_writeback"] };
        // A process that has just started answers with 503 until it knows its EHR.
        let moving = !cancelled && made["reschedule"]["status"] == "pending";
        let pending = code != 200 || last == "pending" || moving;
        if pending { Err(answer) } else { Ok(made.clone()) }
    })
    .await
}

/// Returns the live appointments of a location's calendar whose notes start with a prefix, by note.
pub async fn in_calendar(caller: &mut Caller, location: u32, prefix: &str) -> BTreeMap<String, Vec<Value>> {
    let list = format!("{}&{EVER}&cancelled=false&unavailable=false&per_page=1000", path("/appointments", location));
    let (code, answer) = caller.get(&list).await.expect("the product answers");
    assert_eq!(code, 200, "{answer}");
    let rows = answer["data"].as_array().expect("a list");
    assert!(rows.len() < 1_000, "the list has more than one page");
    let mut by_note: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for row in rows {
        if let Some(note) = row["note"].as_str().filter(|note| note.starts_with(prefix)) {
            by_note.entry(note.to_owned()).or_default().push(row.clone());
        }
    }
    by_note
}

/// Returns the live appointments of the EHR whose notes start with a prefix, by note.
pub fn in_ehr(ehr: &EhrServer, prefix: &str) -> BTreeMap<String, Vec<Appointment>> {
    let mut by_note: BTreeMap<String, Vec<Appointment>> = BTreeMap::new();
    for record in ehr.ehr().records(Resource::Appointments) {
        let Record::Appointment(appointment) = record else { continue };
        let live = appointment.status != Status::Cancelled;
        if let Some(note) = appointment.note.as_ref().filter(|note| live && note.starts_with(prefix)) {
            by_note.entry(note.clone()).or_default().push(appointment.clone());
        }
    }
    by_note
}

/// Takes the capability to move appointments from the EHR.
pub fn refuse_moves(ehr: &EhrServer) {
    let switches = json!({"unsupported": ["move_appointment"]});
    let switches = switches.as_object().cloned().expect("an object");
    ehr.ehr().control(Control::Switch(switches)).expect("the EHR has this switch");
}

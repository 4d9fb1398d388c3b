//! Writes of appointments. The API accepts double bookings and has no idempotency keys. A booking first looks for its
//! write key and for other appointments in the operatory, and checks the operatory again afterwards.

use adapter_sdk::{
    AppointmentChange, Fault, Receipt, clock,
    notes::{Note, same_text},
    records::Appointment as Wanted,
    spans::overlap,
    warn,
};
use serde_json::json;

use crate::{
    client::{self, Client},
    hours, map, pattern, requests,
    responses::Appointment,
    values::{self, NOTES},
};

const PATH: &str = "/appointments";
const OCCUPIED: &str = "the operatory is occupied at that time";

pub fn create(client: &Client, key: &str, change: &AppointmentChange) -> Result<Receipt, Fault> {
    let a = &change.appointment;
    let signs = written_as(a)?;
    look_before(client, a, None)?;
    let kind = a.appointment_type.as_deref().map(|id| client.appointment_type(id)).transpose()?.flatten();
    let pattern = pattern::resized(kind.as_ref().map_or("", |kind| &kind.pattern), signs);
    let confirmed = if a.confirmed { client.confirmed_status()? } else { None };
    let body = requests::new_appointment(&client.settings, key, a, pattern, confirmed)?;
    let answer = client.post(PATH, &body)?;
    let made = client::receipt(&answer, "AptNum", || find(client, key, change))?;
    if let Some(other) = taken_meanwhile(client, a, &made.id) {
        // The other appointment stays, whichever was first; ours can be offered another time.
        match client.put(&path(&made.id, "/Break"), &requests::broken(&client.settings)) {
            Ok(_) => return Err(Fault::rejected(OCCUPIED)),
            Err(fault) => warn!("appointments {} and {other} overlap in one operatory: {fault:?}", made.id),
        }
    }
    Ok(Receipt { version: read(client, &made.id).ok().flatten().map(|row| map::version(&row)), ..made })
}

pub fn reschedule(client: &Client, _: &str, change: &AppointmentChange) -> Result<Receipt, Fault> {
    let a = &change.appointment;
    let row = existing(client, a)?;
    if is_scheduled(client, &row, change) {
        return Ok(receipt(&row));
    }
    if row.apt_status.0 != "Scheduled" {
        return Err(Fault::rejected(format!("the appointment is {} in Open Dental", row.apt_status.0)));
    }
    if a.version.as_ref().is_some_and(|version| *version != map::version(&row)) {
        return Err(Fault::rejected("the appointment was moved in Open Dental since it was read"));
    }
    let signs = written_as(a)?;
    look_before(client, a, Some(&a.id))?;
    client.put(&path(&a.id, ""), &requests::moved(&row, a, signs))?;
    if let Some(other) = taken_meanwhile(client, a, &a.id) {
        match client.put(&path(&a.id, ""), &requests::moved_back(&row)) {
            Ok(_) => return Err(Fault::rejected(OCCUPIED)),
            Err(fault) => warn!("appointments {} and {other} overlap in one operatory: {fault:?}", a.id),
        }
    }
    Ok(read(client, &a.id).ok().flatten().map_or_else(|| Receipt::new(&a.id), |row| receipt(&row)))
}

/// Cancels an appointment. One that is already off the schedule counts as cancelled by this write.
pub fn cancel(client: &Client, _: &str, change: &AppointmentChange) -> Result<Receipt, Fault> {
    let (a, reason) = (&change.appointment, change.reason.as_deref());
    let Some(row) = read(client, &a.id)? else { return Ok(Receipt::new(&a.id)) };
    if map::is_off_schedule(&row) {
        return Ok(receipt(&row));
    }
    if row.apt_status.0 == "Complete" {
        return Err(Fault::rejected("the appointment is Complete in Open Dental"));
    }
    if let Some(reason) = reason.map(str::trim).filter(|reason| !reason.is_empty()) {
        let line = format!("{}{reason}", map::CANCELLED);
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        // The note is appended, so a second write would repeat the line.
        if !words(&row.note).contains(&words(&line)) {
            client.put(&path(&a.id, "/Note"), &json!({"Note": line}))?;
        }
    }
    client.put(&path(&a.id, "/Break"), &requests::broken(&client.settings))?;
    Ok(Receipt::new(&a.id))
}

pub fn confirm(client: &Client, _: &str, change: &AppointmentChange) -> Result<Receipt, Fault> {
    let a = &change.appointment;
    let row = on_schedule(client, a)?;
    if !is_confirmed(client, &row, change) {
        let status = if a.confirmed { Some(client.confirmed_status()?.ok_or_else(no_status)?) } else { None };
        client.put(&path(&a.id, "/Confirm"), &requests::confirmation(status))?;
    }
    Ok(receipt(&row))
}

fn no_status() -> Fault {
    Fault::rejected("Open Dental has no confirmation status of a name in the setting `confirmed`")
}

pub fn check_in(client: &Client, _: &str, change: &AppointmentChange) -> Result<Receipt, Fault> {
    let a = &change.appointment;
    let row = on_schedule(client, a)?;
    let at = a.checkin_at.unwrap_or_else(clock::now);
    if !has_arrived(client, &row, change) {
        client.put(&path(&a.id, ""), &requests::arrival(&row, at)?)?;
    }
    Ok(receipt(&row))
}

/// Writes the note as a whole, because a retry of an appended note would repeat it.
pub fn note(client: &Client, _: &str, change: &AppointmentChange) -> Result<Receipt, Fault> {
    let a = &change.appointment;
    let row = existing(client, a)?;
    if !is_noted(client, &row, change) {
        let note = Note { text: a.note.as_deref().map(|text| text.trim().to_owned()), ..values::note(&row.note) };
        client.put(&path(&a.id, ""), &json!({"Note": NOTES.written(&note)}))?;
    }
    Ok(receipt(&row))
}

/// Returns the patient's appointment with this write key, even after it was moved.
pub fn find(client: &Client, key: &str, change: &AppointmentChange) -> Result<Option<Receipt>, Fault> {
    let Some(patient) = &change.appointment.patient else { return Ok(None) };
    let rows: Vec<Appointment> = client.all(PATH, &[("PatNum", patient.clone())])?;
    let ours: Vec<&Appointment> = rows.iter().filter(|row| NOTES.carries(&row.note, key)).collect();
    if ours.len() > 1 {
        warn!("{} appointments carry one write key", ours.len());
    }
    Ok(ours.first().map(|row| receipt(row)))
}

/// Returns a receipt if the appointment has the wanted state. Changes carry no key.
pub fn is_applied(
    client: &Client,
    change: &AppointmentChange,
    is_applied: fn(&Client, &Appointment, &AppointmentChange) -> bool,
) -> Result<Option<Receipt>, Fault> {
    let row = read(client, &change.appointment.id)?;
    Ok(row.filter(|row| is_applied(client, row, change)).map(|row| receipt(&row)))
}

pub fn is_scheduled(client: &Client, row: &Appointment, change: &AppointmentChange) -> bool {
    map::visit(client, row).is_ok_and(|held| held.is_some_and(|held| change.is_scheduled(&held)))
}

pub fn is_confirmed(client: &Client, row: &Appointment, change: &AppointmentChange) -> bool {
    map::is_confirmed(client, row) == change.appointment.confirmed
}

pub fn has_arrived(_: &Client, row: &Appointment, change: &AppointmentChange) -> bool {
    map::arrived(row).is_ok_and(|checkin_at| change.has_arrived(&Wanted { checkin_at, ..Wanted::default() }))
}

pub fn is_noted(_: &Client, row: &Appointment, change: &AppointmentChange) -> bool {
    same_text(values::note(&row.note).text.as_deref(), change.appointment.note.as_deref())
}

pub fn is_off_schedule(_: &Client, row: &Appointment, _: &AppointmentChange) -> bool {
    map::is_off_schedule(row)
}

/// Returns the number of signs of the pattern, or an error for a time that the API cannot represent.
fn written_as(a: &Wanted) -> Result<usize, Fault> {
    if clock::is_repeated(a.start) {
        return Err(Fault::rejected(
            "the office's clocks show this time twice: Open Dental would take it for the first",
        ));
    }
    pattern::length(a.start, a.end).map_err(Fault::rejected)
}

fn look_before(client: &Client, a: &Wanted, own: Option<&str>) -> Result<(), Fault> {
    let Some(operatory) = &a.operatory else { return Ok(()) };
    if others(client, a, operatory, own)?.is_some() {
        return Err(Fault::rejected(OCCUPIED));
    }
    if hours::is_blocked(client, operatory, a.start, a.end)? {
        return Err(Fault::rejected("the operatory is blocked at that time"));
    }
    Ok(())
}

/// Returns another appointment created between the check and the write. A failed check is ignored, because the write is
/// done.
fn taken_meanwhile(client: &Client, a: &Wanted, own: &str) -> Option<String> {
    others(client, a, a.operatory.as_deref()?, Some(own)).unwrap_or_else(|fault| {
        warn!("the check after a write failed: {fault:?}");
        None
    })
}

/// Returns another appointment in the operatory at that time. An unreadable one is assumed to overlap if it can.
fn others(client: &Client, a: &Wanted, operatory: &str, own: Option<&str>) -> Result<Option<String>, Fault> {
    let (from, to) = (clock::date(a.start - pattern::LONGEST), clock::date(a.end - 1));
    let query = [("dateStart", from), ("dateEnd", to), ("Op", operatory.to_owned())];
    let rows: Vec<Appointment> = client.all(PATH, &query)?;
    let counts = |row: &&Appointment| matches!(row.apt_status.as_str(), "Scheduled" | "Complete" | "ASAP");
    for row in rows.iter().filter(counts) {
        let id = row.apt_num.id().filter(|id| Some(id.as_str()) != own);
        let overlaps = |span| overlap(span, (a.start, a.end));
        match (id, map::span(row)) {
            (Some(id), Ok(span)) if span.is_some_and(overlaps) => return Ok(Some(id)),
            (Some(_), Err(_)) if map::widest_span(row).is_none_or(overlaps) => {
                return Err(Fault::rejected("an appointment of the operatory cannot be read"));
            }
            _ => (),
        }
    }
    Ok(None)
}

fn on_schedule(client: &Client, a: &Wanted) -> Result<Appointment, Fault> {
    let row = existing(client, a)?;
    if map::is_off_schedule(&row) {
        Err(Fault::rejected("the appointment is cancelled in Open Dental"))
    } else {
        Ok(row)
    }
}

fn existing(client: &Client, a: &Wanted) -> Result<Appointment, Fault> {
    read(client, &a.id)?.ok_or_else(|| Fault::rejected("Open Dental no longer has the appointment"))
}

fn read(client: &Client, id: &str) -> Result<Option<Appointment>, Fault> {
    client.one(PATH, id)
}

fn receipt(row: &Appointment) -> Receipt {
    Receipt { id: row.apt_num.to_string(), version: Some(map::version(row)) }
}

fn path(id: &str, verb: &str) -> String {
    format!("{}{verb}", client::record(PATH, id))
}

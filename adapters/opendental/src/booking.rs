//! Writing appointments. The API neither refuses a double booking nor knows idempotency keys: whoever writes looks before, for the key and
//! for others in the operatory, and once more behind.

use adapter_sdk::{Fault, Receipt, records::Appointment as Wanted, warn};
use serde_json::json;

use crate::{
    hours, keys, map,
    office::{self, Office},
    pattern, requests,
    responses::Appointment,
    time,
};

const PATH: &str = "/appointments";
const OCCUPIED: &str = "the operatory is occupied at that time";

pub fn create(office: &Office, key: &str, a: &Wanted) -> Result<Receipt, Fault> {
    if let Some(earlier) = find(office, key, a)? {
        return Ok(earlier);
    }
    let signs = written_as(a)?;
    look_before(office, a, None)?;
    let kind = a.appointment_type.as_deref().map(|id| office.appointment_type(id)).transpose()?.flatten();
    let pattern = pattern::resized(kind.as_ref().map_or("", |kind| &kind.pattern), signs);
    let confirmed = if a.confirmed { office.confirmed_status()? } else { None };
    let body = requests::new_appointment(&office.settings, key, a, pattern, confirmed)?;
    let answer = office.post(PATH, &body)?;
    let made = office::receipt(&answer, "AptNum", || find(office, key, a))?;
    if let Some(other) = taken_meanwhile(office, a, &made.id) {
        // Theirs stays, whoever was first: ours can be offered another time.
        match office.put(&path(&made.id, "/Break"), &requests::broken(&office.settings)) {
            Ok(_) => return Err(Fault::rejected(OCCUPIED)),
            Err(fault) => warn!("appointments {} and {other} stand in one operatory: {fault:?}", made.id),
        }
    }
    Ok(Receipt { version: read(office, &made.id).ok().flatten().map(|row| map::version(&row)), ..made })
}

pub fn reschedule(office: &Office, a: &Wanted) -> Result<Receipt, Fault> {
    let row = existing(office, a)?;
    if stands(&row, a) {
        return Ok(receipt(&row));
    }
    if row.apt_status.0 != "Scheduled" {
        return Err(Fault::rejected(format!("the appointment is {} in Open Dental", row.apt_status.0)));
    }
    if a.version.as_ref().is_some_and(|version| *version != map::version(&row)) {
        return Err(Fault::rejected("the appointment was moved in Open Dental since it was read"));
    }
    let signs = written_as(a)?;
    look_before(office, a, Some(&a.id))?;
    office.put(&path(&a.id, ""), &requests::moved(&row, a, signs))?;
    if let Some(other) = taken_meanwhile(office, a, &a.id) {
        match office.put(&path(&a.id, ""), &requests::moved_back(&row)) {
            Ok(_) => return Err(Fault::rejected(OCCUPIED)),
            Err(fault) => warn!("appointments {} and {other} stand in one operatory: {fault:?}", a.id),
        }
    }
    Ok(read(office, &a.id).ok().flatten().map_or_else(|| bare(&a.id), |row| receipt(&row)))
}

/// What is off the schedule already is as cancelled as it was to be.
pub fn cancel(office: &Office, a: &Wanted, reason: Option<&str>) -> Result<Receipt, Fault> {
    let Some(row) = read(office, &a.id)? else { return Ok(bare(&a.id)) };
    if map::is_off(&row) {
        return Ok(receipt(&row));
    }
    if row.apt_status.0 == "Complete" {
        return Err(Fault::rejected("the appointment is Complete in Open Dental"));
    }
    if let Some(reason) = reason.map(str::trim).filter(|reason| !reason.is_empty()) {
        let line = format!("{}{reason}", map::CANCELLED);
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        // Appended: done twice it would stand there twice.
        if !words(&row.note).contains(&words(&line)) {
            office.put(&path(&a.id, "/Note"), &json!({"Note": line}))?;
        }
    }
    office.put(&path(&a.id, "/Break"), &requests::broken(&office.settings))?;
    Ok(bare(&a.id))
}

pub fn confirm(office: &Office, a: &Wanted) -> Result<Receipt, Fault> {
    let row = on_schedule(office, a)?;
    if is_confirmed(office, &row) != a.confirmed {
        office.put(&path(&a.id, "/Confirm"), &requests::confirmation(a.confirmed))?;
    }
    Ok(receipt(&row))
}

pub fn check_in(office: &Office, a: &Wanted) -> Result<Receipt, Fault> {
    let row = on_schedule(office, a)?;
    let at = a.checkin_at.unwrap_or_else(adapter_sdk::clock::now);
    if map::arrived(&row).is_none_or(|arrived| a.checkin_at.is_some() && arrived != at) {
        office.put(&path(&a.id, ""), &json!({"DateTimeArrived": time::text(at)}))?;
    }
    Ok(receipt(&row))
}

/// The note as a whole: to append to it twice would show.
pub fn note(office: &Office, a: &Wanted) -> Result<Receipt, Fault> {
    let row = existing(office, a)?;
    let held = keys::read(&row.note);
    if !keys::same_text(held.text.as_deref(), a.note.as_deref()) {
        let note = match &held.key {
            Some(key) => keys::written(a.note.as_deref(), key, None),
            None => a.note.clone().unwrap_or_default(),
        };
        office.put(&path(&a.id, ""), &json!({"Note": note}))?;
    }
    Ok(receipt(&row))
}

/// The appointment of this patient that carries a key, wherever it was moved since.
pub fn find(office: &Office, key: &str, a: &Wanted) -> Result<Option<Receipt>, Fault> {
    let Some(patient) = &a.patient else { return Ok(None) };
    let rows: Vec<Appointment> = office.all(PATH, &[("PatNum", patient.clone())])?;
    let ours: Vec<&Appointment> = rows.iter().filter(|row| keys::carries(&row.note, key)).collect();
    if ours.len() > 1 {
        warn!("{} appointments carry one write key", ours.len());
    }
    Ok(ours.first().map(|row| receipt(row)))
}

/// Changes carry no key: they are written where the appointment is as it was to be.
pub fn find_change(
    office: &Office,
    a: &Wanted,
    is_so: impl Fn(&Appointment) -> bool,
) -> Result<Option<Receipt>, Fault> {
    Ok(read(office, &a.id)?.filter(|row| is_so(row)).map(|row| receipt(&row)))
}

pub fn stands(row: &Appointment, a: &Wanted) -> bool {
    time::instant(&row.apt_date_time) == Some(a.start)
        && pattern::seconds(&row.pattern) == Some(a.end - a.start)
        && (a.operatory.is_none() || row.op.id() == a.operatory)
        && (a.provider.is_none() || map::provider_of(row) == a.provider)
        && !map::is_off(row)
}

pub fn is_confirmed(office: &Office, row: &Appointment) -> bool {
    office.settings.confirmed.contains(&row.confirmed_name.trim().to_lowercase())
}

/// The signs of the pattern; an error for a time the API cannot name.
fn written_as(a: &Wanted) -> Result<usize, Fault> {
    if time::is_repeated(a.start) {
        return Err(Fault::rejected(
            "the office's clocks show this time twice: Open Dental would take it for the first",
        ));
    }
    pattern::length(a.start, a.end).map_err(Fault::rejected)
}

fn look_before(office: &Office, a: &Wanted, own: Option<&str>) -> Result<(), Fault> {
    let Some(operatory) = &a.operatory else { return Ok(()) };
    if others(office, a, operatory, own)?.is_some() {
        return Err(Fault::rejected(OCCUPIED));
    }
    if hours::is_blocked(office, operatory, a.start, a.end)? {
        return Err(Fault::rejected("the operatory is blocked at that time"));
    }
    Ok(())
}

/// Somebody who took the place between the look before and our write. A look that fails says nothing: what was written is written.
fn taken_meanwhile(office: &Office, a: &Wanted, own: &str) -> Option<String> {
    others(office, a, a.operatory.as_deref()?, Some(own)).unwrap_or_else(|fault| {
        warn!("nobody could look after a write: {fault:?}");
        None
    })
}

/// Another appointment in the operatory at that time.
fn others(office: &Office, a: &Wanted, operatory: &str, own: Option<&str>) -> Result<Option<String>, Fault> {
    let (from, to) = (time::date(a.start - 9 * 3_600), time::date(a.end - 1));
    let query = [("dateStart", from), ("dateEnd", to), ("Op", operatory.to_owned())];
    let rows: Vec<Appointment> = office.all(PATH, &query)?;
    let overlaps = |row: &&Appointment| {
        let span = time::instant(&row.apt_date_time).zip(pattern::seconds(&row.pattern));
        span.is_some_and(|(start, length)| start < a.end && a.start < start + length)
    };
    // An office before 23.2.27 does not know the filter and shows all operatories.
    let here = |row: &&Appointment| row.op.id().as_deref() == Some(operatory);
    let counts = |row: &&Appointment| matches!(row.apt_status.as_str(), "Scheduled" | "Complete" | "ASAP");
    let mut rows = rows.iter().filter(here).filter(counts).filter(overlaps).filter_map(|row| row.apt_num.id());
    Ok(rows.find(|id| Some(id.as_str()) != own))
}

fn on_schedule(office: &Office, a: &Wanted) -> Result<Appointment, Fault> {
    let row = existing(office, a)?;
    if map::is_off(&row) { Err(Fault::rejected("the appointment is cancelled in Open Dental")) } else { Ok(row) }
}

fn existing(office: &Office, a: &Wanted) -> Result<Appointment, Fault> {
    read(office, &a.id)?.ok_or_else(|| Fault::rejected("Open Dental no longer has the appointment"))
}

fn read(office: &Office, id: &str) -> Result<Option<Appointment>, Fault> {
    office.one(PATH, id)
}

fn receipt(row: &Appointment) -> Receipt {
    Receipt { id: row.apt_num.to_string(), version: Some(map::version(row)) }
}

fn bare(id: &str) -> Receipt {
    Receipt { id: id.to_owned(), version: None }
}

fn path(id: &str, verb: &str) -> String {
    format!("{PATH}/{}{verb}", adapter_sdk::http::encode(id))
}

//! Writes of appointments. The EHR accepts overlapping appointments of one provider, so the adapter checks for
//! conflicts first. If the practice offers free appointments, a booking replaces one of them.

use adapter_sdk::{
    AppointmentChange, Fault, Receipt, clock,
    records::Appointment,
    spans::{exact_cover, overlap},
    steps,
};
use serde_json::{Map, Value, json};

use crate::{
    client::{self, ConditionalWrite},
    conventions::NOTES,
    requests,
    responses::{APPOINTMENT, AppointmentRow, State},
    settings::Settings,
    values::DateTime,
};

pub fn create(settings: &Settings, key: &str, change: &AppointmentChange) -> Result<Receipt, Fault> {
    let a = &change.appointment;
    let rows = client::search::<AppointmentRow>(&requests::around(requests::with_key(key), a))?;
    if let Some(earlier) = rows.iter().find(|row| row.note().carries(key)) {
        return Ok(receipt_of(earlier));
    }
    let near = Near::from_rows(settings, &rows, a, None);
    near.check_is_free()?;
    let values = requests::appointment(settings, key, a, near.places.is_some())?;
    let Some(places) = near.places else { return receipt(client::create(APPOINTMENT, &values)?) };
    let (place, rest) = (&places[0], &places[1..]);
    match client::write_over(APPOINTMENT, place.id, place.timestamp.as_deref(), &values)? {
        ConditionalWrite::Stale => Err(Fault::retry_later("the free appointment was taken concurrently", None)),
        ConditionalWrite::Done => {
            remove_places(rest);
            receipt(place.id)
        }
    }
}

pub fn find_created(_: &Settings, key: &str, _: &AppointmentChange) -> Result<Option<Receipt>, Fault> {
    let search = requests::by_key(APPOINTMENT, "comments", key);
    let rows = client::search::<AppointmentRow>(&search)?;
    Ok(rows.iter().find(|row| row.note().carries(key)).map(receipt_of))
}

/// A change of an existing appointment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Move,
    Confirm,
    CheckIn,
    Note,
    Cancel,
}

/// Returns a receipt if the appointment already has the wanted state.
pub fn find_changed(settings: &Settings, kind: Change, change: &AppointmentChange) -> Result<Option<Receipt>, Fault> {
    let id = requests::existing(&change.appointment.id, "appointment")?;
    let row = client::first::<AppointmentRow>(&requests::by_id(APPOINTMENT, id))?;
    Ok(match row {
        Some(row) => values_of(settings, kind, &row, change).is_empty().then(|| receipt_of(&row)),
        None => (kind == Change::Cancel).then(|| Receipt::new(&change.appointment.id)),
    })
}

/// Reads the appointment and its conflicts at the new time, and writes if the version is unchanged. If the engine names
/// a version, the appointment must have that one.
pub fn change(settings: &Settings, kind: Change, change: &AppointmentChange) -> Result<Receipt, Fault> {
    let a = &change.appointment;
    let id = requests::existing(&a.id, "appointment")?;
    let search = match kind {
        Change::Move => requests::around(requests::with_id(id), a),
        _ => requests::by_id(APPOINTMENT, id),
    };
    let rows = client::search::<AppointmentRow>(&search)?;
    let Some(row) = rows.iter().find(|row| row.id == id) else {
        // An appointment deleted by staff counts as cancelled by this write.
        return if kind == Change::Cancel {
            Ok(Receipt::new(&a.id))
        } else {
            Err(Fault::rejected("the EHR no longer has the appointment"))
        };
    };
    let values = values_of(settings, kind, row, change);
    if values.is_empty() {
        return Ok(receipt_of(row));
    }
    if a.version.is_some() && a.version != row.version() {
        return Err(Fault::rejected("the appointment was changed in the EHR since it was read"));
    }
    check_state(kind, row)?;
    let near = Near::from_rows(settings, &rows, a, Some(id));
    if kind == Change::Move {
        near.check_is_free()?;
    }
    if matches!(kind, Change::Move | Change::Cancel) {
        give_place_back(settings, row)?;
    }
    let places = near.places.filter(|_| kind == Change::Move);
    let values = if kind == Change::Move { marked(row, values, places.is_some()) } else { values };
    match client::write_over(APPOINTMENT, id, row.timestamp.as_deref(), &Value::Object(values))? {
        ConditionalWrite::Stale => Err(Fault::retry_later("the appointment was changed in the EHR meanwhile", None)),
        ConditionalWrite::Done => {
            remove_places(places.as_deref().unwrap_or_default());
            receipt(id)
        }
    }
}

fn check_state(kind: Change, row: &AppointmentRow) -> Result<(), Fault> {
    let over = row.is_free() || row.is_cancelled() || row.is("no_show") || (row.is("done") && kind != Change::Note);
    match over && kind != Change::Note {
        true => {
            Err(Fault::rejected(format!("the appointment is {} in the EHR", row.state.as_deref().unwrap_or("void"))))
        }
        false => Ok(()),
    }
}

/// Returns the fields that still have to be written.
fn values_of(
    settings: &Settings,
    kind: Change,
    row: &AppointmentRow,
    change: &AppointmentChange,
) -> Map<String, Value> {
    let a = &change.appointment;
    let mut note = row.note();
    let mut values = Map::new();
    match kind {
        Change::Move => {
            let provider = requests::number(&a.provider).or(row.healthprof);
            let there = row.span(settings.default_minutes);
            if there != Some((a.start, a.end)) || provider != row.healthprof {
                values.insert("appointment_date".into(), json!(DateTime::at(a.start)));
                values.insert("appointment_date_end".into(), json!(DateTime::at(a.end)));
                // Sent only if changed, because the EHR creates a new calendar entry for it.
                if provider != row.healthprof {
                    values.insert("healthprof".into(), json!(provider));
                }
            }
        }
        // An active appointment in this EHR is a confirmed one; the patient's confirmation has no field.
        Change::Confirm => note.set("patient-confirmed", a.patient_confirmed.then_some("yes")),
        Change::CheckIn if !row.is("checked_in") && !row.is("done") => {
            let at = a.checkin_at.unwrap_or_else(clock::now);
            values.insert("state".into(), "checked_in".into());
            values.insert("checked_in_date".into(), json!(DateTime::at(at)));
        }
        Change::CheckIn => (),
        Change::Note => note.text = a.note.clone().filter(|note| !note.trim().is_empty()),
        Change::Cancel if !row.is_cancelled() => {
            values.insert("state".into(), "user_cancelled".into());
            note.set("reason", change.reason.as_deref());
            note.set("slot", None);
        }
        Change::Cancel => (),
    }
    if note != row.note() {
        values.insert("comments".into(), NOTES.written(&note).into());
    }
    values
}

/// Records in the note of a moved appointment whether its new time was a free appointment.
fn marked(row: &AppointmentRow, mut values: Map<String, Value>, in_free_place: bool) -> Map<String, Value> {
    let note = row.note().with("slot", in_free_place.then_some("yes"));
    if note != row.note() {
        values.insert("comments".into(), NOTES.written(&note).into());
    }
    values
}

/// The appointments at an appointment's time with the same provider.
struct Near<'a> {
    occupied: bool,
    /// Free appointments that cover the time exactly, in order.
    places: Option<Vec<&'a AppointmentRow>>,
}

impl<'a> Near<'a> {
    fn from_rows(settings: &Settings, rows: &'a [AppointmentRow], a: &Appointment, own: Option<i64>) -> Near<'a> {
        let provider = requests::number(&a.provider);
        let here = |row: &&AppointmentRow| Some(row.id) != own && provider.is_some() && row.healthprof == provider;
        let whole = (a.start, a.end);
        let overlaps =
            |row: &&AppointmentRow| row.span(settings.default_minutes).is_some_and(|span| overlap(span, whole));
        let (free, taken): (Vec<_>, Vec<_>) = rows.iter().filter(here).filter(overlaps).partition(|row| row.is("free"));
        // A free appointment without an end does not count.
        let places = exact_cover(free, |row| row.span(0), whole);
        Near { occupied: taken.into_iter().any(AppointmentRow::occupies_time), places }
    }

    fn check_is_free(&self) -> Result<(), Fault> {
        match self.occupied {
            true => Err(Fault::rejected("the provider has another appointment at that time")),
            false => Ok(()),
        }
    }
}

/// Deletes the other free appointments that a booking covers. One that remains overlaps the booking and is not offered
/// by us.
fn remove_places(places: &[&AppointmentRow]) {
    if !places.is_empty() {
        let ids: Vec<i64> = places.iter().map(|place| place.id).collect();
        client::attempt("removing free places that were booked", &requests::delete(APPOINTMENT, &ids));
    }
}

/// Creates the free appointment that a booking replaced, before the booking leaves it. A second call has no effect.
fn give_place_back(settings: &Settings, row: &AppointmentRow) -> Result<(), Fault> {
    let took = row.note().get("slot").is_some();
    let place = row.healthprof.zip(row.span(settings.default_minutes)).filter(|_| took);
    let Some((provider, (start, end))) = place else { return Ok(()) };
    if client::first::<State>(&requests::free_place(provider, start, end))?.is_some() {
        return Ok(());
    }
    let values = requests::new_free_place(row.institution, provider, start, end);
    // The appointment itself is still unchanged, so the whole write can be repeated.
    client::create(APPOINTMENT, &values).map(drop).map_err(steps::before)
}

fn receipt_of(row: &AppointmentRow) -> Receipt {
    Receipt { id: row.id.to_string(), version: row.version() }
}

/// Returns the receipt with the version after the write. A failed read does not undo the write.
fn receipt(id: i64) -> Result<Receipt, Fault> {
    let row = client::first::<AppointmentRow>(&requests::by_id(APPOINTMENT, id)).ok().flatten();
    Ok(Receipt { id: id.to_string(), version: row.and_then(|row| row.version()) })
}

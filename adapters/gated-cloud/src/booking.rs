//! Writes of appointments. A new one contains the write key as its reference. A change counts as written if the
//! appointment has the wanted state.

use adapter_sdk::{AppointmentChange, Fault, Receipt, clock, streams::RowError};
use serde_json::Value;

use crate::{
    client::GatedCloud,
    faults,
    map::{self, Visit},
    markup::APPOINTMENTS,
    requests,
};

pub fn create(app: &GatedCloud, key: &str, change: &AppointmentChange) -> Result<Receipt, Fault> {
    if change.appointment.operatory.is_none() {
        return Err(Fault::rejected("the EHR's schedule needs an operatory"));
    }
    app.create(APPOINTMENTS, &requests::appointment(key, &change.appointment))
}

pub fn change(app: &GatedCloud, change: &AppointmentChange, fields: &Value) -> Result<Receipt, Fault> {
    app.update(APPOINTMENTS, &change.appointment.id, fields)
}

pub fn confirm(app: &GatedCloud, _: &str, c: &AppointmentChange) -> Result<Receipt, Fault> {
    let held = read(app, c)?.ok_or_else(|| faults::from_refusal("not_found".into()))?;
    if is_confirmed(&held, c) {
        return Ok(held.receipt());
    }
    // An arrived patient does not return to the status `confirmed`.
    let status = (c.appointment.confirmed && !held.came).then_some("confirmed");
    change(app, c, &requests::confirmed(&c.appointment, status))
}

pub fn check_in(app: &GatedCloud, _: &str, c: &AppointmentChange) -> Result<Receipt, Fault> {
    change(app, c, &requests::arrived(c.appointment.checkin_at.unwrap_or_else(clock::now)))
}

/// Cancels an appointment. One that is already cancelled or deleted counts as cancelled by this write.
pub fn cancel(app: &GatedCloud, _: &str, c: &AppointmentChange) -> Result<Receipt, Fault> {
    let id = &c.appointment.id;
    match app.change(APPOINTMENTS, id, &requests::cancelled(&c.reason))? {
        Err(code) if matches!(code.as_str(), "cancelled" | "not_found") => Ok(Receipt::new(id)),
        written => written.map_err(faults::from_refusal),
    }
}

/// Returns a receipt if the appointment has the wanted state. Changes carry no key.
pub fn is_applied(
    app: &GatedCloud,
    change: &AppointmentChange,
    is_applied: fn(&Visit, &AppointmentChange) -> bool,
) -> Result<Option<Receipt>, Fault> {
    Ok(read(app, change)?.filter(|held| is_applied(held, change)).map(|held| held.receipt()))
}

pub fn is_confirmed(held: &Visit, AppointmentChange { appointment: a, .. }: &AppointmentChange) -> bool {
    (!a.confirmed || held.shown.confirmed) && held.shown.patient_confirmed == a.patient_confirmed
}

fn read(app: &GatedCloud, change: &AppointmentChange) -> Result<Option<Visit>, Fault> {
    let row = app.one(APPOINTMENTS, &change.appointment.id)?;
    let Some(row) = row else { return Ok(None) };
    match map::visit(row) {
        Ok(Some(visit)) => Ok(Some(visit)),
        Ok(None) => Err(Fault::retry_later(map::CONTRADICTS, None)),
        Err(RowError::Row(why) | RowError::Part(why)) => Err(Fault::retry_later(why, None)),
        Err(RowError::Fault(fault)) => Err(fault),
    }
}

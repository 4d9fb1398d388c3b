//! Writing appointments: a new one carries the write key as its reference; a change is written where the appointment is as it was to be.

use adapter_sdk::{AppointmentChange, Fault, Receipt, clock, http::Method, records::Appointment};
use serde_json::{Map, Value};

use crate::{
    client::GatedCloud,
    faults,
    map::{self, Visit, found, written},
    markup::APPOINTMENTS,
    requests,
};

pub fn create(app: &GatedCloud, key: &str, change: &AppointmentChange) -> Result<Receipt, Fault> {
    if change.appointment.operatory.is_none() {
        return Err(Fault::rejected("the EHR's schedule needs an operatory"));
    }
    let fields = requests::appointment(key, &change.appointment);
    let made = app.change(Method::Post, "/api/appointments", APPOINTMENTS, &fields)?;
    written(made.map_err(|code| faults::of_refusal(&code))?)
}

/// The appointment that carries a key, wherever it was moved since.
pub fn find(app: &GatedCloud, key: &str) -> Result<Option<Receipt>, Fault> {
    app.by_reference(APPOINTMENTS, key)?.map(found).transpose()
}

pub fn reschedule(app: &GatedCloud, _: &str, change: &AppointmentChange) -> Result<Receipt, Fault> {
    changed(app, change, &requests::moved(&change.appointment))
}

pub fn confirm(app: &GatedCloud, _: &str, change: &AppointmentChange) -> Result<Receipt, Fault> {
    let a = &change.appointment;
    let held = read(app, change)?.ok_or_else(|| faults::of_refusal("not_found"))?;
    if is_confirmed(&held, a) {
        return Ok(held.receipt());
    }
    // Who has come already is not only expected again.
    let status = (a.confirmed && !held.status.came()).then_some("confirmed");
    changed(app, change, &requests::confirmed(a, status))
}

pub fn check_in(app: &GatedCloud, _: &str, change: &AppointmentChange) -> Result<Receipt, Fault> {
    changed(app, change, &requests::arrived(change.appointment.checkin_at.unwrap_or_else(clock::now)))
}

pub fn note(app: &GatedCloud, _: &str, change: &AppointmentChange) -> Result<Receipt, Fault> {
    changed(app, change, &requests::note(&change.appointment))
}

/// What is cancelled or gone already is as cancelled as it was to be.
pub fn cancel(app: &GatedCloud, _: &str, change: &AppointmentChange) -> Result<Receipt, Fault> {
    let (id, fields) = (&change.appointment.id, requests::cancelled(change.reason.as_deref()));
    match app.change(Method::Patch, &requests::record(APPOINTMENTS, id), APPOINTMENTS, &fields)? {
        Ok(row) => written(row),
        Err(code) if matches!(code.as_str(), "cancelled" | "not_found") => {
            Ok(Receipt { id: id.clone(), version: None })
        }
        Err(code) => Err(faults::of_refusal(&code)),
    }
}

/// Whether a change is written: it carries no key, so that the appointment itself tells.
pub fn is_so(
    app: &GatedCloud,
    change: &AppointmentChange,
    is_so: fn(&Visit, &Appointment) -> bool,
) -> Result<Option<Receipt>, Fault> {
    Ok(read(app, change)?.filter(|held| is_so(held, &change.appointment)).map(|held| held.receipt()))
}

pub fn stands(Visit { shown, status }: &Visit, a: &Appointment) -> bool {
    shown.start == a.start
        && shown.end == a.end
        && (a.operatory.is_none() || a.operatory == shown.operatory)
        && (a.provider.is_none() || a.provider == shown.provider)
        && !status.is_off()
}

pub fn is_confirmed(held: &Visit, a: &Appointment) -> bool {
    (!a.confirmed || held.shown.confirmed) && held.shown.patient_confirmed == a.patient_confirmed
}

pub fn has_arrived(Visit { shown, status }: &Visit, a: &Appointment) -> bool {
    status.came() && shown.checkin_at.is_some() && a.checkin_at.is_none_or(|at| shown.checkin_at == Some(at))
}

pub fn is_noted(held: &Visit, a: &Appointment) -> bool {
    held.shown.note == a.note
}

pub fn is_off(held: &Visit, _: &Appointment) -> bool {
    held.status.is_off()
}

fn changed(app: &GatedCloud, change: &AppointmentChange, fields: &Map<String, Value>) -> Result<Receipt, Fault> {
    let path = requests::record(APPOINTMENTS, &change.appointment.id);
    let row = app.change(Method::Patch, &path, APPOINTMENTS, fields)?;
    written(row.map_err(|code| faults::of_refusal(&code))?)
}

fn read(app: &GatedCloud, change: &AppointmentChange) -> Result<Option<Visit>, Fault> {
    let row = app.one(APPOINTMENTS, &change.appointment.id)?;
    let visit = row.map(map::visit).transpose()?;
    visit.map(|visit| visit.ok_or_else(|| Fault::retry_later(map::CONTRADICTS, None))).transpose()
}

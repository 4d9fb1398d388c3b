//! Writing appointments. The application's forms are not idempotent: whoever writes looks before, by the reference that carries the write
//! key or at the appointment itself.

use adapter_sdk::{Fault, Receipt, clock, http::Method, records::Appointment as Wanted, warn};
use serde_json::{Map, Value};

use crate::{
    client::Client,
    faults,
    map::{self, APPOINTMENTS},
    requests,
    responses::{Appointment, typed},
};

pub fn create(client: &Client, key: &str, a: &Wanted) -> Result<Receipt, Fault> {
    if a.operatory.is_none() {
        return Err(Fault::rejected("the EHR's schedule needs an operatory"));
    }
    if let Some(earlier) = find(client, key)? {
        return Ok(earlier);
    }
    let path = format!("/api/{}", APPOINTMENTS.name);
    let made = client.change(Method::Post, &path, APPOINTMENTS.names, &requests::appointment(key, a))?;
    receipt_of(made.map_err(|code| faults::of_refusal(&code))?)
}

pub fn reschedule(client: &Client, a: &Wanted) -> Result<Receipt, Fault> {
    let held = existing(client, a)?;
    if stands(&held, a) {
        return Ok(receipt(&held));
    }
    changed(client, a, &requests::moved(a))
}

pub fn confirm(client: &Client, a: &Wanted) -> Result<Receipt, Fault> {
    let held = existing(client, a)?;
    if is_confirmed(&held, a) {
        return Ok(receipt(&held));
    }
    // Who has come already is not only expected again.
    let status = (a.confirmed && !held.came()).then_some("confirmed");
    changed(client, a, &requests::confirmed(a, status))
}

pub fn check_in(client: &Client, a: &Wanted) -> Result<Receipt, Fault> {
    let held = existing(client, a)?;
    if has_arrived(&held, a) {
        return Ok(receipt(&held));
    }
    changed(client, a, &requests::arrived(a.checkin_at.unwrap_or_else(clock::now)))
}

pub fn note(client: &Client, a: &Wanted) -> Result<Receipt, Fault> {
    changed(client, a, &requests::note(a))
}

/// What is cancelled or gone already is as cancelled as it was to be.
pub fn cancel(client: &Client, a: &Wanted, reason: Option<&str>) -> Result<Receipt, Fault> {
    let path = requests::record(APPOINTMENTS.name, &a.id);
    match client.change(Method::Patch, &path, APPOINTMENTS.names, &requests::cancelled(reason))? {
        Ok(row) => receipt_of(row),
        Err(code) if matches!(code.as_str(), "cancelled" | "not_found") => {
            Ok(Receipt { id: a.id.clone(), version: None })
        }
        Err(code) => Err(faults::of_refusal(&code)),
    }
}

/// The appointment that carries a key, wherever it was moved since.
pub fn find(client: &Client, key: &str) -> Result<Option<Receipt>, Fault> {
    let mut ours = Vec::new();
    for row in client.by_reference(APPOINTMENTS, key)? {
        let row: Appointment = shown(row)?;
        // What the search takes for alike may be another.
        if row.reference.as_deref() == Some(key) {
            ours.push(row);
        }
    }
    if ours.len() > 1 {
        warn!("{} appointments carry one write key", ours.len());
    }
    Ok(ours.first().map(receipt))
}

/// Changes carry no key: they are written where the appointment is as it was to be.
pub fn find_change(
    client: &Client,
    a: &Wanted,
    is_so: impl Fn(&Appointment, &Wanted) -> bool,
) -> Result<Option<Receipt>, Fault> {
    Ok(read(client, a)?.filter(|held| is_so(held, a)).map(|held| receipt(&held)))
}

pub fn stands(held: &Appointment, a: &Wanted) -> bool {
    held.start == a.start
        && held.end == a.end
        && a.operatory.as_ref().is_none_or(|operatory| *operatory == held.operatory)
        && (a.provider.is_none() || a.provider == held.provider)
        && !held.is_off()
}

pub fn is_confirmed(held: &Appointment, a: &Wanted) -> bool {
    (!a.confirmed || map::is_confirmed(held.status)) && held.confirmed_by_patient == a.patient_confirmed
}

pub fn has_arrived(held: &Appointment, a: &Wanted) -> bool {
    held.came() && held.arrived_at.is_some() && a.checkin_at.is_none_or(|at| held.arrived_at == Some(at))
}

fn changed(client: &Client, a: &Wanted, fields: &Map<String, Value>) -> Result<Receipt, Fault> {
    let path = requests::record(APPOINTMENTS.name, &a.id);
    let row = client.change(Method::Patch, &path, APPOINTMENTS.names, fields)?;
    receipt_of(row.map_err(|code| faults::of_refusal(&code))?)
}

fn existing(client: &Client, a: &Wanted) -> Result<Appointment, Fault> {
    read(client, a)?.ok_or_else(|| faults::of_refusal("not_found"))
}

fn read(client: &Client, a: &Wanted) -> Result<Option<Appointment>, Fault> {
    client.one(APPOINTMENTS, &a.id)?.map(shown).transpose()
}

fn shown(row: Value) -> Result<Appointment, Fault> {
    typed(row).map_err(|why| Fault::retry_later(why, None))
}

fn receipt(held: &Appointment) -> Receipt {
    Receipt { id: held.id.clone(), version: Some(held.revision.to_string()) }
}

/// Of what was written: an answer that cannot be understood proves nothing.
fn receipt_of(row: Value) -> Result<Receipt, Fault> {
    typed(row).map(|held: Appointment| receipt(&held)).map_err(Fault::unknown)
}

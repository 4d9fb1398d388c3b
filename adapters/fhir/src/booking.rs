//! Writing appointments: look before, keep the slots in step, write once.

use adapter_sdk::{Fault, Receipt, records::Appointment, warn};
use serde_json::Value;

use crate::{
    map, requests,
    responses::{self, Identifier},
    server::{self, Updated},
    settings::Settings,
    slots,
    time::instant_of,
};

pub fn create(settings: &Settings, key: &str, a: &Appointment) -> Result<Receipt, Fault> {
    if let Some(earlier) = find(settings, "Appointment", key)? {
        return Ok(earlier);
    }
    look_before(settings, a)?;
    let slots = slots::claim(settings, key, a, &[])?;
    let created = server::create(settings, &requests::new_appointment(settings, key, a, &slots), key);
    if matches!(created, Err(Fault::Rejected(_))) {
        // The slots are marked with our key; where they cannot be freed now, another attempt knows them.
        if let Err(fault) = slots::release(settings, &slots) {
            warn!("slots of a refused appointment stay busy: {fault:?}");
        }
    }
    created
}

pub fn reschedule(settings: &Settings, key: &str, a: &Appointment) -> Result<Receipt, Fault> {
    change(settings, key, a, |read, held| {
        if read.is_off() || matches!(read.status.as_str(), "noshow" | "fulfilled") {
            return Err(Fault::rejected(format!("the appointment is {} in the EHR", read.status)));
        }
        look_before(settings, a)?;
        let taken = slots::claim(settings, key, a, held)?;
        slots::release(settings, held.iter().filter(|id| !taken.contains(id)))?;
        Ok(Some(Change::Move(taken)))
    })
}

pub fn cancel(settings: &Settings, key: &str, a: &Appointment, reason: Option<&str>) -> Result<Receipt, Fault> {
    change(settings, key, a, |read, held| {
        if read.is_off() {
            return Ok(None);
        }
        slots::release(settings, held)?;
        Ok(Some(Change::Cancel(reason.map(str::to_owned))))
    })
}

/// The resource that carries a write key.
pub fn find(settings: &Settings, resource_type: &str, key: &str) -> Result<Option<Receipt>, Fault> {
    let search = requests::by_key(resource_type, settings, key);
    let found = server::page(settings, resource_type, &search, &Default::default(), 2)?.step.resources;
    // A server that does not know the search parameter shows anything.
    let ours: Vec<&Value> = found.iter().filter(|resource| carries(settings, resource, key)).collect();
    if ours.len() > 1 {
        warn!("{} {resource_type} resources carry one write key", ours.len());
    }
    Ok(ours.first().map(|resource| server::receipt_of(resource)))
}

enum Change {
    /// To these slots.
    Move(Vec<String>),
    Cancel(Option<String>),
}

/// Reads the appointment, decides on the change, and writes it over the version that was read. `None`: nothing is left to do.
/// Where the engine names no version, one change in between is no hindrance.
fn change(
    settings: &Settings,
    key: &str,
    a: &Appointment,
    decide: impl Fn(&responses::Appointment, &[String]) -> Result<Option<Change>, Fault>,
) -> Result<Receipt, Fault> {
    let stale = || Fault::rejected("the appointment was changed in the EHR since it was read");
    for _ in 0..2 {
        let resource = server::read("Appointment", &a.id)?;
        let resource = resource.ok_or_else(|| Fault::rejected("the EHR no longer has the appointment"))?;
        if carries(settings, &resource, key) {
            return Ok(server::receipt_of(&resource));
        }
        let read: responses::Appointment = map::read(resource.clone())
            .map_err(|why| Fault::rejected(format!("the EHR's appointment cannot be read: {why}")))?;
        let held: Vec<String> = read.slot.iter().filter_map(|slot| slot.id_of("Slot")).collect();
        if a.version.is_some() && read.meta.version_id.is_some() && a.version != read.meta.version_id && !read.is_off()
        {
            return Err(stale());
        }
        let written = match decide(&read, &held)? {
            None => return Ok(server::receipt_of(&resource)),
            Some(Change::Move(slots)) => requests::reschedule(settings, key, &resource, a, &slots),
            Some(Change::Cancel(reason)) => requests::cancel(settings, key, &resource, reason.as_deref()),
        };
        match server::update(&written)? {
            Updated::Written(receipt) => return Ok(receipt),
            Updated::Stale if a.version.is_some() => return Err(stale()),
            Updated::Stale => (),
        }
    }
    Err(Fault::retry_later("the appointment keeps changing in the EHR", None))
}

/// FHIR servers take two appointments in one room at one time: whoever writes must look. What comes between this look and the write
/// shows at the next pull.
fn look_before(settings: &Settings, a: &Appointment) -> Result<(), Fault> {
    let Some(room) = &a.operatory else { return Ok(()) };
    let near = server::all(settings, "Appointment", &requests::appointments_near(room, a.start, a.end))?;
    let overlaps = |other: &responses::Appointment| {
        let start = other.start.as_deref().and_then(instant_of);
        let end = other.end.as_deref().and_then(instant_of);
        start.zip(end).is_some_and(|(start, end)| start < a.end && a.start < end)
    };
    let others = near.into_iter().filter_map(|r| map::read::<responses::Appointment>(r).ok());
    let mut others = others.filter(|other| other.id != a.id && !other.is_off() && other.status != "noshow");
    match others.any(|other| overlaps(&other)) {
        true => Err(Fault::rejected("the operatory is occupied at that time")),
        false => Ok(()),
    }
}

fn carries(settings: &Settings, resource: &Value, key: &str) -> bool {
    let identifiers: Vec<Identifier> = serde_json::from_value(resource["identifier"].clone()).unwrap_or_default();
    let is_ours = |i: &Identifier| i.system.as_deref() == Some(&settings.key_system) && i.value.as_deref() == Some(key);
    identifiers.iter().any(is_ours)
}

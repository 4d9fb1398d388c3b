//! Writing appointments: look before, keep the slots in step, write once. Where the server's transactions are atomic, the appointment
//! and its slots are one; elsewhere it takes its new slots first and gives the old ones back last, so that it never stands on slots that
//! are free, and what happens in between is repaired by the next attempt.

use std::cell::RefCell;

use adapter_sdk::{AppointmentChange, Fault, Receipt, clock, records::Appointment, spans::overlap, warn};
use serde_json::Value;

use crate::{
    bundle, client, map, requests, responses,
    revision::{self, Beside},
    settings::Settings,
    slots, windows,
};

pub fn create(settings: &Settings, key: &str, change: &AppointmentChange) -> Result<Receipt, Fault> {
    let a = &change.appointment;
    if let Some(earlier) = find(settings, key, change)? {
        return Ok(earlier);
    }
    look_before(settings, a)?;
    let plan = slots::plan(settings, key, a, &[])?;
    if settings.atomic() && !plan.claims.is_empty() {
        let appointment = requests::new_appointment(settings, key, a, &plan.ids);
        return bundle::create(settings, &appointment, key, &plan.claims);
    }
    let slots = slots::take(settings, plan)?;
    let created = client::create(settings, &requests::new_appointment(settings, key, a, &slots), key);
    if matches!(created, Err(Fault::Rejected(_) | Fault::Unsupported(_))) {
        // The slots are marked with our key; where they cannot be freed now, another attempt knows them.
        if let Err(fault) = slots::release(settings, &slots) {
            warn!("slots of a refused appointment stay busy: {fault:?}");
        }
    }
    created
}

/// Slots that change hands with an appointment.
#[derive(Default)]
struct Slots {
    /// Marked for it: free again should it be refused.
    taken: Vec<String>,
    /// No longer its own once it is written, as they should be then.
    left: Vec<Value>,
}

impl Slots {
    /// Gives back what the appointment does not stand on. It is written or refused, whatever becomes of its slots.
    fn settle(self, settings: &Settings, ended: &Result<Receipt, Fault>) {
        let settled = match ended {
            Ok(_) => slots::free(self.left),
            Err(Fault::Rejected(_) | Fault::Unsupported(_)) => slots::release(settings, &self.taken),
            // Another attempt knows them by their key.
            Err(_) => Ok(()),
        };
        if let Err(fault) = settled {
            warn!("slots an appointment does not stand on stay busy: {fault:?}");
        }
    }
}

pub fn reschedule(settings: &Settings, key: &str, wanted: &AppointmentChange) -> Result<Receipt, Fault> {
    let a = &wanted.appointment;
    let slots = RefCell::new(Slots::default());
    let ended = change(settings, key, a, |read, moved| {
        if matches!(read.status.as_str(), "noshow" | "fulfilled") {
            return Err(Fault::rejected(format!("the appointment is {} in the EHR", read.status)));
        }
        look_before(settings, a)?;
        let held = read.slots();
        // Of an appointment we made all slots carry the one key: see `slots::tidy`.
        let own = map::write_key(&read.identifier, settings);
        let plan = slots::plan(settings, own.as_deref().unwrap_or(key), a, &held)?;
        let earlier = slots.borrow().taken.clone();
        let left =
            |kept: &[String]| slots::freed(settings, held.iter().chain(&earlier).filter(|id| !kept.contains(id)));
        if settings.atomic() {
            let left = left(&plan.ids)?;
            requests::reschedule(settings, moved, a, &plan.ids);
            return Ok(Some(plan.claims.into_iter().chain(left).collect()));
        }
        let taken = slots::take(settings, plan)?;
        slots.borrow_mut().taken.extend(taken.iter().filter(|id| !held.contains(id)).cloned());
        slots.borrow_mut().left = left(&taken)?;
        requests::reschedule(settings, moved, a, &taken);
        Ok(Some(Vec::new()))
    });
    slots.into_inner().settle(settings, &ended);
    ended
}

/// What staff have cancelled already is as cancelled as it was to be.
pub fn cancel(settings: &Settings, key: &str, wanted: &AppointmentChange) -> Result<Receipt, Fault> {
    let a = &wanted.appointment;
    let slots = RefCell::new(Slots::default());
    let ended = revision::revise(settings, key, ("Appointment", &a.id), |resource, off| {
        let read = parsed(resource)?;
        if read.is_off() {
            return Ok(None);
        }
        current(a, &read)?;
        requests::cancel(off, wanted.reason.as_deref());
        let left = slots::freed(settings, &read.slots())?;
        if settings.atomic() {
            return Ok(Some(left));
        }
        slots.borrow_mut().left = left;
        Ok(Some(Vec::new()))
    });
    slots.into_inner().settle(settings, &ended);
    ended
}

/// The appointment that carries a write key.
pub fn find(settings: &Settings, key: &str, change: &AppointmentChange) -> Result<Option<Receipt>, Fault> {
    let search = requests::by_key("Appointment", settings, key);
    let time = (change.appointment.start, change.appointment.end);
    windows::or_near(&search, time, |search| client::find_by(settings, "Appointment", search, key))
}

/// Looks for an earlier move or cancellation. Where its answer was lost, the slots the appointment left are freed now.
pub fn find_moved(settings: &Settings, key: &str, change: &AppointmentChange) -> Result<Option<Receipt>, Fault> {
    let found = find(settings, key, change)?;
    if let Some(Err(fault)) = found.as_ref().map(|found| slots::tidy(settings, &found.id)) {
        warn!("slots an appointment has left may stay busy: {fault:?}");
    }
    Ok(found)
}

pub fn confirm(settings: &Settings, key: &str, wanted: &AppointmentChange) -> Result<Receipt, Fault> {
    change(settings, key, &wanted.appointment, |_, confirmed| {
        requests::confirm(confirmed, &wanted.appointment);
        Ok(Some(Vec::new()))
    })
}

/// Whoever was there already is not sent back to the door.
pub fn check_in(settings: &Settings, key: &str, wanted: &AppointmentChange) -> Result<Receipt, Fault> {
    let at = wanted.appointment.checkin_at.unwrap_or_else(clock::now);
    change(settings, key, &wanted.appointment, |read, arrived| {
        requests::check_in(arrived, at);
        Ok((read.status != "fulfilled").then(Vec::new))
    })
}

pub fn note(settings: &Settings, key: &str, wanted: &AppointmentChange) -> Result<Receipt, Fault> {
    change(settings, key, &wanted.appointment, |_, noted| {
        requests::note(noted, wanted.appointment.note.as_deref());
        Ok(Some(Vec::new()))
    })
}

/// A change of an appointment that stands, over the version the engine names.
fn change(
    settings: &Settings,
    key: &str,
    a: &Appointment,
    decide: impl Fn(&responses::Appointment, &mut Value) -> Result<Beside, Fault>,
) -> Result<Receipt, Fault> {
    revision::revise(settings, key, ("Appointment", &a.id), |resource, changed| {
        let read = parsed(resource)?;
        if read.is_off() {
            return Err(Fault::rejected(format!("the appointment is {} in the EHR", read.status)));
        }
        current(a, &read)?;
        decide(&read, changed)
    })
}

fn parsed(resource: &Value) -> Result<responses::Appointment, Fault> {
    map::read(resource.clone()).map_err(|why| Fault::rejected(format!("the EHR's appointment cannot be read: {why}")))
}

/// What staff changed since the engine read it is not overwritten.
fn current(a: &Appointment, read: &responses::Appointment) -> Result<(), Fault> {
    match (&a.version, &read.meta.version_id) {
        (Some(known), Some(now)) if known != now => {
            Err(Fault::rejected("the appointment was changed in the EHR since it was read"))
        }
        _ => Ok(()),
    }
}

/// FHIR servers take two appointments in one room at one time: the time is looked at before it is written. What comes
/// between this look and the write shows at the next pull. A practitioner may see to two rooms, so that only an
/// appointment without a room is in the practitioner's way.
fn look_before(settings: &Settings, a: &Appointment) -> Result<(), Fault> {
    let Some(room) = &a.operatory else { return Ok(()) };
    let actors = [Some(format!("Location/{room}")), a.provider.as_ref().map(|id| format!("Practitioner/{id}"))];
    let actors: Vec<String> = actors.into_iter().flatten().collect();
    let near = client::all(settings, "Appointment", &requests::appointments_near(&actors, a.start, a.end))?;
    let overlaps = |other: &responses::Appointment| map::span(other).is_ok_and(|span| overlap(span, (a.start, a.end)));
    let others = near.into_iter().filter_map(|r| map::read::<responses::Appointment>(r).ok());
    for other in others.filter(|other| other.id != a.id && other.takes_time() && overlaps(other)) {
        if other.actors("Location").any(|id| id == *room) {
            return Err(Fault::rejected("the operatory is occupied at that time"));
        }
        let nowhere = other.actors("Location").next().is_none();
        if nowhere && other.actors("Practitioner").any(|id| Some(&id) == a.provider.as_ref()) {
            return Err(Fault::rejected("the practitioner is occupied at that time"));
        }
    }
    Ok(())
}

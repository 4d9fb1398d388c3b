//! Writes of appointments: check for conflicts, update the slots, write once. With atomic transactions the appointment
//! and its slots are written together. Without them, new slots are taken before the appointment is written and old ones
//! are freed after it, so that its slots are never free. A retry repairs interrupted writes.

use std::cell::RefCell;

use adapter_sdk::{
    AppointmentChange, Fault, Receipt, clock,
    records::Appointment,
    spans::{Span, overlap},
    time::plus_days,
    warn,
};
use serde_json::Value;

use crate::{
    bundle, client, enrich, map, requests,
    responses::{self, Reference},
    revision::{self, BundleEntries},
    settings::Settings,
    slots,
    time::{instant, instant_or_date},
    windows,
};

pub fn create(settings: &Settings, key: &str, change: &AppointmentChange) -> Result<Receipt, Fault> {
    let a = &change.appointment;
    if let Some(earlier) = find(settings, key, change)? {
        return Ok(earlier);
    }
    check_conflicts(settings, a)?;
    let plan = slots::plan(settings, key, a, &[])?;
    if settings.atomic() && !plan.claims.is_empty() {
        let appointment = requests::new_appointment(settings, key, a, &plan.ids);
        return bundle::create(settings, &appointment, key, &plan.claims);
    }
    let slots = slots::take(settings, plan)?;
    let created = client::create(settings, &requests::new_appointment(settings, key, a, &slots), key);
    if matches!(created, Err(Fault::Rejected(_) | Fault::Unsupported(_))) {
        // The slots contain our key, so a retry recognises those that cannot be freed now.
        if let Err(fault) = slots::release(settings, &slots) {
            warn!("slots of a refused appointment stay busy: {fault:?}");
        }
    }
    created
}

/// Slots that change with an appointment.
#[derive(Default)]
struct Slots {
    /// Slots marked for the appointment, to be freed if it is refused.
    taken: Vec<String>,
    /// Slots that the written appointment no longer uses, with their new content.
    left: Vec<Value>,
}

impl Slots {
    /// Frees the slots that the appointment does not use. A failure is only logged.
    fn settle(self, settings: &Settings, ended: &Result<Receipt, Fault>) {
        let settled = match ended {
            Ok(_) => slots::free(self.left),
            Err(Fault::Rejected(_) | Fault::Unsupported(_)) => slots::release(settings, &self.taken),
            // The outcome is open; a retry recognises the slots by their key.
            Err(_) => Ok(()),
        };
        if let Err(fault) = settled {
            warn!("slots that the appointment does not use stay busy: {fault:?}");
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
        check_conflicts(settings, a)?;
        let held = read.slots();
        // All slots of an appointment created by us contain its key, see `slots::tidy`.
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

/// Cancels an appointment. One that staff have already cancelled counts as cancelled by this write.
pub fn cancel(settings: &Settings, key: &str, wanted: &AppointmentChange) -> Result<Receipt, Fault> {
    let a = &wanted.appointment;
    let slots = RefCell::new(Slots::default());
    let ended = revision::revise(settings, key, ("Appointment", &a.id), |resource, off| {
        let read = parsed(resource)?;
        if read.is_cancelled() {
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

pub fn find(settings: &Settings, key: &str, change: &AppointmentChange) -> Result<Option<Receipt>, Fault> {
    let search = requests::by_key("Appointment", settings, key);
    let time = (change.appointment.start, change.appointment.end);
    windows::or_near(&search, time, |search| client::find_by(settings, "Appointment", search, key))
}

/// Looks for an earlier move or cancellation. Frees slots of the previous time, in case the response was lost.
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

/// Checks a patient in, unless the visit is already fulfilled.
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

/// Changes an active appointment, if it still has the version that the engine names.
fn change(
    settings: &Settings,
    key: &str,
    a: &Appointment,
    decide: impl Fn(&responses::Appointment, &mut Value) -> Result<BundleEntries, Fault>,
) -> Result<Receipt, Fault> {
    revision::revise(settings, key, ("Appointment", &a.id), |resource, changed| {
        let read = parsed(resource)?;
        if read.is_cancelled() {
            return Err(Fault::rejected(format!("the appointment is {} in the EHR", read.status)));
        }
        current(a, &read)?;
        decide(&read, changed)
    })
}

fn parsed(resource: &Value) -> Result<responses::Appointment, Fault> {
    map::read(resource.clone()).map_err(|why| Fault::rejected(format!("the EHR's appointment cannot be read: {why}")))
}

/// Rejects the write if staff changed the appointment since the engine read it.
fn current(a: &Appointment, read: &responses::Appointment) -> Result<(), Fault> {
    match (&a.version, &read.meta.version_id) {
        (Some(known), Some(now)) if known != now => {
            Err(Fault::rejected("the appointment was changed in the EHR since it was read"))
        }
        _ => Ok(()),
    }
}

/// Checks for conflicts, because FHIR servers accept overlapping appointments in one room. A conflict created after
/// this check appears at the next pull. A practitioner may work in two rooms, so only an appointment without a room
/// conflicts with the practitioner's. An appointment without readable times is assumed to overlap if it can.
fn check_conflicts(settings: &Settings, a: &Appointment) -> Result<(), Fault> {
    let Some(room) = &a.operatory else { return Ok(()) };
    let actors = [Some(format!("Location/{room}")), a.provider.as_ref().map(|id| format!("Practitioner/{id}"))];
    let actors: Vec<String> = actors.into_iter().flatten().collect();
    let near = client::all(settings, "Appointment", &requests::appointments_near(&actors, a.start, a.end))?;
    let others = near.into_iter().filter(|other| client::text(other, "id") != a.id && read_times(other).takes_time());
    let (mut others, mut untimed): (Vec<Value>, Vec<Value>) =
        others.partition(|other| map::span(&read_times(other)).is_ok());
    enrich::slots_of(settings, &mut untimed)?;
    others.append(&mut untimed);
    for other in others {
        let span = map::span(&read_times(&other)).ok();
        if !span.or_else(|| widest_span(&other)).is_some_and(|at| overlap(at, (a.start, a.end))) {
            continue;
        }
        let conflict = |who: &str| {
            Err(Fault::rejected(match span {
                Some(_) => format!("the {who} is occupied at that time"),
                None => format!("an appointment of the {who} cannot be read"),
            }))
        };
        let rooms = present(&other, "Location");
        if rooms.contains(room) {
            return conflict("operatory");
        }
        if rooms.is_empty() && a.provider.as_ref().is_some_and(|id| present(&other, "Practitioner").contains(id)) {
            return conflict("practitioner");
        }
    }
    Ok(())
}

/// Returns status and times of an appointment, also if other parts of it cannot be read.
fn read_times(appointment: &Value) -> responses::Appointment {
    let text = |field: &str| appointment[field].as_str().map(str::to_owned);
    responses::Appointment {
        status: text("status").unwrap_or_default(),
        start: text("start"),
        end: text("end"),
        minutes_duration: appointment["minutesDuration"].as_i64(),
        ..responses::Appointment::default()
    }
}

/// Returns the participants of a type who have not declined, also of an appointment that cannot be read.
fn present(appointment: &Value, resource_type: &str) -> Vec<String> {
    let participants = appointment["participant"].as_array().into_iter().flatten();
    let there = participants.filter(|participant| participant["status"] != "declined");
    there.filter_map(|participant| Reference::from_value(&participant["actor"]).id_of(resource_type)).collect()
}

/// Returns the longest possible span of an appointment whose times cannot be read: to the end of its local day. `None`
/// without a start.
fn widest_span(appointment: &Value) -> Option<Span> {
    let read = read_times(appointment);
    let Some(start) = read.start.as_deref().and_then(instant_or_date) else {
        return (!appointment["start"].is_null()).then_some((i64::MIN, i64::MAX));
    };
    let end = read.end.as_deref().and_then(instant).map(|end| end.max(start + 1));
    let next_day = || instant_or_date(&plus_days(&clock::date(start), 1));
    Some((start, end.or_else(next_day).unwrap_or(i64::MAX)))
}

//! Slots of a schedule during changes of an appointment. Appointments are authoritative; slots are updated with them,
//! and slots that are not free are respected. A claimed slot contains the key of the appointment's creation or of the
//! write, so that a retry recognises it. A claim whose appointment was never created, or is cancelled, has no effect.

use adapter_sdk::{
    Fault, debug, records,
    spans::{exact_cover, overlap},
    steps, warn,
};
use serde_json::Value;

use crate::{
    client::{self, Updated},
    map, requests,
    responses::{Appointment, Schedule, Slot},
    settings::Settings,
    windows,
};

#[derive(Debug, Default)]
pub struct Plan {
    /// All slots.
    pub ids: Vec<String>,
    /// The slots to mark, with their new content.
    pub claims: Vec<Value>,
}

/// Returns the free slots that cover the appointment exactly; an empty plan if the server has none. `held` are the
/// appointment's current slots.
pub fn plan(settings: &Settings, key: &str, a: &records::Appointment, held: &[String]) -> Result<Plan, Fault> {
    let schedules = schedules(settings, a)?;
    if schedules.is_empty() {
        return Ok(Plan::default());
    }
    let near = client::all_as_stored(settings, "Slot", &requests::slots_near(&schedules, a.start, a.end))?;
    let whole = (a.start, a.end);
    let read = |resource: Value| Some((map::read::<Slot>(resource.clone()).ok()?, resource));
    let near = near.into_iter().filter_map(read).filter(|(slot, _)| slot.is_of(&schedules));
    let overlaps = |slot: &Slot| slot.span().is_some_and(|span| overlap(span, whole));
    let mut overlapping: Vec<(Slot, Value)> = near.filter(|(slot, _)| overlaps(slot)).collect();
    let ours = |slot: &Slot| held.contains(&slot.id) || slot.identifier.iter().any(|i| is_key(settings, i, key));
    let taken = |slot: &Slot| slot.status.starts_with("busy") && !ours(slot);
    for (slot, _) in overlapping.iter_mut().filter(|(slot, _)| taken(slot)) {
        if !is_abandoned(settings, slot)? {
            return Err(Fault::rejected("the slot is not free in the EHR"));
        }
        slot.status = "free".into();
    }
    overlapping.retain(|(slot, _)| matches!(slot.status.as_str(), "free" | "busy"));
    let Some(cover) = exact_cover(overlapping, |(slot, _)| slot.span(), whole) else {
        debug!("no slots of the schedule cover the appointment exactly");
        return Ok(Plan::default());
    };
    let ids = cover.iter().map(|(slot, _)| slot.id.clone()).collect();
    let free = cover.iter().filter(|(slot, _)| slot.status == "free");
    let claims = free.map(|(_, resource)| requests::claimed(settings, key, resource)).collect();
    Ok(Plan { ids, claims })
}

/// Marks a plan's slots one by one and returns the appointment's slots. After a conflict, slots already marked are
/// freed again.
pub fn take(settings: &Settings, plan: Plan) -> Result<Vec<String>, Fault> {
    let mut claimed: Vec<String> = Vec::new();
    for slot in &plan.claims {
        match client::update(slot) {
            Ok(Updated::Written(receipt)) => claimed.push(receipt.id),
            Ok(Updated::Stale) => {
                release(settings, &claimed)?;
                return Err(Fault::rejected("the slot was taken in the EHR meanwhile"));
            }
            // The server does not permit writing slots.
            Err(Fault::Rejected(reason) | Fault::Unsupported(reason)) => {
                warn!("a slot cannot be marked busy: {reason}");
                return Ok(plan.ids.into_iter().filter(|id| claimed.contains(id)).collect());
            }
            Err(fault) => return Err(steps::before(fault)),
        }
    }
    Ok(plan.ids)
}

/// Returns the busy slots with the content that frees them.
pub fn freed<'a>(settings: &Settings, slots: impl IntoIterator<Item = &'a String>) -> Result<Vec<Value>, Fault> {
    let mut freed = Vec::new();
    for id in slots {
        let slot = client::read("Slot", id);
        let slot = client::unless_refused(slot, &format!("slot {id} cannot be read and is not freed"))?;
        let busy = slot.filter(|slot| slot["status"] == "busy");
        freed.extend(busy.map(|slot| requests::released(settings, &slot)));
    }
    Ok(freed)
}

pub fn release<'a>(settings: &Settings, slots: impl IntoIterator<Item = &'a String>) -> Result<(), Fault> {
    free(freed(settings, slots)?)
}

/// Frees slots with the key of an appointment that no longer uses them.
pub fn tidy(settings: &Settings, appointment: &str) -> Result<(), Fault> {
    if settings.atomic() || !settings.slots {
        return Ok(());
    }
    let read = client::read("Appointment", appointment)?.and_then(|resource| map::read::<Appointment>(resource).ok());
    let Some((read, key)) = read.and_then(|read| map::write_key(&read.identifier, settings).map(|key| (read, key)))
    else {
        return Ok(());
    };
    let kept = if read.is_cancelled() { Vec::new() } else { read.slots() };
    let marked =
        client::all_as_stored(settings, "Slot", &requests::search("Slot", &[("identifier", settings.token(&key))]))?;
    let left = marked.into_iter().filter(|slot| {
        let id = client::text(slot, "id");
        slot["status"] == "busy" && client::carries(settings, slot, &key) && !kept.iter().any(|kept| kept == id)
    });
    free(left.map(|slot| requests::released(settings, &slot)).collect())
}

/// Frees slots that were read before, see [`freed`]. Slots changed concurrently are skipped. A lost request is repeated
/// once, because no later write would free the slot.
pub fn free(slots: Vec<Value>) -> Result<(), Fault> {
    for slot in slots {
        let id = client::text(&slot, "id");
        let sent = match client::update(&slot) {
            Err(Fault::Unknown(_) | Fault::RetryLater(_)) => client::update(&slot),
            sent => sent,
        };
        match sent {
            Ok(Updated::Written(_)) => (),
            Ok(Updated::Stale) => debug!("slot {id} was changed concurrently and is not freed"),
            Err(Fault::Rejected(reason) | Fault::Unsupported(reason)) => warn!("slot {id} cannot be freed: {reason}"),
            Err(fault) => return Err(steps::before(fault)),
        }
    }
    Ok(())
}

/// Returns `true` if one of our writes marked the slot but no appointment uses it: the write was abandoned before its
/// appointment, or staff cancelled the appointment only. The engine allows one booking per room at a time.
fn is_abandoned(settings: &Settings, slot: &Slot) -> Result<bool, Fault> {
    if slot.status != "busy" || !slot.is_marked(settings) {
        return Ok(false);
    }
    let Some(span) = slot.span() else { return Ok(false) };
    let search = requests::appointments_on(&slot.id);
    let standing = windows::or_near(&search, span, |search| client::all(settings, "Appointment", search))?;
    let mut standing = standing.into_iter().filter_map(|resource| map::read::<Appointment>(resource).ok());
    Ok(!standing
        .any(|other| other.takes_time() && other.slot.iter().any(|s| s.id_of("Slot").as_ref() == Some(&slot.id))))
}

/// Returns the schedules of the practitioner in the room.
fn schedules(settings: &Settings, a: &records::Appointment) -> Result<Vec<String>, Fault> {
    let Some(provider) = a.provider.as_ref().filter(|_| settings.slots) else { return Ok(Vec::new()) };
    let search = requests::search("Schedule", &[("actor", format!("Practitioner/{provider}"))]);
    let all = match client::all(settings, "Schedule", &search) {
        // The server has no schedules, or does not permit reading them.
        Err(Fault::Rejected(_)) => return Ok(Vec::new()),
        Err(Fault::Unsupported(reason)) => {
            warn!("no slots are taken, the schedules cannot be read: {reason}");
            return Ok(Vec::new());
        }
        all => all?,
    };
    let has = |schedule: &Schedule, kind: &str, id: &String| {
        schedule.actor.iter().any(|actor| actor.id_of(kind).as_ref() == Some(id))
    };
    let fits = |s: &Schedule| {
        has(s, "Practitioner", provider) && a.operatory.as_ref().is_none_or(|room| has(s, "Location", room))
    };
    let read = all.into_iter().filter_map(|schedule| map::read::<Schedule>(schedule).ok());
    Ok(read.filter(|s| s.active != Some(false) && fits(s)).map(|s| s.id).collect())
}

fn is_key(settings: &Settings, identifier: &crate::responses::Identifier, key: &str) -> bool {
    identifier.system.as_deref() == Some(&settings.key_system) && identifier.value.as_deref() == Some(key)
}

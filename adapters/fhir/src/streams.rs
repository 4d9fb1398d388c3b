//! Pulls: the resource types of each resource of the contract, read page by page.

use std::rc::Rc;

use adapter_sdk::{Deletions, Fault, Page, Record, Resource, SkippedRecord, clock, streams::Stream, warn};
use serde_json::Value;

use crate::{
    busy::Busy,
    capability::{CORE, Offer},
    client::{self, Searched},
    cursor::Cursor,
    enrich, history_items, hours,
    map::{self, history},
    requests,
    responses::{Schedule, Slot},
    settings::{Plans, Settings},
    site::{Site, is_part_of, practitioners},
    walk::{Keep, Map, Part, walk},
    windows,
};

/// Ordered so that records follow those they refer to.
pub const STREAMS: &[Stream<Settings>] = &[
    read_whole(Resource::Providers),
    read_whole(Resource::AppointmentTypes),
    read_whole(Resource::Operatories),
    by_changes(Resource::Patients),
    read_whole(Resource::WorkingHours),
    by_changes(Resource::Appointments),
    by_changes(Resource::InsurancePlans),
    by_changes(Resource::Coverages),
    by_changes(Resource::HistoryItems),
    by_changes(Resource::PatientHistoryItems),
    by_changes(Resource::PatientAlerts),
    by_changes(Resource::CommunicationLogs),
    by_changes(Resource::FormSchemas),
    by_changes(Resource::FormResponses),
    by_changes(Resource::Payments),
];

const fn read_whole(resource: Resource) -> Stream<Settings> {
    Stream::custom((resource, false, Deletions::ByAbsence), |settings, resource, cursor, limit| {
        page(settings, resource, false, cursor, limit)
    })
}

const fn by_changes(resource: Resource) -> Stream<Settings> {
    Stream::custom((resource, true, Deletions::ByAbsence), |settings, resource, cursor, limit| {
        page(settings, resource, true, cursor, limit)
    })
}

/// Returns the type of a resource and its mapping. Working hours and medical histories consist of several types.
fn source(settings: &Settings, resource: Resource) -> Option<(&'static str, Map)> {
    Some(match resource {
        Resource::Providers => ("Practitioner", map::practitioner),
        Resource::AppointmentTypes => ("HealthcareService", map::appointment_type),
        Resource::Operatories => ("Location", map::operatory),
        Resource::Patients => ("Patient", map::patient),
        Resource::Appointments => ("Appointment", map::appointment),
        Resource::InsurancePlans => match settings.plans {
            Plans::Organizations => ("Organization", map::insurance::organization),
            Plans::InsurancePlans => ("InsurancePlan", map::insurance::insurance_plan),
        },
        Resource::Coverages => ("Coverage", map::insurance::coverage),
        Resource::PatientAlerts => ("Flag", map::communications::alert),
        Resource::CommunicationLogs => ("Communication", map::communications::communication),
        Resource::FormSchemas => ("Questionnaire", map::forms::schema),
        Resource::FormResponses => ("QuestionnaireResponse", map::forms::response),
        Resource::Payments => ("PaymentNotice", map::money::payment),
        _ => return None,
    })
}

pub fn shows(offer: &Offer, settings: &Settings, resource: Resource) -> bool {
    match resource {
        // Configured types need no server support.
        Resource::AppointmentTypes if !settings.types.is_empty() => true,
        Resource::WorkingHours => offer.reads("Schedule") && offer.reads("Slot"),
        Resource::HistoryItems | Resource::PatientHistoryItems => !histories(offer).is_empty(),
        Resource::FormResponses if !offer.reads("Questionnaire") => false,
        _ => source(settings, resource).is_some_and(|(name, _)| offer.reads(name)),
    }
}

fn histories(offer: &Offer) -> Vec<&'static str> {
    history::TYPES.into_iter().filter(|name| offer.reads(name)).collect()
}

/// Returns the history resources of the server, each with the mapping `map`.
fn history_parts(offer: &Offer, map: Map) -> Vec<Part> {
    let part = |resource_type| Part {
        resource_type,
        search: requests::search(resource_type, &[]),
        map,
        keep: None,
        may_be_refused: false,
    };
    histories(offer).into_iter().map(part).collect()
}

fn page(settings: &Settings, resource: Resource, delta: bool, cursor: Option<&str>, limit: u32) -> Result<Page, Fault> {
    // A pass that has begun needs no check of the capabilities, except for histories, where the set of types matters.
    let chart = matches!(resource, Resource::HistoryItems | Resource::PatientHistoryItems);
    let core =
        resource == Resource::WorkingHours || source(settings, resource).is_some_and(|(name, _)| CORE.contains(&name));
    let offer = &Offer::known(settings, core || (cursor.is_some() && !chart))?;
    if !shows(offer, settings, resource) {
        return Err(Fault::unsupported("the server does not show such records"));
    }
    let cursor = Cursor::parse(cursor, clock::now(), delta, settings.whole_minutes)?;
    if let Some(allowed) = cursor.spot.allowed {
        settings.allow(allowed);
    }
    match resource {
        Resource::AppointmentTypes if !settings.types.is_empty() => {
            Ok(finished(settings.types.iter().map(map::configured_type).collect(), cursor, limit))
        }
        Resource::WorkingHours => working_hours(settings, cursor, limit),
        Resource::HistoryItems => {
            history_items::page(settings, &history_parts(offer, history::catalogue_entry), cursor, limit)
        }
        _ => match parts(settings, offer, resource)? {
            Some(parts) if resource == Resource::Appointments => windows::page(settings, &parts[0], cursor, limit),
            Some(parts) => Ok(walk(settings, &parts, cursor, limit)?.0),
            None => Ok(finished(Vec::new(), cursor, limit)),
        },
    }
}

/// Returns the parts of a resource, or `None` if the site has no rooms.
fn parts(settings: &Settings, offer: &Offer, resource: Resource) -> Result<Option<Vec<Part>>, Fault> {
    if resource == Resource::PatientHistoryItems {
        return Ok(Some(history_parts(offer, history::patient_item)));
    }
    let Some((resource_type, map)) = source(settings, resource) else {
        return Err(Fault::unsupported("this adapter does not read such records"));
    };
    let mut keep: Option<Keep> = None;
    let search = match resource_type {
        "Location" => {
            if let Some(site) = settings.site.clone() {
                keep = Some(Rc::new(move |room| is_part_of(room, &site)));
            }
            requests::rooms(settings.site.as_deref())
        }
        "Organization" => {
            let kind = settings.plan_type.clone();
            keep = Some(Rc::new(move |organization| map::insurance::is_of_type(organization, &kind)));
            requests::search(resource_type, &[("type", settings.plan_type.clone())])
        }
        "Appointment" => match Site::read(settings)? {
            Some(site) if site.rooms.is_empty() => return Ok(None),
            Some(mut site) => {
                let search = site.appointments(settings)?;
                keep = Some(Rc::new(move |appointment| site.is_ours(appointment)));
                search
            }
            None => requests::search(resource_type, &[]),
        },
        _ => requests::search(resource_type, &[]),
    };
    Ok(Some(vec![Part { resource_type, search, map, keep, may_be_refused: false }]))
}

/// Returns records that need no request, in pages.
fn finished(records: Vec<Record>, cursor: Cursor, limit: u32) -> Page {
    let (shown, all) = (cursor.shown, records.len());
    let records: Vec<Record> = records.into_iter().skip(shown).take(limit.max(1) as usize).collect();
    let shown = shown + records.len();
    let last = shown >= all;
    let now = clock::now();
    let cursor = match last {
        true => cursor.after(None, true, now),
        false => Cursor { shown, started: Some(cursor.started.unwrap_or(now)), ..cursor },
    };
    Page { records, cursor: cursor.to_string(), last, whole: true, ..Page::default() }
}

/// Returns the hours of one schedule per page, derived from its slots.
fn working_hours(settings: &Settings, mut cursor: Cursor, limit: u32) -> Result<Page, Fault> {
    let site = Site::read(settings)?;
    if !settings.slots || site.as_ref().is_some_and(|site| site.rooms.is_empty()) {
        return Ok(finished(Vec::new(), cursor, limit));
    }
    let search = site.as_ref().map_or_else(|| requests::search("Schedule", &[]), Site::schedules);
    let mut searched = client::page(settings, "Schedule", &search, &cursor.spot, 1)?;
    let schedules = searched.read("Schedule");
    let Searched { step, spot, now } = searched;
    let began = cursor.started.unwrap_or(clock::now());
    // The schedule is read again for each page of its hours.
    let here = std::mem::replace(&mut cursor.spot, spot);
    let mut found: Vec<Result<Record, SkippedRecord>> = Vec::new();
    for schedule in schedules {
        let schedule: Schedule = match map::read(schedule) {
            Ok(schedule) => schedule,
            Err(why) => {
                warn!("a schedule is skipped: {why}");
                cursor.partial = true;
                continue;
            }
        };
        let practitioners = practitioners(settings, &schedule.actor, true)?;
        let elsewhere = site.as_ref().is_some_and(|site| !site.has(&schedule));
        if schedule.active == Some(false) || practitioners.is_empty() || elsewhere {
            continue;
        }
        let (from, until) = (began - 86_400, began + settings.slot_days * 86_400);
        let slots = client::all(settings, "Slot", &requests::slots(std::slice::from_ref(&schedule.id), from, until))?;
        let slots = slots.into_iter().filter_map(|slot| readable(slot, &mut found));
        let slots: Vec<Slot> = slots.filter(|slot| slot.is_of(std::slice::from_ref(&schedule.id))).collect();
        if slots.is_empty() {
            continue;
        }
        let practitioners = enrich::active(settings, practitioners)?;
        let busy = Busy::read(settings, site.as_ref(), &schedule, &practitioners, &slots, (from, until))?;
        let open = |provider: &str, room: Option<&str>| hours::stretches(&slots, &busy.taken(provider, room), settings);
        let hours = hours::hours(&schedule, &practitioners, open, |at| clock::to_local(at).text);
        found.extend(hours.into_iter().map(|hour| Ok(Record::WorkingHour(hour))));
    }
    let (all, shown) = (found.len(), cursor.shown + limit.max(1) as usize);
    let mut page = Page::default();
    for hour in found.into_iter().take(shown).skip(cursor.shown) {
        match hour {
            Ok(hour) => page.records.push(hour),
            Err(slot) => page.skipped.push(slot),
        }
    }
    cursor.steady &= step.steady;
    cursor.spot.allowed = settings.allowed();
    page.whole = cursor.shows_all();
    let cursor = if shown < all {
        Cursor { shown, started: Some(began), spot: here, ..cursor }
    } else {
        page.last = step.next.is_none();
        cursor.after(step.next, true, now.unwrap_or(began))
    };
    page.cursor = cursor.to_string();
    Ok(page)
}

/// Returns a slot with a valid time. An unreadable slot opens nothing and is reported as skipped.
fn readable(slot: Value, found: &mut Vec<Result<Record, SkippedRecord>>) -> Option<Slot> {
    let id = format!("Slot/{}", client::text(&slot, "id"));
    match map::read::<Slot>(slot) {
        Ok(slot) if slot.span().is_some() => return Some(slot),
        Ok(_) => found.push(Err(SkippedRecord::new(id, "its start or end cannot be read"))),
        Err(why) => found.push(Err(SkippedRecord::new(id, why.to_string()))),
    }
    None
}

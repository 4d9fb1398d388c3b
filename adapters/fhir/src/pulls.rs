//! Pulls: which resource types a resource of the contract is read from, page after page.

use adapter_sdk::{Deletions, Fault, Page, PullAbility, Record, Resource, clock, warn};
use serde_json::Value;

use crate::{
    capability::Offer,
    catalogue,
    cursor::Cursor,
    enrich, hours,
    map::{self, history},
    paging::At,
    requests,
    responses::{Reference, Schedule, Slot},
    server::{self, Searched},
    settings::{Plans, Settings},
};

type Map = fn(Value, &Settings) -> Result<Record, String>;
type Enrich = fn(&Settings, &mut [Value]) -> Result<(), Fault>;

/// One resource type as a pull shows it.
struct Part {
    resource_type: &'static str,
    search: String,
    map: Map,
    enrich: Option<Enrich>,
}

fn part(resource_type: &'static str, map: Map) -> Part {
    Part { resource_type, search: requests::search(resource_type, &[]), map, enrich: None }
}

/// In the order in which they refer to each other, and whether a pass can show only what changed.
const PULLS: [(Resource, bool); 15] = [
    (Resource::Providers, false),
    (Resource::AppointmentTypes, false),
    (Resource::Operatories, false),
    (Resource::Patients, true),
    (Resource::WorkingHours, false),
    (Resource::Appointments, true),
    (Resource::InsurancePlans, true),
    (Resource::Coverages, true),
    (Resource::HistoryItems, true),
    (Resource::PatientHistoryItems, true),
    (Resource::PatientAlerts, true),
    (Resource::CommunicationLogs, true),
    (Resource::FormSchemas, true),
    (Resource::FormResponses, true),
    (Resource::Payments, true),
];

/// What the server shows.
pub fn offered(offer: &Offer, settings: &Settings) -> Vec<PullAbility> {
    let ability = |(resource, delta)| PullAbility { resource, delta, deletions: Deletions::ByAbsence };
    PULLS.into_iter().filter(|(resource, _)| shows(offer, settings, *resource)).map(ability).collect()
}

pub fn shows(offer: &Offer, settings: &Settings, resource: Resource) -> bool {
    match resource {
        Resource::Providers => offer.reads("Practitioner"),
        // Without any there is nothing to be said, and that is said.
        Resource::AppointmentTypes => !settings.types.is_empty() || offer.reads("HealthcareService"),
        Resource::Operatories => offer.reads("Location"),
        Resource::Patients => offer.reads("Patient"),
        Resource::WorkingHours => offer.reads("Schedule") && offer.reads("Slot"),
        Resource::Appointments => offer.reads("Appointment"),
        Resource::InsurancePlans => offer.reads(settings.plans.resource_type()),
        Resource::Coverages => offer.reads("Coverage"),
        Resource::HistoryItems | Resource::PatientHistoryItems => !histories(offer).is_empty(),
        Resource::PatientAlerts => offer.reads("Flag"),
        Resource::CommunicationLogs => offer.reads("Communication"),
        Resource::FormSchemas => offer.reads("Questionnaire"),
        Resource::FormResponses => offer.reads("QuestionnaireResponse") && offer.reads("Questionnaire"),
        Resource::Payments => offer.reads("PaymentNotice"),
        _ => false,
    }
}

fn histories(offer: &Offer) -> Vec<&'static str> {
    history::TYPES.into_iter().filter(|name| offer.reads(name)).collect()
}

pub fn pull(
    settings: &Settings,
    offer: &Offer,
    resource: Resource,
    cursor: Option<&str>,
    limit: u32,
) -> Result<Page, Fault> {
    let delta = PULLS.contains(&(resource, true));
    let cursor = Cursor::parse(cursor, clock::now(), delta, settings.whole_minutes)
        .ok_or_else(|| Fault::rejected("not a cursor of this adapter"))?;
    match resource {
        Resource::AppointmentTypes if !settings.types.is_empty() => {
            Ok(finished(settings.types.iter().map(map::configured_type).collect(), cursor, limit))
        }
        Resource::WorkingHours => working_hours(settings, cursor, limit),
        Resource::HistoryItems => catalogue::page(settings, &histories(offer), cursor, limit),
        _ => match parts(settings, offer, resource)? {
            Some(parts) => walk(settings, &parts, cursor, limit),
            // The site has no rooms.
            None => Ok(finished(Vec::new(), cursor, limit)),
        },
    }
}

fn parts(settings: &Settings, offer: &Offer, resource: Resource) -> Result<Option<Vec<Part>>, Fault> {
    Ok(Some(match resource {
        Resource::Providers => {
            vec![Part { enrich: Some(enrich::practitioners), ..part("Practitioner", map::practitioner) }]
        }
        Resource::AppointmentTypes => vec![part("HealthcareService", map::appointment_type)],
        Resource::Operatories => {
            let search = requests::rooms(settings.site.as_deref());
            vec![Part { search, ..part("Location", map::operatory) }]
        }
        Resource::Patients => vec![part("Patient", map::patient)],
        Resource::Appointments => match rooms(settings)? {
            Some(rooms) if rooms.is_empty() => return Ok(None),
            rooms => vec![Part {
                search: requests::in_rooms("Appointment", rooms.as_deref()),
                enrich: Some(enrich::appointments),
                ..part("Appointment", map::appointment)
            }],
        },
        Resource::InsurancePlans => match settings.plans {
            Plans::Organizations => {
                let search = requests::search("Organization", &[("type", settings.plan_type.clone())]);
                vec![Part { search, ..part("Organization", map::insurance::organization) }]
            }
            Plans::InsurancePlans => vec![part("InsurancePlan", map::insurance::insurance_plan)],
        },
        Resource::Coverages => vec![part("Coverage", map::insurance::coverage)],
        Resource::PatientHistoryItems => {
            histories(offer).into_iter().map(|name| part(name, history::patient_item)).collect()
        }
        Resource::PatientAlerts => vec![part("Flag", map::talk::alert)],
        Resource::CommunicationLogs => vec![part("Communication", map::talk::communication)],
        Resource::FormSchemas => vec![part("Questionnaire", map::forms::schema)],
        Resource::FormResponses => {
            vec![Part { enrich: Some(enrich::responses), ..part("QuestionnaireResponse", map::forms::response) }]
        }
        Resource::Payments => vec![part("PaymentNotice", map::money::payment)],
        _ => return Err(Fault::unsupported("this adapter does not read such records")),
    }))
}

/// One page of one part; the next part begins where one ends.
fn walk(settings: &Settings, parts: &[Part], cursor: Cursor, limit: u32) -> Result<Page, Fault> {
    let part = parts.get(cursor.part).ok_or_else(|| Fault::rejected("not a cursor of this adapter"))?;
    let search = cursor.since.map_or_else(|| part.search.clone(), |at| requests::since(&part.search, at));
    let Searched { step, now } = match server::page(settings, part.resource_type, &search, &cursor.at, limit) {
        // A server that cannot search by time of change shows everything instead.
        Err(Fault::Rejected(_)) if cursor.since.is_some() && cursor.started.is_none() => {
            warn!("{} cannot be searched by _lastUpdated: everything is read", part.resource_type);
            return walk(settings, parts, Cursor { since: None, whole_at: clock::now(), ..cursor }, limit);
        }
        // Links do not live for ever: this part begins again.
        Err(Fault::Rejected(_)) if matches!(cursor.at, At::Link(_)) => {
            warn!("{}: the server no longer knows its link to the next page", part.resource_type);
            let whole = cursor.is_whole() && cursor.steady;
            let cursor = Cursor { at: At::Start, ..cursor };
            return Ok(Page { cursor: cursor.to_string(), whole, ..Page::default() });
        }
        other => other?,
    };
    let whole = cursor.is_whole();
    let mut page = Page { estimate: step.total.filter(|_| whole && parts.len() == 1), ..Page::default() };
    let mut resources = step.resources;
    if let Some(enrich) = part.enrich {
        enrich(settings, &mut resources)?;
    }
    for resource in resources {
        let (id, resource_type) = (server::text(&resource, "id").to_owned(), part.resource_type);
        match (part.map)(resource, settings) {
            Ok(record) => page.records.push(record),
            Err(why) => {
                warn!("{resource_type} {id} is left out: {why}");
                // It may have been shown before.
                let typed = history::TYPES.contains(&resource_type);
                page.deleted.push(if typed { format!("{resource_type}/{id}") } else { id });
            }
        }
    }
    let steady = cursor.steady && step.steady;
    let now = now.unwrap_or_else(clock::now);
    let more = step.next.is_none() && cursor.part + 1 < parts.len();
    page.last = step.next.is_none() && !more;
    page.whole = whole && steady;
    let after = if more { cursor.next_part(step.steady, now) } else { cursor.after(step.next, step.steady, now) };
    page.cursor = after.to_string();
    Ok(page)
}

/// What is known without asking: by pages all the same.
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

/// The ids of the site's rooms; none where every Location is one.
fn rooms(settings: &Settings) -> Result<Option<Vec<String>>, Fault> {
    let Some(site) = &settings.site else { return Ok(None) };
    let rooms = server::all(settings, "Location", &requests::rooms(Some(site)))?;
    Ok(Some(rooms.iter().map(|room| server::text(room, "id").to_owned()).collect()))
}

/// One schedule a page: its slots make its hours.
fn working_hours(settings: &Settings, cursor: Cursor, limit: u32) -> Result<Page, Fault> {
    let rooms = if settings.slots { rooms(settings)? } else { Some(Vec::new()) };
    if rooms.as_ref().is_some_and(Vec::is_empty) {
        return Ok(finished(Vec::new(), cursor, limit));
    }
    let search = requests::in_rooms("Schedule", rooms.as_deref());
    let Searched { step, now } = server::page(settings, "Schedule", &search, &cursor.at, 1)?;
    let began = cursor.started.unwrap_or(clock::now());
    let mut hours = Vec::new();
    for schedule in step.resources {
        let schedule: Schedule = match map::read(schedule) {
            Ok(schedule) => schedule,
            Err(why) => {
                warn!("a schedule is left out: {why}");
                continue;
            }
        };
        let practitioners = practitioners(settings, &schedule.actor)?;
        if schedule.active == Some(false) || practitioners.is_empty() {
            continue;
        }
        let (from, until) = (began - 86_400, began + settings.slot_days * 86_400);
        let slots = server::all(settings, "Slot", &requests::slots(std::slice::from_ref(&schedule.id), from, until))?;
        let slots = slots.into_iter().filter_map(|slot| map::read::<Slot>(slot).ok()).collect();
        let stretches = hours::stretches(slots, settings);
        hours.extend(hours::hours(&schedule, &practitioners, &stretches, |at| clock::to_local(at).text));
    }
    let limit = limit.max(1) as usize;
    let records: Vec<Record> = hours.iter().skip(cursor.shown).take(limit).cloned().map(Record::WorkingHour).collect();
    let (shown, steady) = (cursor.shown + records.len(), cursor.steady && step.steady);
    if shown < hours.len() {
        let cursor = Cursor { shown, started: Some(began), steady, ..cursor };
        return Ok(Page { records, cursor: cursor.to_string(), whole: steady, ..Page::default() });
    }
    let last = step.next.is_none();
    let cursor = cursor.after(step.next, step.steady, now.unwrap_or(began)).to_string();
    Ok(Page { records, cursor, last, whole: steady, ..Page::default() })
}

/// The practitioners among actors; a role stands for its practitioner.
fn practitioners(settings: &Settings, actors: &[Reference]) -> Result<Vec<String>, Fault> {
    let mut ids: Vec<String> = actors.iter().filter_map(|actor| actor.id_of("Practitioner")).collect();
    let roles = actors.iter().filter_map(|actor| actor.id_of("PractitionerRole")).collect();
    let behind = enrich::by_role(settings, roles)?.into_values();
    ids.extend(behind.filter(|id| !ids.contains(id)).collect::<Vec<_>>());
    Ok(ids)
}

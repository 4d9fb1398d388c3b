//! Pulls: which resource types a resource of the contract is read from, page after page.

use adapter_sdk::{Deletions, Fault, Page, Record, Resource, clock, streams::Stream, warn};

use crate::{
    capability::Offer,
    client::{self, Searched},
    cursor::Cursor,
    enrich, history_items, hours,
    map::{self, history},
    requests,
    responses::{Reference, Schedule, Slot},
    settings::{Fhir, Plans, Settings},
    walk::{Enrich, Map, Part, Walked, walk},
};

/// The history resources the server has, each of them read by `map`.
pub fn of_history(offer: &Offer, map: Map) -> Vec<Part> {
    let enrich = |name: &str| (name == "MedicationStatement").then_some(enrich::medications as Enrich);
    histories(offer).into_iter().map(|name| Part { enrich: enrich(name), ..part(name, map) }).collect()
}

fn part(resource_type: &'static str, map: Map) -> Part {
    Part { resource_type, search: requests::search(resource_type, &[]), map, enrich: None }
}

/// In the order in which they refer to each other.
pub const STREAMS: &[Stream<Fhir>] = &[
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

const fn read_whole(resource: Resource) -> Stream<Fhir> {
    Stream::own((resource, false, Deletions::ByAbsence), |ehr, resource, cursor, limit| {
        page(&ehr.settings, resource, false, cursor, limit)
    })
}

const fn by_changes(resource: Resource) -> Stream<Fhir> {
    Stream::own((resource, true, Deletions::ByAbsence), |ehr, resource, cursor, limit| {
        page(&ehr.settings, resource, true, cursor, limit)
    })
}

/// What the server shows.
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

fn page(settings: &Settings, resource: Resource, delta: bool, cursor: Option<&str>, limit: u32) -> Result<Page, Fault> {
    // What a pass began with is offered; of histories it matters which there are.
    let chart = matches!(resource, Resource::HistoryItems | Resource::PatientHistoryItems);
    let offer = &Offer::known(settings, is_core(resource) || (cursor.is_some() && !chart))?;
    if !shows(offer, settings, resource) {
        return Err(Fault::unsupported("the server does not show such records"));
    }
    let cursor = Cursor::parse(cursor, clock::now(), delta, settings.whole_minutes)
        .ok_or_else(|| Fault::rejected("not a cursor of this adapter"))?;
    match resource {
        Resource::AppointmentTypes if !settings.types.is_empty() => {
            Ok(finished(settings.types.iter().map(map::configured_type).collect(), cursor, limit))
        }
        Resource::WorkingHours => working_hours(settings, cursor, limit),
        Resource::HistoryItems => history_items::page(
            settings,
            &of_history(offer, history::catalogue_entry),
            &histories(offer),
            cursor,
            limit,
        ),
        _ => match parts(settings, offer, resource)? {
            Some(parts) => walk(settings, &parts, cursor, limit).map(Walked::page),
            // The site has no rooms.
            None => Ok(finished(Vec::new(), cursor, limit)),
        },
    }
}

fn is_core(resource: Resource) -> bool {
    matches!(
        resource,
        Resource::Providers
            | Resource::AppointmentTypes
            | Resource::Operatories
            | Resource::Patients
            | Resource::WorkingHours
            | Resource::Appointments
    )
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
        Resource::PatientHistoryItems => of_history(offer, history::patient_item),
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
    let rooms = client::all(settings, "Location", &requests::rooms(Some(site)))?;
    Ok(Some(rooms.iter().map(|room| client::text(room, "id").to_owned()).collect()))
}

/// One schedule a page: its slots make its hours.
fn working_hours(settings: &Settings, mut cursor: Cursor, limit: u32) -> Result<Page, Fault> {
    let rooms = if settings.slots { rooms(settings)? } else { Some(Vec::new()) };
    if rooms.as_ref().is_some_and(Vec::is_empty) {
        return Ok(finished(Vec::new(), cursor, limit));
    }
    let search = requests::in_rooms("Schedule", rooms.as_deref());
    let Searched { step, spot, now } = client::page(settings, "Schedule", &search, &cursor.spot, 1)?;
    let began = cursor.started.unwrap_or(clock::now());
    // The schedule is read again for each page of its hours.
    let here = std::mem::replace(&mut cursor.spot, spot);
    let mut hours = Vec::new();
    for schedule in step.resources {
        let schedule: Schedule = match map::read(schedule) {
            Ok(schedule) => schedule,
            Err(why) => {
                warn!("a schedule is left out: {why}");
                cursor.partial = true;
                continue;
            }
        };
        let practitioners = practitioners(settings, &schedule.actor)?;
        if schedule.active == Some(false) || practitioners.is_empty() {
            continue;
        }
        let (from, until) = (began - 86_400, began + settings.slot_days * 86_400);
        let slots = client::all(settings, "Slot", &requests::slots(std::slice::from_ref(&schedule.id), from, until))?;
        let slots = slots.into_iter().filter_map(|slot| map::read::<Slot>(slot).ok()).collect();
        let stretches = hours::stretches(slots, settings);
        hours.extend(hours::hours(&schedule, &practitioners, &stretches, |at| clock::to_local(at).text));
    }
    let limit = limit.max(1) as usize;
    let records: Vec<Record> = hours.iter().skip(cursor.shown).take(limit).cloned().map(Record::WorkingHour).collect();
    let shown = cursor.shown + records.len();
    cursor.steady &= step.steady;
    let whole = cursor.shows_all();
    if shown < hours.len() {
        let cursor = Cursor { shown, started: Some(began), spot: here, ..cursor };
        return Ok(Page { records, cursor: cursor.to_string(), whole, ..Page::default() });
    }
    let last = step.next.is_none();
    let cursor = cursor.after(step.next, true, now.unwrap_or(began)).to_string();
    Ok(Page { records, cursor, last, whole, ..Page::default() })
}

/// The practitioners among actors; a role stands for its practitioner.
fn practitioners(settings: &Settings, actors: &[Reference]) -> Result<Vec<String>, Fault> {
    let mut ids: Vec<String> = actors.iter().filter_map(|actor| actor.id_of("Practitioner")).collect();
    let roles = actors.iter().filter_map(|actor| actor.id_of("PractitionerRole")).collect();
    let behind = enrich::by_role(settings, roles)?.into_values();
    ids.extend(behind.filter(|id| !ids.contains(id)).collect::<Vec<_>>());
    Ok(ids)
}

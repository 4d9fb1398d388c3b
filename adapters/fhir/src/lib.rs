//! Adapter for health record systems that speak FHIR R4. `requests` builds, `responses` parses, `map` and `hours` translate, `faults`
//! judges, `server` sends; this file joins them.

pub mod booking;
pub mod cursor;
pub mod faults;
pub mod hours;
pub mod map;
pub mod paging;
pub mod requests;
pub mod responses;
pub mod server;
pub mod settings;
pub mod slots;
pub mod time;

use adapter_sdk::{
    Adapter, Deletions, Description, Fault, Page, PullAbility, Receipt, Record, Resource, Write, WriteKind, clock, warn,
};
use serde_json::Value;

use cursor::Cursor;
use responses::{Reference, Schedule, Slot};
use server::Searched;
use settings::Settings;

pub struct Fhir;

adapter_sdk::export_adapter!(Fhir);

/// In the order in which they refer to each other, and whether a pass can show only what changed.
const PULLS: [(Resource, bool); 6] = [
    (Resource::Providers, false),
    (Resource::AppointmentTypes, false),
    (Resource::Operatories, false),
    (Resource::Patients, true),
    (Resource::WorkingHours, false),
    (Resource::Appointments, true),
];

const WRITES: [WriteKind; 4] = [
    WriteKind::CreatePatient,
    WriteKind::CreateAppointment,
    WriteKind::RescheduleAppointment,
    WriteKind::CancelAppointment,
];

impl Adapter for Fhir {
    fn describe() -> Result<Description, Fault> {
        let settings = Settings::read()?;
        // The one thing that must work; it also proves the credentials.
        server::page(&settings, "Location", &requests::rooms(settings.site.as_deref()), &Default::default(), 1)?;
        let ability = |(resource, delta)| PullAbility { resource, delta, deletions: Deletions::ByAbsence };
        Ok(Description {
            name: "FHIR R4".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            hosting: "cloud".into(),
            pulls: PULLS.map(ability).to_vec(),
            writes: WRITES.to_vec(),
            new_patients: true,
            operatories: true,
            ..Description::default()
        })
    }

    fn pull(resource: Resource, cursor: Option<String>, limit: u32) -> Result<Page, Fault> {
        let settings = Settings::read()?;
        let delta = PULLS.contains(&(resource, true));
        let cursor = Cursor::parse(cursor.as_deref(), clock::now(), delta, settings.whole_minutes)
            .ok_or_else(|| Fault::rejected("not a cursor of this adapter"))?;
        let listing = |resource_type, search, map| Listing { settings: &settings, resource_type, search, map };
        match resource {
            Resource::Providers => {
                listing("Practitioner", requests::search("Practitioner", &[]), map::practitioner).page(cursor, limit)
            }
            Resource::Patients => {
                listing("Patient", requests::search("Patient", &[]), map::patient).page(cursor, limit)
            }
            Resource::Operatories => {
                listing("Location", requests::rooms(settings.site.as_deref()), map::operatory).page(cursor, limit)
            }
            Resource::AppointmentTypes if !settings.types.is_empty() => {
                Ok(finished(settings.types.iter().map(map::configured_type).collect(), cursor))
            }
            Resource::AppointmentTypes => {
                let search = requests::search("HealthcareService", &[]);
                listing("HealthcareService", search, map::appointment_type).page(cursor, limit)
            }
            Resource::Appointments => match rooms(&settings)? {
                Some(rooms) if rooms.is_empty() => Ok(finished(Vec::new(), cursor)),
                rooms => {
                    let search = requests::in_rooms("Appointment", rooms.as_deref());
                    listing("Appointment", search, map::appointment).page(cursor, limit)
                }
            },
            Resource::WorkingHours => working_hours(&settings, cursor, limit),
            _ => Err(Fault::unsupported("this adapter does not read such records")),
        }
    }

    fn push(key: String, write: Write) -> Result<Receipt, Fault> {
        let settings = Settings::read()?;
        match write {
            Write::CreatePatient(patient) => {
                let lost = requests::unsupported(&patient);
                if !lost.is_empty() {
                    warn!("a Patient resource has no place for {}", lost.join(", "));
                }
                server::create(&settings, &requests::patient(&settings, &key, &patient), &key)
            }
            Write::CreateAppointment(change) => booking::create(&settings, &key, &change.appointment),
            Write::RescheduleAppointment(change) => booking::reschedule(&settings, &key, &change.appointment),
            Write::CancelAppointment(change) => {
                booking::cancel(&settings, &key, &change.appointment, change.reason.as_deref())
            }
            _ => Err(Fault::unsupported("this adapter does not write such records")),
        }
    }

    fn find(key: String, write: Write) -> Result<Option<Receipt>, Fault> {
        let settings = Settings::read()?;
        match write {
            Write::CreatePatient(_) => booking::find(&settings, "Patient", &key),
            Write::CreateAppointment(_) | Write::RescheduleAppointment(_) | Write::CancelAppointment(_) => {
                booking::find(&settings, "Appointment", &key)
            }
            _ => Err(Fault::unsupported("this adapter does not write such records")),
        }
    }
}

/// One resource type as a pull shows it.
struct Listing<'a> {
    settings: &'a Settings,
    resource_type: &'a str,
    search: String,
    map: fn(Value, &Settings) -> Result<Record, String>,
}

impl Listing<'_> {
    fn page(&self, cursor: Cursor, limit: u32) -> Result<Page, Fault> {
        let search = cursor.since.map_or_else(|| self.search.clone(), |at| requests::since(&self.search, at));
        let found = server::page(self.settings, self.resource_type, &search, &cursor.at, limit);
        let Searched { step, now } = match found {
            // A server that cannot search by time of change shows everything instead.
            Err(Fault::Rejected(_)) if cursor.since.is_some() && cursor.started.is_none() => {
                warn!("{} cannot be searched by _lastUpdated: everything is read", self.resource_type);
                return self.page(Cursor { since: None, whole_at: clock::now(), ..cursor }, limit);
            }
            other => other?,
        };
        let mut page = Page { estimate: step.total.filter(|_| cursor.is_whole()), ..Page::default() };
        for resource in step.resources {
            let id = server::text(&resource, "id").to_owned();
            match (self.map)(resource, self.settings) {
                Ok(record) => page.records.push(record),
                Err(why) => {
                    warn!("{} {id} is left out: {why}", self.resource_type);
                    // It may have had its place in the calendar before.
                    if self.resource_type == "Appointment" {
                        page.deleted.push(id);
                    }
                }
            }
        }
        let whole = cursor.is_whole();
        page.last = step.next.is_none();
        page.whole = whole && cursor.steady && step.steady;
        page.cursor = cursor.after(step.next, step.steady, now.unwrap_or_else(clock::now)).to_string();
        Ok(page)
    }
}

/// The only page of a pass.
fn finished(records: Vec<Record>, cursor: Cursor) -> Page {
    let cursor = cursor.after(None, true, clock::now()).to_string();
    Page { records, cursor, last: true, whole: true, ..Page::default() }
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
        return Ok(finished(Vec::new(), cursor));
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
        let practitioners = practitioners(&schedule.actor)?;
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
fn practitioners(actors: &[Reference]) -> Result<Vec<String>, Fault> {
    let mut ids: Vec<String> = actors.iter().filter_map(|actor| actor.id_of("Practitioner")).collect();
    for role in actors.iter().filter_map(|actor| actor.id_of("PractitionerRole")) {
        let role = server::read("PractitionerRole", &role)?.unwrap_or_default();
        let practitioner: Reference = serde_json::from_value(role["practitioner"].clone()).unwrap_or_default();
        ids.extend(practitioner.id_of("Practitioner"));
    }
    Ok(ids)
}

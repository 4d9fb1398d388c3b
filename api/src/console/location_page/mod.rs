//! One location: how it stands, a day of its calendar, its writes, its read cycle, its adapter, its workstations, and who hears of it.

mod calendar;
mod queue;
mod reading;

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash, Hasher},
};

use actix_web::{HttpResponse, web::Path};
use askama::Template;
use engine::{records::sync_state::SyncState, setup::LocationSetup};
use location::{ids::LocationId, time::Timestamp};

use super::{
    fleet,
    page::{Failure, Frame, live_address},
    visit::{Visit, beside},
    webhooks::{self, EndpointRow},
    words::{self, Badge, When},
};
use crate::{access::api::Api, http::errors::ApiError, values::role::Role};

pub(super) use calendar::{LANES, STEPS, standing};

#[derive(Template)]
#[template(path = "console/location.html")]
struct LocationPage {
    frame: Frame,
    id: LocationId,
    name: String,
    institution: String,
    status: Option<&'static str>,
    zone: String,
    ehr: Option<String>,
    node: Option<String>,
    reading: Light,
    writing: Light,
    /// By an operator.
    reading_paused: bool,
    writing_paused: bool,
    last_read: Option<When>,
    next_cycle: Option<When>,
    waits: Option<String>,
    calendar: calendar::Day,
    queue: queue::Queue,
    cycle: reading::Cycle,
    adapter: Option<reading::Adapter>,
    gate: Option<Gate>,
    webhooks: Vec<EndpointRow>,
    errors: Vec<Error>,
    /// What the operator's role may do.
    operates: bool,
    administers: bool,
}

/// Whether one direction works, since when, and why not.
struct Light {
    badge: Badge,
    since: When,
    reason: Option<String>,
}

struct Gate {
    badge: Badge,
    since: When,
    workstations: Vec<Workstation>,
}

struct Workstation {
    id: String,
    name: String,
    badge: Badge,
    version: String,
    last_seen: Option<When>,
    awaiting: u32,
}

/// Something that went wrong, and when last, where that is known.
struct Error {
    at: Option<When>,
    what: &'static str,
    reason: String,
}

/// Of them, the newest.
const ERRORS: usize = 12;

impl Light {
    fn of(works: bool, at: Timestamp, reason: Option<String>, now: Timestamp) -> Light {
        let badge = if works { Badge::good("green") } else { Badge::bad("red") };
        Light { badge, since: When::of(at, now), reason }
    }
}

pub(super) async fn show(visit: Visit, id: Path<String>) -> Result<HttpResponse, Failure> {
    let id = id.parse().map(LocationId).map_err(|_| ApiError::location_not_found(&*id))?;
    let page = beside(&visit, move |visit| read(visit, id)).await?;
    visit.show("GET /console/locations/{id}", &page).await
}

/// Changes when what is on the page does.
pub(super) async fn version(api: &Api, id: LocationId) -> Result<u64, Failure> {
    let mut hasher = DefaultHasher::new();
    let location = api.directory().location(id).cloned().ok_or_else(|| ApiError::location_not_found(id))?;
    let SyncState { progress, gate, queued, read_ok, write_ok, read_reason, write_reason, last_sync, guarded, .. } =
        api.engine.sync_state(id).await?;
    let standing = (progress, gate, queued, read_ok, write_ok, read_reason, write_reason);
    format!("{standing:?} {last_sync:?} {guarded:?} {:?}", location.status).hash(&mut hasher);
    format!("{:?}", api.engine.unfinished_writes(id).await?).hash(&mut hasher);
    // Records of its institution, appointments among them.
    api.engine.stamp(location.institution).hash(&mut hasher);
    format!("{:?}", api.engine.adapter_at(id)).hash(&mut hasher);
    webhooks::version_of(api, location.institution).hash(&mut hasher);
    Ok(hasher.finish())
}

async fn read(visit: Visit, id: LocationId) -> Result<LocationPage, Failure> {
    let (location, institution) = visit.location_here(id)?;
    visit.about(&location);
    let (api, now) = (visit.api.clone(), visit.api.engine.now());
    let live = live_address(&format!("/console/locations/{id}"), version(&api, id).await?);
    let state = api.engine.sync_state(id).await?;
    let queue = queue::Queue::read(&visit, &location, now).await?;
    let cycle = reading::Cycle::of(&visit, &location, &state, now);
    let errors = errors(&state, &queue, &cycle, now);
    Ok(LocationPage {
        frame: Frame { live: Some(live), ..visit.frame("fleet", location.name.clone()) },
        id,
        name: location.name.clone(),
        institution: institution.name.clone(),
        status: fleet::status(location.status),
        zone: location.zone.to_string(),
        ehr: state.ehr_name.clone(),
        node: api.engine.nodes().map(|nodes| nodes.name),
        reading: Light::of(state.read_ok, state.read_at, state.read_reason.clone(), now),
        writing: Light::of(state.write_ok, state.write_at, state.write_reason.clone(), now),
        reading_paused: state.paused.reading.is_some(),
        writing_paused: state.paused.writing.is_some(),
        last_read: state.last_sync.map(|at| When::of(at, now)),
        next_cycle: state.next_cycle.map(|at| When::of(at, now)),
        waits: state.read_waits.clone(),
        calendar: calendar::Day::read(&visit, &location, now)?,
        adapter: reading::Adapter::read(&visit, &location, &state, now)?,
        gate: gate(&visit, &location, &state, now)?,
        webhooks: webhooks::of_institution(&api, location.institution, now),
        errors,
        operates: visit.may(Role::Operator),
        administers: visit.may(Role::Admin),
        queue,
        cycle,
    })
}

fn gate(visit: &Visit, location: &LocationSetup, state: &SyncState, now: Timestamp) -> Result<Option<Gate>, Failure> {
    let Some(gate) = &state.gate else { return Ok(None) };
    let all = visit.api.engine.gateway().workstations(location.id).map_err(ApiError::from)?;
    let workstations = all.into_iter().map(|it| Workstation {
        id: it.id.to_string(),
        badge: match (it.connected, it.paused, it.logged_in) {
            (false, ..) => Badge::plain("not connected"),
            (_, true, _) => Badge::warn("paused"),
            (.., Some(false)) => Badge::warn("logged out"),
            _ if it.holds_lease => Badge::good("serves the location"),
            _ => Badge::plain("on standby"),
        },
        name: it.name,
        version: it.version,
        last_seen: it.last_seen.map(|at| When::of(at, now)),
        awaiting: it.awaiting,
    });
    let (badge, since) = (words::gate(gate.state), When::of(gate.since, now));
    Ok(Some(Gate { badge, since, workstations: workstations.collect() }))
}

/// What is wrong now, what failed lately, and what cannot be read.
fn errors(state: &SyncState, queue: &queue::Queue, cycle: &reading::Cycle, now: Timestamp) -> Vec<Error> {
    let standing = [
        ("reading", state.read_ok, state.read_at, &state.read_reason),
        ("writing", state.write_ok, state.write_at, &state.write_reason),
    ];
    let standing = standing.into_iter().filter(|(_, works, ..)| !works);
    let standing = standing.map(|(what, _, at, reason)| Error {
        at: Some(When::of(at, now)),
        what,
        reason: reason.clone().unwrap_or_default(),
    });
    let failed = queue.ended.iter().filter(|write| write.failed);
    let failed = failed.map(|write| Error { at: write.finished.clone(), what: "write", reason: write.reason.clone() });
    let reasons: BTreeSet<&String> = cycle.resources.iter().flat_map(|it| it.skipped_reasons.iter()).collect();
    let skipped = reasons.into_iter().map(|reason| Error { at: None, what: "record left out", reason: reason.clone() });
    standing.chain(failed).chain(skipped).take(ERRORS).collect()
}

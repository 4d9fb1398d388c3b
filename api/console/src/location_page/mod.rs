//! The page of a location: status, calendar, writes, read cycle, adapter, workstations and webhook endpoints. A second
//! page has its booking rules.

pub mod calendar;
mod queue;
mod reading;
pub mod rules;

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use actix_web::web::Path;
use endpoints::resources::{
    operators::recent_errors::{RecentErrorView, recent_errors},
    practice::problems::{self, ProblemView},
};
use engine::{
    records::{SyncState, sync_state::Cause},
    setup::Institution,
    workstations::Workstation,
};

use crate::{
    fleet,
    prelude::*,
    webhooks::{self, EndpointRow},
    words,
};

pub(crate) use self::{
    calendar::{LANES, STEPS, status_badge},
    queue::Write,
};

#[derive(Template)]
#[template(path = "console/location.html")]
struct LocationPage {
    frame: PageFrame,
    id: LocationId,
    location: Arc<LocationSetup>,
    institution: Arc<Institution>,
    state: SyncState,
    status: Option<&'static str>,
    /// Host and port of the EHR.
    address: Option<String>,
    has_ehr: bool,
    node: Option<String>,
    problems: Vec<Problem>,
    reading: DirectionStatus,
    writing: DirectionStatus,
    last_read: Option<RelativeTime>,
    /// Start of the last complete read of the appointments.
    schedule: Option<RelativeTime>,
    next_cycle: Option<RelativeTime>,
    calendar: calendar::CalendarDay,
    queue: queue::WriteQueue,
    cycle: reading::Cycle,
    adapter: Option<reading::AdapterSection>,
    gate: Option<GateSection>,
    webhooks: Vec<EndpointRow>,
    errors: Vec<Error>,
    /// Permissions of the operator's role.
    operates: bool,
    administers: bool,
}

/// A problem that prevents the location from reading or writing.
struct Problem {
    view: ProblemView,
    /// The next step in parts; `true` marks a command.
    step: Vec<(bool, String)>,
    /// The action that accepts stopped deletions, and the name of their resource.
    accepts: Vec<(&'static str, String)>,
}

/// The status of reading or writing, and the time of its last change.
struct DirectionStatus {
    badge: Badge,
    since: RelativeTime,
}

struct GateSection {
    badge: Badge,
    since: RelativeTime,
    workstations: Vec<WorkstationRow>,
}

struct WorkstationRow {
    workstation: Workstation,
    badge: Badge,
    last_seen: Option<RelativeTime>,
}

/// A recent error, possibly repeated.
struct Error {
    at: RelativeTime,
    /// The first occurrence of a repeated error.
    since: Option<RelativeTime>,
    times: u64,
    what: String,
    reason: String,
    request: Option<String>,
    write: Option<String>,
}

impl Error {
    fn from_view(it: RecentErrorView, now: Timestamp) -> Error {
        let what = it.resource.into_iter();
        Error {
            write: it.write_request_id,
            at: RelativeTime::new(it.at.0, now),
            since: (it.times > 1).then(|| RelativeTime::new(it.first_at.0, now)),
            times: it.times,
            what: std::iter::once(it.part).chain(what).collect::<Vec<_>>().join(" ").replace('_', " "),
            reason: it.reason,
            request: it.request_id,
        }
    }
}

impl DirectionStatus {
    fn new(location: &LocationSetup, works: bool, at: Timestamp, now: Timestamp) -> DirectionStatus {
        let badge = match fleet::status(location.status) {
            Some(_) => Badge::plain("inactive"),
            None if works => Badge::good("green"),
            None => Badge::bad("red"),
        };
        DirectionStatus { badge, since: RelativeTime::new(at, now) }
    }
}

pub(crate) async fn show(visit: ConsoleRequest, id: Path<String>) -> Result<HttpResponse, ConsoleError> {
    let id = id.parse().map(LocationId).map_err(|_| ApiError::not_found(format!("Location {id}")))?;
    let page = read_blocking(&visit, move |visit| read(visit, id)).await?;
    visit.show("GET /console/locations/{id}", &page).await
}

/// Returns a hash that changes with the content of the page.
pub(crate) async fn version(api: &Api, id: LocationId) -> Result<u64, ConsoleError> {
    let mut hasher = DefaultHasher::new();
    let location = api.directory().location(id).cloned().ok_or_else(|| ApiError::location_not_found(id))?;
    let SyncState { progress, gate, queued, read_ok, write_ok, read_reason, write_reason, last_sync, guarded, .. } =
        api.engine.sync_state(id).await?;
    let health = (progress, gate, queued, read_ok, write_ok, read_reason, write_reason);
    format!("{health:?} {last_sync:?} {guarded:?} {:?}", location.status).hash(&mut hasher);
    format!("{:?}", api.engine.unfinished_writes(id).await).hash(&mut hasher);
    format!("{:?}", api.engine.recent_errors(id)).hash(&mut hasher);
    api.engine.failed_writes_at(id)?.hash(&mut hasher);
    // Covers the records of the institution, including appointments.
    api.engine.stamp(location.institution).hash(&mut hasher);
    format!("{:?}", api.engine.adapter_at(id)).hash(&mut hasher);
    webhooks::version_of(api, location.institution).hash(&mut hasher);
    Ok(hasher.finish())
}

async fn read(visit: ConsoleRequest, id: LocationId) -> Result<LocationPage, ConsoleError> {
    let (location, institution) = visit.local_location(id)?;
    visit.about(&location);
    let (api, now) = (visit.api.clone(), visit.api.engine.now());
    let live = live_address(&format!("/console/locations/{id}"), version(&api, id).await?);
    let state = api.engine.sync_state(id).await?;
    let queue = queue::WriteQueue::read(&visit, &location, now).await?;
    let cycle = reading::Cycle::new(&visit, &location, &state, now);
    let setup = api.engine.setup();
    let stopped = || cycle.resources.iter().filter(|row| row.can_accept).map(|row| (row.key, row.name.clone()));
    let problems = problems::problems(&setup, &location, &state).into_iter().map(|view| Problem {
        accepts: if Cause::from_reason(&view.reason) == Cause::Deletions { stopped().collect() } else { Vec::new() },
        step: view.next_step.split('`').enumerate().map(|(n, part)| (n % 2 == 1, part.to_owned())).collect(),
        view,
    });
    let errors = recent_errors(&api.engine, id).into_iter().map(|it| Error::from_view(it, now));
    Ok(LocationPage {
        frame: PageFrame { live: Some(live), ..visit.frame("fleet", location.name.clone()) },
        id,
        status: fleet::status(location.status),
        node: api.engine.nodes().map(|nodes| nodes.name),
        address: problems::address(&setup, &location),
        has_ehr: location.source.is_some(),
        problems: problems.collect(),
        reading: DirectionStatus::new(&location, state.read_ok, state.read_at, now),
        writing: DirectionStatus::new(&location, state.write_ok, state.write_at, now),
        last_read: state.last_sync.map(|at| RelativeTime::new(at, now)),
        schedule: state.schedule_as_of.map(|at| RelativeTime::new(at, now)),
        next_cycle: state.next_cycle.map(|at| RelativeTime::new(at, now)),
        calendar: calendar::CalendarDay::read(&visit, &location, now)?,
        adapter: reading::AdapterSection::read(&visit, &location, &state, now)?,
        gate: gate(&visit, &location, &state, now)?,
        webhooks: webhooks::list_for_institution(&api, location.institution, now),
        errors: errors.collect(),
        operates: visit.may(Role::Operator),
        administers: visit.may(Role::Admin),
        queue,
        cycle,
        location,
        institution,
        state,
    })
}

fn gate(
    visit: &ConsoleRequest,
    location: &LocationSetup,
    state: &SyncState,
    now: Timestamp,
) -> Result<Option<GateSection>, ConsoleError> {
    let Some(gate) = &state.gate else { return Ok(None) };
    let all = visit.api.engine.gateway().workstations(location.id).map_err(ApiError::from)?;
    let workstations = all.into_iter().map(|it| WorkstationRow {
        badge: match (it.connected, it.paused, it.logged_in) {
            (false, ..) => Badge::plain("not connected"),
            (_, true, _) => Badge::warn("paused"),
            (.., Some(false)) => Badge::warn("logged out"),
            _ if it.holds_lease => Badge::good("serves the location"),
            _ => Badge::plain("on standby"),
        },
        last_seen: it.last_seen.map(|at| RelativeTime::new(at, now)),
        workstation: it,
    });
    let (badge, since) = (words::gate(gate.state), RelativeTime::new(gate.since, now));
    Ok(Some(GateSection { badge, since, workstations: workstations.collect() }))
}

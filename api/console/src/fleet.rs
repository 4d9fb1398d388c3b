//! The overview of all locations, with those that need an operator first.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    mem::discriminant,
    sync::Arc,
};

use endpoints::resources::practice::problems;
use engine::{
    Place,
    metrics::LocationHealth,
    records::{AdapterStatus, GateState, sync_state::Cause},
    setup::{Institution, LocationStatus},
};

use crate::{prelude::*, webhooks, words};

/// Locations per page.
const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "console/fleet.html")]
struct FleetPage {
    frame: PageFrame,
    counts: FleetCounts,
    rows: Vec<FleetRow>,
    asked: SearchForm,
    found: usize,
    first: usize,
    last: usize,
    /// Queries of the previous and next page.
    before: Option<String>,
    after: Option<String>,
}

struct FleetCounts {
    locations: usize,
    /// The oldest pending write.
    oldest: Option<RelativeTime>,
    /// The oldest of the locations' last complete reads.
    last_read: Option<RelativeTime>,
    /// The time since which 99% of the locations have read their appointments.
    schedule: Option<RelativeTime>,
    /// The number of locations in each state of `STATES`.
    states: Vec<StateCount>,
    /// Webhook endpoints whose last message was not delivered.
    webhooks_failing: usize,
}

struct StateCount {
    state: &'static FleetState,
    count: usize,
    /// The number of writes, for a state of writes.
    writes: Option<u64>,
}

/// The submitted search form.
struct SearchForm {
    q: String,
    state: String,
    order: String,
    orders: [(&'static str, &'static str); 5],
}

struct FleetRow {
    summary: LocationSummary,
    status: Option<&'static str>,
    /// The reasons for a red status.
    reasons: Vec<Reason>,
    oldest: Option<RelativeTime>,
    last_read: Option<RelativeTime>,
    /// Start of the last complete read of the appointments.
    schedule: Option<RelativeTime>,
    gate: Option<Badge>,
}

/// A reason for a red status, and its runbook for operators.
struct Reason {
    text: String,
    runbook: &'static str,
}

/// The known status of a location, read without loading the location into memory.
struct LocationSummary {
    location: Arc<LocationSetup>,
    institution: Arc<Institution>,
    health: Option<LocationHealth>,
    /// The reason why the adapter cannot be used.
    refused: Option<String>,
    gate: Option<GateState>,
    node: Option<String>,
    /// Failed writes that wait for an operator.
    failed: u64,
    /// Host and port of the EHR.
    address: Option<String>,
}

/// A state by which locations are counted and filtered.
struct FleetState {
    key: &'static str,
    text: &'static str,
    /// The state requires an action of an operator.
    bad: bool,
    is: fn(&LocationSummary) -> bool,
    writes: Option<fn(&LocationSummary) -> u64>,
}

impl FleetState {
    const fn new(key: &'static str, text: &'static str, is: fn(&LocationSummary) -> bool) -> FleetState {
        FleetState { key, text, bad: false, is, writes: None }
    }

    const fn bad(key: &'static str, text: &'static str, is: fn(&LocationSummary) -> bool) -> FleetState {
        FleetState { bad: true, ..FleetState::new(key, text, is) }
    }

    const fn with_writes(self, writes: fn(&LocationSummary) -> u64) -> FleetState {
        FleetState { writes: Some(writes), ..self }
    }

    /// Returns `true` if the state is shown even without a location in it.
    fn is_always_shown(&self) -> bool {
        ["red", "failed-writes"].contains(&self.key)
    }
}

static STATES: [FleetState; 9] = [
    FleetState::bad("red", "Red", LocationSummary::is_red),
    FleetState::bad("failed-writes", "Failed writes", |it| it.failed > 0).with_writes(|it| it.failed),
    FleetState::bad("not-reading", "Not reading", |it| it.reading().color == "bad"),
    FleetState::bad("not-writing", "Not writing", |it| it.writing().color == "bad"),
    FleetState::bad("gate-shut", "Gate shut", LocationSummary::is_shut),
    FleetState::new("writes-waiting", "Writes waiting", |it| it.queued() > 0).with_writes(LocationSummary::queued),
    FleetState::new("no-ehr", "No EHR", LocationSummary::has_no_ehr),
    FleetState::new("no-news", "No news yet", |it| it.node.is_none() && it.health.is_none()),
    FleetState::new("elsewhere", "At other nodes", |it| it.node.is_some()),
];

const ORDERS: [(&str, &str); 5] = [
    ("", "trouble first"),
    ("queue", "oldest write first"),
    ("lag", "longest unread first"),
    ("schedule", "oldest appointments first"),
    ("name", "by name"),
];

impl LocationSummary {
    fn reading(&self) -> Badge {
        self.light(|health| &health.read_problem)
    }

    fn writing(&self) -> Badge {
        self.light(|health| &health.write_problem)
    }

    fn light(&self, problem: impl Fn(&LocationHealth) -> &Option<String>) -> Badge {
        let is_here = self.is_active() && self.node.is_none();
        match &self.health {
            Some(health) if is_here && health.unloadable_since.is_some() => Badge::bad("red"),
            _ if self.has_no_ehr() => Badge::plain("No EHR"),
            _ if !self.is_active() => Badge::plain("inactive"),
            _ if self.node.is_some() => Badge::plain("see its node"),
            _ if self.refused.is_some() => Badge::bad("red"),
            Some(health) if problem(health).is_some() => Badge::bad("red"),
            Some(_) => Badge::good("green"),
            None => Badge::plain("no news yet"),
        }
    }

    fn has_no_ehr(&self) -> bool {
        self.location.source.is_none()
    }

    /// Returns `false` for a location that is not read, because it is pending or closed.
    fn is_active(&self) -> bool {
        self.location.status == LocationStatus::Active
    }

    fn needs_operator(&self) -> bool {
        self.is_red() || self.failed > 0
    }

    fn is_red(&self) -> bool {
        [self.reading(), self.writing()].iter().any(|light| light.color == "bad")
    }

    fn is_shut(&self) -> bool {
        matches!(self.gate, Some(GateState::Closed | GateState::LoggedOut | GateState::Paused))
    }

    fn reasons(&self) -> Vec<Reason> {
        if !self.is_red() {
            return Vec::new();
        }
        let of_health = self.health.iter().flat_map(|it| [&it.read_problem, &it.write_problem]).flatten();
        let mut reasons: Vec<String> = self.refused.iter().chain(of_health).cloned().collect();
        reasons.dedup();
        let reason = |text: String| {
            let cause = Cause::from_reason(&text);
            let address = self.address.as_ref().filter(|_| cause == Cause::Ehr);
            let text = address.map_or(text.clone(), |address| format!("{text} (EHR at {address})"));
            Reason { text, runbook: problems::runbook(cause) }
        };
        reasons.into_iter().map(reason).collect()
    }

    fn queued(&self) -> u64 {
        self.health.as_ref().map_or(0, |health| health.queued)
    }

    fn oldest(&self) -> Option<Timestamp> {
        self.health.as_ref()?.oldest_write
    }

    fn last_read(&self) -> Option<Timestamp> {
        self.health.as_ref().filter(|_| self.is_active())?.last_read
    }

    fn schedule_as_of(&self) -> Option<Timestamp> {
        self.health.as_ref().filter(|_| self.is_active())?.schedule_as_of
    }

    fn is_called(&self, q: &str) -> bool {
        let node = self.node.iter();
        let mut named =
            [&self.location.name, &self.institution.name, &self.institution.subdomain].into_iter().chain(node);
        self.location.id.0.to_string() == q || named.any(|name| name.to_lowercase().contains(q))
    }
}

fn all(api: &Api) -> Result<Vec<LocationSummary>, ConsoleError> {
    let (engine, directory, mut location_health) = (&api.engine, api.directory(), api.engine.location_health());
    let (setup, failed) = (engine.setup(), engine.failed_writes()?);
    let mut all = Vec::new();
    for institution in directory.institutions() {
        let node = match engine.place(institution.id) {
            Place::Elsewhere(node) => Some(node),
            Place::Mine | Place::Unsettled => None,
        };
        let known = |location: &Arc<LocationSetup>| LocationSummary {
            health: location_health.remove(&location.id),
            refused: engine.adapter_at(location.id).and_then(|adapter| {
                let refused = adapter.status == AdapterStatus::Refused;
                refused.then(|| format!("the adapter cannot be used: {}", adapter.reason.unwrap_or_default()))
            }),
            gate: engine.gate(location.id).map(|gate| gate.state),
            node: node.clone(),
            failed: failed.get(&location.id).copied().unwrap_or_default(),
            address: problems::address(&setup, location),
            location: location.clone(),
            institution: institution.clone(),
        };
        all.extend(directory.locations_of(institution.id).iter().map(known));
    }
    Ok(all)
}

/// Returns a hash that changes with the status of a location and with the number of failing endpoints.
pub(crate) fn version(api: &Api) -> Result<u64, ConsoleError> {
    Ok(version_of(api, &all(api)?))
}

fn version_of(api: &Api, all: &[LocationSummary]) -> u64 {
    let mut hasher = DefaultHasher::new();
    webhooks::failing(api).hash(&mut hasher);
    for it in all {
        let LocationSummary { location, health, refused, gate, node, failed, .. } = it;
        (location.id, discriminant(&location.status), health, refused, gate.as_ref().map(discriminant), node)
            .hash(&mut hasher);
        failed.hash(&mut hasher);
    }
    hasher.finish()
}

impl FleetCounts {
    fn new(api: &Api, all: &[LocationSummary], now: Timestamp) -> FleetCounts {
        let first = |at: fn(&LocationSummary) -> Option<Timestamp>| {
            Some(RelativeTime::new(all.iter().filter_map(at).min()?, now))
        };
        let count = |state: &'static FleetState| {
            let count = all.iter().filter(|it| (state.is)(it)).count();
            StateCount { state, count, writes: state.writes.map(|writes| all.iter().map(writes).sum()) }
        };
        FleetCounts {
            locations: all.len(),
            oldest: first(LocationSummary::oldest),
            last_read: first(LocationSummary::last_read),
            schedule: reached_by_most(all.iter().filter_map(LocationSummary::schedule_as_of).collect())
                .map(|at| RelativeTime::new(at, now)),
            states: STATES.iter().map(count).collect(),
            webhooks_failing: webhooks::failing(api),
        }
    }
}

/// Returns the latest of the times that at most 1% of all precede: with their ages, the 99th percentile.
fn reached_by_most(mut times: Vec<Timestamp>) -> Option<Timestamp> {
    times.sort_unstable();
    times.get(times.len() / 100).copied()
}

impl SearchForm {
    fn from_query(visit: &ConsoleRequest) -> SearchForm {
        let text = |name| visit.query_value(name).unwrap_or_default().to_owned();
        SearchForm { q: text("q"), state: text("state"), order: text("order"), orders: ORDERS }
    }

    fn everything(&self) -> bool {
        self.q.is_empty() && self.state.is_empty()
    }

    fn filter_and_sort(&self, all: Vec<LocationSummary>) -> Vec<LocationSummary> {
        let (q, state) = (self.q.to_lowercase(), STATES.iter().find(|state| state.key == self.state));
        let wanted =
            |it: &LocationSummary| state.is_none_or(|state| (state.is)(it)) && (q.is_empty() || it.is_called(&q));
        let mut found: Vec<LocationSummary> = all.into_iter().filter(wanted).collect();
        found.sort_by_cached_key(|it| {
            let forever = |at: Option<Timestamp>| at.unwrap_or(Timestamp::MAX);
            let first = match self.order.as_str() {
                "queue" => (false, forever(it.oldest())),
                "lag" => (false, forever(it.last_read())),
                "schedule" => (false, forever(it.schedule_as_of())),
                "name" => (false, Timestamp::MAX),
                _ => (!it.needs_operator(), forever(it.oldest())),
            };
            (first, it.location.name.clone(), it.location.id)
        });
        found
    }

    fn link(&self, page: usize) -> String {
        query(&[("q", &self.q), ("state", &self.state), ("order", &self.order), ("page", &page.to_string())])
    }
}

pub(crate) async fn show(visit: ConsoleRequest) -> Result<HttpResponse, ConsoleError> {
    let page = read_blocking(&visit, |visit| async move { read(&visit) }).await?;
    visit.show("GET /console", &page).await
}

fn read(visit: &ConsoleRequest) -> Result<FleetPage, ConsoleError> {
    let (api, now, asked) = (&visit.api, visit.api.engine.now(), SearchForm::from_query(visit));
    let all = all(api)?;
    let live = live_address("/console", version_of(api, &all));
    let counts = FleetCounts::new(api, &all, now);
    let found = asked.filter_and_sort(all);
    let pages = found.len().div_ceil(PAGE).max(1);
    let page = visit.query_value("page").and_then(|page| page.parse().ok()).unwrap_or(1usize).clamp(1, pages);
    let (first, found_in_all) = ((page - 1) * PAGE, found.len());
    let rows: Vec<FleetRow> = found.into_iter().skip(first).take(PAGE).map(|it| row(it, now)).collect();
    Ok(FleetPage {
        frame: PageFrame { live: Some(live), ..visit.frame("fleet", "Fleet") },
        counts,
        first: first + usize::from(!rows.is_empty()),
        last: first + rows.len(),
        found: found_in_all,
        before: (page > 1).then(|| asked.link(page - 1)),
        after: (page < pages).then(|| asked.link(page + 1)),
        rows,
        asked,
    })
}

fn row(summary: LocationSummary, now: Timestamp) -> FleetRow {
    let when = |at: Option<Timestamp>| at.map(|at| RelativeTime::new(at, now));
    FleetRow {
        status: status(summary.location.status),
        reasons: summary.reasons(),
        oldest: when(summary.oldest()),
        last_read: when(summary.last_read()),
        schedule: when(summary.schedule_as_of()),
        gate: summary.gate.map(words::gate),
        summary,
    }
}

/// Returns `None` for an active location, which needs no label.
pub(crate) fn status(status: LocationStatus) -> Option<&'static str> {
    match status {
        LocationStatus::Active => None,
        LocationStatus::Pending => Some("pending"),
        LocationStatus::Closed => Some("closed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_that_all_but_one_percent_of_the_locations_reach_is_shown() {
        let reached = |locations: i64| reached_by_most((0..locations).rev().map(Timestamp).collect());
        assert_eq!(reached(0), None);
        assert_eq!(reached(1), Some(Timestamp(0)));
        assert_eq!(reached(99), Some(Timestamp(0)));
        assert_eq!(reached(100), Some(Timestamp(1)));
        assert_eq!(reached(1_000), Some(Timestamp(10)));
    }
}

//! All locations at once: those that need somebody first.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use actix_web::HttpResponse;
use askama::Template;
use engine::{
    Place,
    metrics::Standing,
    records::sync_state::{AdapterStatus, GateState},
    setup::{Institution, LocationSetup, LocationStatus},
};
use location::{ids::LocationId, time::Timestamp};

use super::{
    page::{Failure, Frame, live_address, query},
    visit::{Visit, beside},
    words::{self, Badge, When},
};
use crate::access::api::Api;

/// Locations of a page.
const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "console/fleet.html")]
struct FleetPage {
    frame: Frame,
    counts: Counts,
    rows: Vec<Row>,
    q: String,
    red: bool,
    found: usize,
    first: usize,
    last: usize,
    /// Queries of the pages before and after this one.
    before: Option<String>,
    after: Option<String>,
}

#[derive(Default)]
struct Counts {
    locations: usize,
    not_reading: usize,
    not_writing: usize,
    writes: u64,
    /// The writes that have waited longest.
    oldest: Option<When>,
    gates_shut: usize,
    elsewhere: usize,
}

struct Row {
    id: LocationId,
    name: String,
    institution: String,
    status: Option<&'static str>,
    reading: Badge,
    writing: Badge,
    /// Why it is red.
    reasons: Vec<String>,
    queued: u64,
    oldest: Option<When>,
    last_read: Option<When>,
    gate: Option<Badge>,
    node: Option<String>,
}

/// A location as far as it is known without asking it.
struct Known {
    location: Arc<LocationSetup>,
    institution: Arc<Institution>,
    standing: Option<Standing>,
    adapter: Option<AdapterStatus>,
    gate: Option<GateState>,
    node: Option<String>,
}

impl Known {
    fn reading(&self) -> Badge {
        self.light(|standing| standing.reads)
    }

    fn writing(&self) -> Badge {
        self.light(|standing| standing.writes)
    }

    fn light(&self, works: impl Fn(&Standing) -> bool) -> Badge {
        match (&self.standing, self.adapter) {
            _ if self.node.is_some() => Badge::plain("see its node"),
            (_, Some(AdapterStatus::Refused)) => Badge::bad("red"),
            (Some(standing), _) if !works(standing) => Badge::bad("red"),
            (Some(_), _) => Badge::good("green"),
            (None, _) => Badge::plain("no news yet"),
        }
    }

    fn is_red(&self) -> bool {
        [self.reading(), self.writing()].iter().any(|light| light.color == "bad")
    }

    fn oldest(&self) -> Option<Timestamp> {
        self.standing.and_then(|standing| standing.oldest_write)
    }

    fn is_called(&self, q: &str) -> bool {
        let named = [&self.location.name, &self.institution.name, &self.institution.subdomain];
        self.location.id.0.to_string() == q || named.iter().any(|name| name.to_lowercase().contains(q))
    }
}

/// One pass over what all of them left behind.
fn all(api: &Api) -> Vec<Known> {
    let (engine, standings) = (&api.engine, api.engine.standings());
    let mut places: BTreeMap<_, Option<String>> = BTreeMap::new();
    let mut all = Vec::new();
    for location in api.directory().locations() {
        let Some(institution) = engine.setup().institutions.get(&location.institution).cloned() else { continue };
        let node = places.entry(institution.id).or_insert_with(|| match engine.place(institution.id) {
            Place::Elsewhere(node) => Some(node),
            Place::Mine | Place::Unsettled => None,
        });
        all.push(Known {
            standing: standings.get(&location.id).copied(),
            adapter: engine.adapter_at(location.id).map(|adapter| adapter.status),
            gate: engine.gate(location.id).map(|gate| gate.state),
            node: node.clone(),
            location: location.clone(),
            institution,
        });
    }
    all
}

/// Changes when one of them does.
pub(super) fn version(api: &Api) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut all = all(api);
    all.sort_by_key(|it| it.location.id);
    for it in all {
        let Known { location, standing, adapter, gate, node, .. } = it;
        format!("{} {:?} {standing:?} {adapter:?} {gate:?} {node:?}", location.id, location.status).hash(&mut hasher);
    }
    hasher.finish()
}

impl Counts {
    fn of(all: &[Known], now: Timestamp) -> Counts {
        let mut counts = Counts { locations: all.len(), ..Counts::default() };
        for it in all {
            counts.not_reading += usize::from(it.reading().color == "bad");
            counts.not_writing += usize::from(it.writing().color == "bad");
            counts.writes += it.standing.map_or(0, |standing| standing.queued);
            let shut = matches!(it.gate, Some(GateState::Closed | GateState::LoggedOut | GateState::Paused));
            counts.gates_shut += usize::from(shut);
            counts.elsewhere += usize::from(it.node.is_some());
        }
        counts.oldest = all.iter().filter_map(Known::oldest).min().map(|at| When::of(at, now));
        counts
    }
}

pub(super) async fn show(visit: Visit) -> Result<HttpResponse, Failure> {
    let page = beside(&visit, read).await?;
    visit.show("GET /console", &page).await
}

async fn read(visit: Visit) -> Result<FleetPage, Failure> {
    let (api, now) = (&visit.api, visit.api.engine.now());
    let live = live_address("/console", version(api));
    let all = all(api);
    let counts = Counts::of(&all, now);
    let (q, red) = (visit.asked("q").unwrap_or_default().to_owned(), visit.asked("red").is_some());
    let wanted = q.to_lowercase();
    let mut found: Vec<Known> =
        all.into_iter().filter(|it| (!red || it.is_red()) && (wanted.is_empty() || it.is_called(&wanted))).collect();
    let forever = Timestamp::MAX;
    found.sort_by_cached_key(|it| {
        (!it.is_red(), it.oldest().unwrap_or(forever), it.location.name.clone(), it.location.id)
    });
    let pages = found.len().div_ceil(PAGE).max(1);
    let page = visit.asked("page").and_then(|page| page.parse().ok()).unwrap_or(1usize).clamp(1, pages);
    let (first, found_in_all) = ((page - 1) * PAGE, found.len());
    let mut rows = Vec::new();
    for it in found.into_iter().skip(first).take(PAGE) {
        rows.push(row(api, it, now).await);
    }
    let red_too: &[(&str, &str)] = if red { &[("red", "1")] } else { &[] };
    let link = |page: usize| query(&[&[("q", q.as_str()), ("page", &page.to_string())], red_too].concat());
    Ok(FleetPage {
        frame: Frame { live: Some(live), ..visit.frame("fleet", "Fleet") },
        counts,
        first: first + usize::from(!rows.is_empty()),
        last: first + rows.len(),
        found: found_in_all,
        before: (page > 1).then(|| link(page - 1)),
        after: (page < pages).then(|| link(page + 1)),
        rows,
        red,
        q,
    })
}

/// Those that are red are asked why.
async fn row(api: &Api, it: Known, now: Timestamp) -> Row {
    let mut reasons = Vec::new();
    if it.is_red()
        && let Ok(state) = api.engine.sync_state(it.location.id).await
    {
        reasons.extend([state.read_reason, state.write_reason].into_iter().flatten());
        reasons.dedup();
    }
    Row {
        id: it.location.id,
        name: it.location.name.clone(),
        institution: it.institution.name.clone(),
        status: status(it.location.status),
        reading: it.reading(),
        writing: it.writing(),
        reasons,
        queued: it.standing.map_or(0, |standing| standing.queued),
        oldest: it.oldest().map(|at| When::of(at, now)),
        last_read: it.standing.and_then(|standing| standing.last_read).map(|at| When::of(at, now)),
        gate: it.gate.map(words::gate),
        node: it.node,
    }
}

/// None where there is nothing to say: it is active.
pub(super) fn status(status: LocationStatus) -> Option<&'static str> {
    match status {
        LocationStatus::Active => None,
        LocationStatus::Pending => Some("pending"),
        LocationStatus::Closed => Some("closed"),
    }
}

//! The read cycle of a location, its request quota and its adapter.

use std::collections::BTreeSet;

use engine::{adapter_host::CallCosts, records::SyncState};
use framework::access::resource_names::name;
use location::{Resource, pull::Progress};

use crate::{prelude::*, words};

pub(super) struct Cycle {
    pub reading: Option<&'static str>,
    pub resources: Vec<ResourceRow>,
    pub per_minute: u32,
    pub burst: u32,
    pub left: u32,
    /// The latest complete read of a resource.
    pub latest: Option<RelativeTime>,
    /// Records were skipped, or deletions wait for an operator.
    pub is_notable: bool,
}

pub(super) struct ResourceRow {
    /// The name in URLs.
    pub key: &'static str,
    pub name: String,
    pub running: bool,
    pub whole: bool,
    pub records: u64,
    /// The total number of records, if the EHR reports it during the pass.
    pub estimate: Option<u64>,
    pub ended: Option<RelativeTime>,
    pub skipped: usize,
    pub skipped_reasons: Vec<String>,
    /// Records that the next full pass has to confirm as deleted.
    pub missing: usize,
    /// The last full pass contradicted the total that the EHR announced.
    pub incomplete: bool,
    pub stopped: bool,
    pub can_accept: bool,
}

impl Cycle {
    pub(super) fn new(visit: &ConsoleRequest, location: &LocationSetup, state: &SyncState, now: Timestamp) -> Cycle {
        let all: BTreeSet<Resource> = state.progress.keys().chain(&state.guarded).copied().collect();
        let row = |resource: Resource| {
            let Progress { running, whole, records, estimate, ended_at, short } =
                state.progress.get(&resource).copied().unwrap_or_default();
            let skips = state.skipped.get(&resource);
            let reasons: BTreeSet<String> =
                skips.iter().flat_map(|it| it.values()).map(|it| it.reason.clone()).collect();
            let stopped = state.guarded.contains(&resource);
            ResourceRow {
                key: name(resource),
                name: name(resource).replace('_', " "),
                running,
                whole,
                records,
                estimate: estimate.filter(|all| running && *all > 0).map(|all| all.max(records)),
                ended: ended_at.map(|at| RelativeTime::new(at, now)),
                skipped: skips.map_or(0, |it| it.len()),
                skipped_reasons: reasons.into_iter().collect(),
                missing: state.missing.get(&resource).copied().unwrap_or_default(),
                incomplete: short,
                stopped,
                can_accept: stopped && visit.may(Role::Operator),
            }
        };
        let resources: Vec<ResourceRow> = all.into_iter().map(row).collect();
        Cycle {
            reading: state.reading.map(name),
            latest: state.progress.values().filter_map(|it| it.ended_at).max().map(|at| RelativeTime::new(at, now)),
            is_notable: resources.iter().any(|it| it.stopped || it.incomplete || it.skipped > 0 || it.missing > 0),
            resources,
            per_minute: location.settings.quota.per_minute,
            burst: location.settings.quota.burst,
            left: state.requests_left,
        }
    }
}

pub(super) struct AdapterSection {
    pub name: String,
    pub badge: Badge,
    pub reason: Option<String>,
    pub version: Option<String>,
    pub sha256: Option<String>,
    /// The location uses another version than the configuration.
    pub rolled_out: bool,
    pub can_roll_back: bool,
    pub offered: Vec<Offered>,
    pub costs: Vec<Cost>,
}

pub(super) struct Offered {
    /// SHA-256, or `configured`.
    pub key: String,
    pub text: String,
    pub uploaded: Option<RelativeTime>,
}

pub(super) struct Cost {
    pub call: &'static str,
    pub total: CallCosts,
    /// Average per call.
    pub milliseconds: String,
    pub processor: String,
    pub memory: String,
}

impl AdapterSection {
    pub(super) fn read(
        visit: &ConsoleRequest,
        location: &LocationSetup,
        state: &SyncState,
        now: Timestamp,
    ) -> Result<Option<AdapterSection>, ConsoleError> {
        let engine = &visit.api.engine;
        let Some(adapter) = state.adapter.clone() else { return Ok(None) };
        let rolled_out = engine.rolled_out(location.id).map_err(ApiError::from)?.map(|(_, it)| it).unwrap_or_default();
        let mut offered = Vec::new();
        if visit.may(Role::Admin) {
            let versions = engine.adapter_versions(&adapter.name).map_err(ApiError::from)?;
            let others = versions.into_iter().filter(|it| rolled_out.now.as_deref() != Some(&it.sha256));
            offered.extend(others.map(|it| Offered {
                text: format!("{} ({})", it.version, words::short(&it.sha256)),
                uploaded: Some(RelativeTime::new(it.uploaded_at, now)),
                key: it.sha256,
            }));
            if rolled_out.now.is_some() {
                let text = "the version of the configuration".to_owned();
                offered.push(Offered {
                    key: endpoints::resources::operators::adapters::CONFIGURED.to_owned(),
                    text,
                    uploaded: None,
                });
            }
        }
        let costs = engine.adapter_costs_at(location.id).into_iter().map(|(call, costs)| Cost::new(call, costs));
        Ok(Some(AdapterSection {
            badge: words::adapter(adapter.status),
            name: adapter.name,
            reason: adapter.reason,
            version: adapter.version,
            sha256: adapter.sha256.as_deref().map(words::short),
            can_roll_back: visit.may(Role::Admin) && rolled_out.now != rolled_out.before,
            rolled_out: rolled_out.now.is_some(),
            offered,
            costs: costs.collect(),
        }))
    }
}

impl Cost {
    fn new(call: &'static str, costs: CallCosts) -> Cost {
        let calls = (costs.answered + costs.faults + costs.lost).max(1) as f64;
        Cost {
            call,
            total: costs,
            milliseconds: format!("{:.1}", costs.time.as_secs_f64() * 1e3 / calls),
            processor: format!("{:.1}", costs.processor.as_secs_f64() * 1e3 / calls),
            memory: format!("{:.1}", costs.memory as f64 / f64::from(1 << 20)),
        }
    }
}

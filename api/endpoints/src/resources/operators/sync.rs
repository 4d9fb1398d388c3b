//! GET and POST /locations/{id}/sync, POST /locations/{id}/sync/accept_deletions, /locations/{id}/pause and /resume:
//! control of a location's read cycle by operators (our addition).

use std::cmp::Reverse;

use engine::records::{AdapterState, AdapterStatus};
use framework::access::resource_names::{name, resource};
use location::{
    Command,
    pause::Directions,
    pull::{Progress, Skip},
};

use super::adapter_costs::AdapterCallsView;
use crate::{
    prelude::*,
    resources::practice::problems::{ProblemView, address, problems},
    views::gate::GateView,
};

/// The read progress of a location and its waiting writes.
#[view]
pub struct LocationSyncView {
    location_id: u32,
    /// End time of the last complete read cycle; null before the first one.
    last_sync_at: Option<At>,
    /// Time up to which the changes of staff to appointments are known: the start of the last complete read of the
    /// appointments. Null before the first one, and without a health record system.
    schedule_as_of: Option<At>,
    /// Time of the next read cycle; null while a cycle runs, before the first one, and without a health record system.
    next_cycle_at: Option<At>,
    /// The resource that the running cycle reads; null if no cycle runs.
    reading: Option<&'static str>,
    /// Reason why reading fails, as reported by the health record system if it provides one; null if reading works.
    /// Never contains patient data.
    read_problem: Option<String>,
    /// Reason why writing does not work; null if it works. Never contains patient data.
    write_problem: Option<String>,
    /// Problems that keep the location from reading or writing, each with the next step; empty if both work. A pending
    /// or closed location is not read: only problems of its waiting writes, damaged records and another data source are
    /// listed.
    problems: Vec<ProblemView>,
    /// Host and port of the health record system; null without a health record system, and for a simulated one.
    ehr_address: Option<String>,
    /// Number of unfinished writes to the health record system. If the records of the location are damaged, the last
    /// number known since the start of the server.
    writes_waiting: u64,
    /// Number of writes that failed and that no operator has retried or dropped.
    writes_failed: u64,
    /// Time at which the oldest unfinished write was queued, in UTC; null if there is none.
    oldest_write_at: Option<At>,
    /// Reason why the next page has to wait without a failure; null if it does not wait.
    read_waits: Option<String>,
    /// Time at which an operator paused reading; null if it is not paused.
    reading_paused_since: Option<At>,
    /// Time at which an operator paused writing; null if it is not paused.
    writing_paused_since: Option<At>,
    /// The adapter of the location; null without a health record system.
    adapter: Option<AdapterView>,
    /// Cost of the adapter's calls since the start of the process that serves the location.
    adapter_calls: Vec<AdapterCallsView>,
    /// Name of the node that serves the location; null if one process serves all locations.
    node: Option<String>,
    /// Time since which the node has served the location; null if one process serves all locations.
    node_since: Option<At>,
    /// The gate of the location; null if the health record system needs no workstation.
    gate: Option<GateView>,
    /// Progress of the current or last read cycle, by resource.
    resources: Vec<ResourceProgress>,
}

/// The adapter that connects a location to its health record system.
#[view(value = AdapterState)]
pub(crate) struct AdapterView {
    /// Name of the adapter in the configuration.
    name: String,
    /// Status of the adapter: `ready`, `preparing` or `refused`. If it is `refused`, the location responds with 503
    /// until an operator fixes the adapter.
    #[view(with = match entry.status {
        AdapterStatus::Preparing => "preparing",
        AdapterStatus::Ready => "ready",
        AdapterStatus::Refused => "refused",
    })]
    status: &'static str,
    /// Version reported by the component; null until the adapter is ready.
    version: Option<String>,
    /// SHA-256 of the component file.
    sha256: Option<String>,
    /// Reason why the adapter cannot be used.
    reason: Option<String>,
}

/// Progress of the current or last read cycle with a resource.
#[view(value = Progress, args(of: Resource, state: &SyncState))]
pub(crate) struct ResourceProgress {
    #[view(with = name(of))]
    resource: &'static str,
    /// `true` if the resource is being read.
    running: bool,
    /// `true` if all records are read (a full pass), `false` if only changed records are read (a delta).
    whole: bool,
    /// Number of records read so far.
    records: u64,
    /// Total number of records, if the health record system provides it.
    estimate: Option<u64>,
    /// Time at which the resource was last read completely.
    ended_at: Option<At>,
    /// Number of records that the health record system shows and that could not be read, at most 100. They are skipped,
    /// and their last known state remains.
    #[view(with = state.skipped.get(&of).map_or(0, |skips| skips.len() as u64))]
    skipped: u64,
    /// The last skipped records, at most 10.
    #[view(with = state.skipped.get(&of).map_or_else(Vec::new, SkippedRecord::last))]
    skipped_records: Vec<SkippedRecord>,
    /// Number of records that were missing from the last full pass. They are deleted if they are also missing from the
    /// next full pass, which follows within minutes.
    #[view(with = state.missing.get(&of).map_or(0, |missing| *missing as u64))]
    missing: u64,
    /// `true` if the last full pass ended with fewer records than the health record system announced, or if the
    /// announced number changed during the pass. Records that are missing from such a pass are not deleted.
    #[view(from = short)]
    incomplete: bool,
    /// `true` if the last full pass was stopped because too many records were missing; see accept_deletions.
    #[view(with = state.guarded.contains(&of))]
    deletions_stopped: bool,
}

/// A record that could not be read.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SkippedRecord {
    /// Opaque identifier of the record in the health record system.
    foreign_id: String,
    /// Reason, as reported by the adapter. Never contains patient data.
    reason: String,
}

impl SkippedRecord {
    fn last(skips: &BTreeMap<String, Skip>) -> Vec<SkippedRecord> {
        let mut last: Vec<_> = skips.iter().collect();
        last.sort_by_key(|(_, skip)| Reverse(skip.call));
        let shown =
            |(id, skip): (&String, &Skip)| SkippedRecord { foreign_id: id.clone(), reason: skip.reason.clone() };
        last.into_iter().take(SHOWN_SKIPPED).map(shown).collect()
    }
}

/// Number of skipped records shown; enough to recognise a common cause.
const SHOWN_SKIPPED: usize = 10;

pub async fn show(call: ApiCall, OfLocation(location, ()): OfLocation<()>) -> Answer<One<LocationSyncView>> {
    Ok(call.show(view(&call.api, location.setup.id).await?))
}

pub async fn start(call: ApiCall, OfLocation(location, ()): OfLocation<()>) -> Answer<One<LocationSyncView>> {
    Ok(call.show(act(&call.action(), location.setup.id, CycleAction::Start).await?))
}

#[input]
pub struct AcceptDeletions {
    #[body(resource())]
    resource: Resource,
}

pub async fn accept_deletions(
    call: ApiCall,
    OfLocation(location, AcceptDeletions { resource }): OfLocation<AcceptDeletions>,
) -> Answer<One<LocationSyncView>> {
    Ok(call.show(act(&call.action(), location.setup.id, CycleAction::AcceptDeletions(resource)).await?))
}

/// The directions to pause or resume, by default both. The document cannot express that at least one is required.
#[input]
pub struct WhichDirections {
    /// `true` to apply the call to reading. Without both fields, the call applies to reading and writing.
    #[body(boolean())]
    reading: Option<bool>,
    /// `true` to apply the call to writing. Without both fields, the call applies to reading and writing.
    #[body(boolean())]
    writing: Option<bool>,
}

impl WhichDirections {
    fn any(self) -> Result<Directions, ApiError> {
        let both = self.reading.is_none() && self.writing.is_none();
        let (reading, writing) = (both || self.reading == Some(true), both || self.writing == Some(true));
        let nothing = || ApiError::refused("reading or writing must be true, or both must be left out.");
        (reading || writing).then_some(Directions { reading, writing }).ok_or_else(nothing)
    }
}

pub async fn pause(
    call: ApiCall,
    OfLocation(location, which): OfLocation<WhichDirections>,
) -> Answer<One<LocationSyncView>> {
    Ok(call.show(act(&call.action(), location.setup.id, CycleAction::Pause(which.any()?)).await?))
}

pub async fn resume(
    call: ApiCall,
    OfLocation(location, which): OfLocation<WhichDirections>,
) -> Answer<One<LocationSyncView>> {
    Ok(call.show(act(&call.action(), location.setup.id, CycleAction::Resume(which.any()?)).await?))
}

/// Operators' actions on the read cycle of a location.
pub enum CycleAction {
    /// Also retries pending writes at once.
    Start,
    AcceptDeletions(Resource),
    Pause(Directions),
    Resume(Directions),
}

pub async fn act(action: &ActionContext<'_>, location: LocationId, wanted: CycleAction) -> Answer<LocationSyncView> {
    let engine = &action.api.engine;
    let (command, what) = match wanted {
        CycleAction::Start => (Command::SyncNow, "start read cycle"),
        CycleAction::AcceptDeletions(resource) => (Command::AcceptDeletions { resource }, "accept deletions"),
        CycleAction::Pause(which) => (Command::Pause { which }, "pause"),
        CycleAction::Resume(which) => (Command::Resume { which }, "resume"),
    };
    engine.send(location, command).await?;
    action.shown.audit(what, "location", location.0.into());
    view(action.api, location).await
}

async fn view(api: &Api, location: LocationId) -> Answer<LocationSyncView> {
    let engine = &api.engine;
    let state = engine.sync_state(location).await?;
    // The location has answered.
    let setup = engine.setup();
    let configured = setup.locations.get(&location);
    let institution = configured.map(|configured| configured.institution);
    let resources: BTreeSet<Resource> = state.progress.keys().chain(&state.guarded).copied().collect();
    let progress = |resource: &Resource| {
        let progress = state.progress.get(resource).copied().unwrap_or_default();
        ResourceProgress::from_value(&progress, *resource, &state)
    };
    let costs = engine.adapter_costs_at(location);
    Ok(LocationSyncView {
        location_id: location.0,
        last_sync_at: state.last_sync.map(At),
        schedule_as_of: state.schedule_as_of.map(At),
        next_cycle_at: state.next_cycle.map(At),
        reading: state.reading.map(name),
        resources: resources.iter().map(progress).collect(),
        read_problem: state.read_reason.clone(),
        write_problem: state.write_reason.clone(),
        problems: configured.map_or_else(Vec::new, |configured| problems(&setup, configured, &state)),
        ehr_address: configured.and_then(|configured| address(&setup, configured)),
        writes_waiting: state.queued,
        writes_failed: engine.failed_writes_at(location)?,
        oldest_write_at: state.oldest_queued.map(At),
        gate: GateView::from_state(location, &state, engine.now()),
        read_waits: state.read_waits,
        reading_paused_since: state.paused.reading.map(At),
        writing_paused_since: state.paused.writing.map(At),
        adapter: state.adapter.as_ref().map(AdapterView::from_value),
        adapter_calls: costs.iter().map(|(call, costs)| AdapterCallsView::from_value(costs, call)).collect(),
        node: engine.nodes().map(|nodes| nodes.name),
        node_since: institution.and_then(|institution| engine.here_since(institution)).map(At),
    })
}

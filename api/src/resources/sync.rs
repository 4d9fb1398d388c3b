//! GET and POST /locations/{id}/sync, POST /locations/{id}/sync/accept_deletions: the read cycle of a location in an operator's hands
//! (our addition).

use engine::records::sync_state::{AdapterState, AdapterStatus, SyncState};
use location::{
    ids::LocationId,
    pull::{Progress, Resource},
    time::Timestamp,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::resource_names::{name, resource};
use crate::{
    access::call::Call,
    http::errors::{ApiError, HttpResult},
    values::{kinds::id, times::At},
    views::gate::GateView,
};

/// How far reading from a location's health record system is, and what waits to be written there.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LocationSyncView {
    #[schemars(with = "u32")]
    location_id: LocationId,
    /// When the last read cycle ended that read everything; null before the first.
    last_sync_at: Option<At>,
    /// Null while a cycle runs, before the first one, and without a health record system.
    next_cycle_at: Option<At>,
    /// What the running cycle reads now; null when none runs.
    reading: Option<&'static str>,
    /// Why reading is not as it should be, in the words of the health record system where it gave some; null when it is. Never patient
    /// data.
    read_problem: Option<String>,
    write_problem: Option<String>,
    writes_waiting: u64,
    oldest_write_at: Option<At>,
    /// Why the next page has to wait, though nothing failed; null when it does not.
    read_waits: Option<String>,
    /// Null without a health record system.
    adapter: Option<AdapterView>,
    /// Null where the health record system needs no workstation.
    gate: Option<GateView>,
    /// Of the running cycle, or of the last one.
    resources: Vec<ResourceProgress>,
}

/// The adapter a location's health record system is reached through.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AdapterView {
    /// Its name in the configuration.
    name: String,
    /// Whether it is `ready`, `preparing`, or `refused`: then the location answers 503 until an operator mends it.
    status: &'static str,
    version: Option<String>,
    /// Of the component's file.
    sha256: Option<String>,
    /// Why it is refused.
    reason: Option<String>,
}

impl AdapterView {
    fn of(state: AdapterState) -> AdapterView {
        let AdapterState { name, status, version, sha256, reason } = state;
        let status = match status {
            AdapterStatus::Preparing => "preparing",
            AdapterStatus::Ready => "ready",
            AdapterStatus::Refused => "refused",
        };
        AdapterView { name, status, version, sha256, reason }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ResourceProgress {
    resource: &'static str,
    /// Whether it is being read, page by page.
    running: bool,
    /// Whether all records are read, and not only those that changed.
    whole: bool,
    /// Records read so far.
    records: u64,
    /// Records in all, where the health record system tells.
    estimate: Option<u64>,
    /// When it was last read to its end.
    ended_at: Option<At>,
    /// It showed so many records deleted that they were kept: see accept_deletions.
    deletions_stopped: bool,
}

impl LocationSyncView {
    fn of(location_id: LocationId, state: SyncState, now: Timestamp) -> LocationSyncView {
        let resources: std::collections::BTreeSet<Resource> =
            state.progress.keys().chain(&state.guarded).copied().collect();
        let progress = |resource: &Resource| {
            let Progress { running, whole, records, estimate, ended_at } =
                state.progress.get(resource).copied().unwrap_or_default();
            ResourceProgress {
                resource: name(*resource),
                running,
                whole,
                records,
                estimate,
                ended_at: ended_at.map(At),
                deletions_stopped: state.guarded.contains(resource),
            }
        };
        LocationSyncView {
            location_id,
            last_sync_at: state.last_sync.map(At),
            next_cycle_at: state.next_cycle.map(At),
            reading: state.reading.map(name),
            resources: resources.iter().map(progress).collect(),
            read_problem: state.read_reason.clone(),
            write_problem: state.write_reason.clone(),
            writes_waiting: state.queued,
            oldest_write_at: state.oldest_queued.map(At),
            gate: GateView::of(location_id, &state, now),
            read_waits: state.read_waits,
            adapter: state.adapter.map(AdapterView::of),
        }
    }
}

pub(crate) async fn show(mut call: Call) -> HttpResult {
    let location = location(&mut call)?;
    view(&call, location).await
}

/// Reads now, and tries at once what waits to be written.
pub(crate) async fn start(mut call: Call) -> HttpResult {
    let location = location(&mut call)?;
    call.api.engine.sync_now(location).await?;
    call.audit("start read cycle", "location", location.0.into());
    view(&call, location).await
}

pub(crate) async fn accept_deletions(mut call: Call) -> HttpResult {
    let id = call.path_id(id())?;
    let (tenants, resource) = call.in_tenants(|input| input.body.required("resource", resource()))?;
    let location = call.location_of_any(&tenants, LocationId(id))?.setup.id;
    call.api.engine.accept_deletions(location, resource).await?;
    call.audit("accept deletions", "location", location.0.into());
    view(&call, location).await
}

fn location(call: &mut Call) -> Result<LocationId, ApiError> {
    let id = call.path_id(id())?;
    let (tenants, ()) = call.in_tenants(|_| Some(()))?;
    Ok(call.location_of_any(&tenants, LocationId(id))?.setup.id)
}

async fn view(call: &Call, location: LocationId) -> HttpResult {
    let state = call.api.engine.sync_state(location).await?;
    Ok(call.show(LocationSyncView::of(location, state, call.api.engine.now())))
}

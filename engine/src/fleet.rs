//! The status of all locations and of their webhooks. No location is asked or loaded for it.

use std::collections::BTreeMap;

use location::LocationId;
use records::{AdapterState, SyncState, sync_state::GateStatus};
use runtime::{RecentError, metrics::LocationHealth};
use webhooks::follower::Lag;

use crate::{Engine, engine::adapter_state};

impl Engine {
    /// Returns each location's status after its last turn, or after a load that found damage. Locations that were not
    /// in memory since the start are missing.
    pub fn location_health(&self) -> BTreeMap<LocationId, LocationHealth> {
        self.metrics.locations.all()
    }

    /// Returns the part of `sync_state` that is known without loading the location: whether it works, the reasons, and
    /// the numbers of its queue and last read. Returns `None` if it was not in memory since the start.
    pub fn last_known_state(&self, location: LocationId) -> Option<SyncState> {
        let known = self.metrics.locations.health(location)?;
        let state = SyncState {
            read_ok: known.read_problem.is_none(),
            read_reason: known.read_problem,
            write_ok: known.write_problem.is_none(),
            write_reason: known.write_problem,
            last_sync: known.last_read,
            schedule_as_of: known.schedule_as_of,
            queued: known.queued,
            oldest_queued: known.oldest_write,
            reading: known.unread_resource,
            guarded: known.unread_resource.into_iter().collect(),
            ..SyncState::default()
        };
        Some(state.at_gate(self.gate(location)).through(self.adapter_at(location)))
    }

    /// Returns the errors of a location since this process hosts it, latest first.
    pub fn recent_errors(&self, location: LocationId) -> Vec<RecentError> {
        self.metrics.recent_errors.for_location(location)
    }

    /// Returns the status of a location's workstation gate, or `None` if its EHR needs no workstation.
    pub fn gate(&self, location: LocationId) -> Option<GateStatus> {
        self.gateway().status(location)
    }

    /// Returns the state of a location's adapter, or `None` if it has none.
    pub fn adapter_at(&self, location: LocationId) -> Option<AdapterState> {
        let (source, standing) = self.connections.adapter(self.setup().locations.get(&location)?)?;
        Some(adapter_state(&source.adapter, standing))
    }

    /// Returns the changes on this node whose webhook messages are not enqueued yet, or `None` without any.
    pub fn webhook_lag(&self) -> Option<Lag> {
        self.follower.lag()
    }
}

//! The gate of a health record system that opens only while staff is logged in to it at a workstation (our addition).

use engine::records::{GateState, sync_state::GateStatus};

use crate::prelude::*;

/// The gate of a location, which is open while its health record system can be reached through a workstation.
#[view]
pub(crate) struct GateView {
    location_id: u32,
    /// `closed`: no workstation is connected. `logged_out`: no user is logged in to the health record system. `paused`:
    /// staff paused the workstation. `connected`: a workstation serves the location. `waiting_for_approval`: a
    /// workstation serves the location, and writes wait for approval.
    #[schemars(extend("enum" = STATES))]
    state: &'static str,
    /// Time of the last change of the state; a server start counts as a change.
    since: At,
    /// Number of connected workstations.
    workstations_connected: u32,
    /// Name of the workstation that currently serves the location; null if there is none.
    workstation_name: Option<String>,
    /// Number of writes that wait for approval by staff at the workstation.
    writes_awaiting_approval: u32,
    /// Number of unfinished writes to the health record system.
    writes_waiting: u64,
    /// Age of the oldest waiting write, in seconds; null if no write waits.
    oldest_write_seconds: Option<u64>,
}

const STATES: [&str; 5] = ["closed", "connected", "logged_out", "paused", "waiting_for_approval"];

impl GateView {
    pub(crate) fn from_state(location_id: LocationId, state: &SyncState, now: Timestamp) -> Option<GateView> {
        let GateStatus { state: gate, since, connected, holder, awaiting } = state.gate.clone()?;
        let seconds = |oldest: Timestamp| u64::try_from(now.since(oldest) / SECOND).unwrap_or(0);
        Some(GateView {
            location_id: location_id.0,
            state: name(gate),
            since: At(since),
            workstations_connected: connected,
            workstation_name: holder.map(|holder| holder.name),
            writes_awaiting_approval: awaiting,
            writes_waiting: state.queued,
            oldest_write_seconds: state.oldest_queued.map(seconds),
        })
    }
}

fn name(state: GateState) -> &'static str {
    match state {
        GateState::Closed => "closed",
        GateState::Connected => "connected",
        GateState::LoggedOut => "logged_out",
        GateState::Paused => "paused",
        GateState::WaitingForApproval => "waiting_for_approval",
    }
}

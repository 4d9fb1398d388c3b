//! The gate of a health record system that opens only while staff is logged in to it at a workstation (our addition).

use engine::records::{GateState, sync_state::GateStatus};

use crate::prelude::*;

/// The gate of a location, which is open while its health record system can be reached through a workstation.
#[view(value = GateStatus, args(location: LocationId, of: &SyncState, now: Timestamp))]
pub(crate) struct GateView {
    #[view(with = location.0)]
    location_id: u32,
    /// `closed`: no workstation is connected. `logged_out`: no user is logged in to the health record system. `paused`:
    /// staff paused the workstation. `connected`: a workstation serves the location. `waiting_for_approval`: a
    /// workstation serves the location, and writes wait for approval.
    #[schemars(extend("enum" = STATES))]
    #[view(with = name(entry.state))]
    state: &'static str,
    /// Time of the last change of the state; a server start counts as a change.
    since: At,
    /// Number of connected workstations.
    #[view(from = connected)]
    workstations_connected: u32,
    /// Name of the workstation that currently serves the location; null if there is none.
    #[view(with = entry.holder.as_ref().map(|holder| holder.name.clone()))]
    workstation_name: Option<String>,
    /// Number of writes that wait for approval by staff at the workstation.
    #[view(from = awaiting)]
    writes_awaiting_approval: u32,
    /// Number of unfinished writes to the health record system.
    #[view(with = of.queued)]
    writes_waiting: u64,
    /// Age of the oldest waiting write, in seconds; null if no write waits.
    #[view(with = of.oldest_queued.map(|oldest| u64::try_from(now.since(oldest) / SECOND).unwrap_or(0)))]
    oldest_write_seconds: Option<u64>,
}

const STATES: [&str; 5] = ["closed", "connected", "logged_out", "paused", "waiting_for_approval"];

impl GateView {
    pub(crate) fn from_state(location_id: LocationId, state: &SyncState, now: Timestamp) -> Option<GateView> {
        state.gate.as_ref().map(|gate| GateView::from_value(gate, location_id, state, now))
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

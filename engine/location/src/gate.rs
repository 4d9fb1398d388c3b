//! Whether the workstation gate of a location is open, for the EHRs that are reached through a workstation.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// Where the workstation gate of a location stands, as the processor said last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// Requests reach the EHR.
    Open,
    /// Requests do not reach the EHR.
    Shut(Shut),
}

/// Why a gate is shut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shut {
    /// No workstation is connected.
    NoWorkstation,
    /// Nobody is logged in to the EHR at the workstations.
    LoggedOut,
    /// Staff paused the gate.
    Paused,
}

/// The gate, and since when it stands so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateSince {
    /// Whether the gate is open.
    pub gate: Gate,
    /// Since when.
    pub since: Timestamp,
}

impl GateSince {
    /// Why the gate is shut; none where it is open.
    pub fn shut(self) -> Option<Shut> {
        if let Gate::Shut(why) = self.gate { Some(why) } else { None }
    }
}

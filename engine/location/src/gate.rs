//! The state of the workstation gate, for EHRs that are reached through a workstation.

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// The state of a location's workstation gate, as reported by the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// Requests reach the EHR.
    Open,
    /// Requests do not reach the EHR.
    Shut(Shut),
}

/// The reason why a gate is shut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shut {
    NoWorkstation,
    /// No user is logged in to the EHR at the workstations.
    LoggedOut,
    /// Staff paused the gate.
    Paused,
}

/// The state of the gate and the start of this state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateSince {
    pub gate: Gate,
    pub since: Timestamp,
}

impl GateSince {
    /// Returns the reason why the gate is shut, or `None` if it is open.
    pub fn shut(self) -> Option<Shut> {
        if let Gate::Shut(why) = self.gate { Some(why) } else { None }
    }
}

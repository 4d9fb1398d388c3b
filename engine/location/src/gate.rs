//! Whether the workstation gate of a location is open, for the EHRs that are reached through a workstation.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// Where the workstation gate of a location stands, as the shell told last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    Open,
    Shut(Shut),
}

/// Why a gate is shut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shut {
    NoWorkstation,
    LoggedOut,
    Paused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateSince {
    pub gate: Gate,
    pub since: Timestamp,
}

impl GateSince {
    pub fn shut(self) -> Option<Shut> {
        if let Gate::Shut(why) = self.gate { Some(why) } else { None }
    }
}

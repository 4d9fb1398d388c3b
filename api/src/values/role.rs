//! What an operator may do, by the role of their token.

use schemars::JsonSchema;
use serde::Serialize;

/// `viewer` sees how the service stands, and nothing of a patient. `operator` also sees records, and does what a day needs: retries, drops, reads
/// again, pairs workstations. `admin` also changes what runs: adapters, backups, keys, the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Viewer,
    Operator,
    Admin,
}

impl Role {
    pub const ALL: [Role; 3] = [Role::Viewer, Role::Operator, Role::Admin];

    pub fn name(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Operator => "operator",
            Role::Admin => "admin",
        }
    }
}

//! Roles of operators.

use super::words::{WireEnum, closed};

/// Each role includes the rights of the previous ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Viewer,
    Operator,
    Admin,
}

closed! {
    Role: "Role" "`viewer` sees how the service stands, and nothing of a patient. `operator` also sees records, and does what a day needs: \
                  retries, drops, reads again, pairs workstations. `admin` also changes what runs: adapters, backups, keys, the configuration." {
        Viewer = "viewer", Operator = "operator", Admin = "admin",
    }
}

impl Role {
    pub fn name(self) -> &'static str {
        self.word()
    }
}

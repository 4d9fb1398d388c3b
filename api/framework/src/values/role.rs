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
    Role: "Role"
        "`viewer` can see the status of the service, but no patient data. `operator` can also see records and perform \
         daily tasks: retry and drop writes, start read cycles, pair workstations. `admin` can also change adapters, \
         backups, keys and the configuration." {
        Viewer = "viewer", Operator = "operator", Admin = "admin",
    }
}

impl Role {
    pub fn name(self) -> &'static str {
        self.word()
    }
}

//! Audiences of an endpoint.

use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Applications that read and write practice data.
    Clients,
    /// Operators of the service. They use a separate listener and separate tokens.
    Operators,
    /// The browser extension at a workstation.
    Workstations,
}

impl Audience {
    pub const NAMES: &[(&str, Audience)] =
        &[("clients", Audience::Clients), ("operators", Audience::Operators), ("workstations", Audience::Workstations)];
}

impl FromStr for Audience {
    type Err = String;

    fn from_str(name: &str) -> Result<Audience, String> {
        let named = Audience::NAMES.iter().find(|(known, _)| *known == name);
        named.map(|(_, audience)| *audience).ok_or_else(|| "must be clients, operators or workstations".to_owned())
    }
}

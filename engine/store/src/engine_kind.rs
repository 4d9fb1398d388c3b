//! The kinds of embedded engines.

use std::{fmt, str::FromStr};

/// An embedded engine. README.md describes the purpose of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    #[default]
    Sled,
    Fjall,
}

impl EngineKind {
    pub const ALL: [Self; 2] = [Self::Sled, Self::Fjall];

    pub fn name(self) -> &'static str {
        match self {
            Self::Sled => "sled",
            Self::Fjall => "fjall",
        }
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for EngineKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|kind| kind.name() == name);
        known.ok_or_else(|| format!("`{name}` is no engine: use \"sled\" or \"fjall\""))
    }
}

//! The values of a configuration by key, for comparing two configurations. Credentials are stored as hashes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::{Deserialize, Serialize};

/// The owner of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    #[default]
    Server,
    Institution(u32),
    Source(u32),
    Location(u32),
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scope::Server => Ok(()),
            Scope::Institution(id) => write!(f, "institution {id}"),
            Scope::Source(id) => write!(f, "source {id}"),
            Scope::Location(id) => write!(f, "location {id}"),
        }
    }
}

/// The value of a key.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ConfigValue {
    /// The hash, for a credential.
    pub text: String,
    pub is_credential: bool,
    /// `true` if the key is read only at startup.
    pub at_start: bool,
}

pub(crate) type ValuesByKey = BTreeMap<String, ConfigValue>;

/// All values of a configuration. Those of each owner are packed, because a server keeps them for the next reload, and
/// there may be 100,000 locations.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Values(pub(crate) BTreeMap<Scope, Box<[u8]>>);

/// The differences between two configurations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigChanges {
    /// One line per change: `~ location 101 write.concurrency 2 -> 4`.
    pub lines: Vec<String>,
    /// Names of changed keys that are read only at startup.
    pub at_start: Vec<String>,
    /// Removed institutions and locations: `location 201 (Harbour Pier)`.
    pub removed: Vec<String>,
}

fn pack(values: &ValuesByKey) -> Box<[u8]> {
    postcard::to_allocvec(values).expect("plain data can always be written").into_boxed_slice()
}

fn unpack(packed: &[u8]) -> ValuesByKey {
    postcard::from_bytes(packed).expect("`pack` wrote it")
}

impl Values {
    pub(crate) fn new(recorded: BTreeMap<Scope, ValuesByKey>) -> Values {
        Values(recorded.into_iter().map(|(subject, values)| (subject, pack(&values))).collect())
    }

    /// Returns the changes from these values to `to`.
    pub fn changes(&self, to: &Values) -> ConfigChanges {
        let mut changes = ConfigChanges::default();
        let subjects: BTreeSet<&Scope> = self.0.keys().chain(to.0.keys()).collect();
        for subject in subjects {
            let (before, after) = (self.0.get(subject), to.0.get(subject));
            if before == after {
                continue;
            }
            match (before.map(|packed| unpack(packed)), after.map(|packed| unpack(packed))) {
                (None, Some(new)) if *subject != Scope::Server => {
                    changes.lines.push(format!("+ {subject}{}", named(&new)));
                }
                (Some(old), None) if *subject != Scope::Server => {
                    changes.lines.push(format!("- {subject}{}", named(&old)));
                    if matches!(subject, Scope::Institution(_) | Scope::Location(_)) {
                        changes.removed.push(format!("{subject}{}", named(&old)));
                    }
                }
                (old, new) => keys(subject, &old.unwrap_or_default(), &new.unwrap_or_default(), &mut changes),
            }
        }
        changes
    }
}

fn named(values: &ValuesByKey) -> String {
    values.get("name").map_or_else(String::new, |name| format!(" ({})", name.text))
}

fn keys(subject: &Scope, old: &ValuesByKey, new: &ValuesByKey, changes: &mut ConfigChanges) {
    let space = if *subject == Scope::Server { "" } else { " " };
    let all: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for key in all {
        let (before, now) = (old.get(key), new.get(key));
        if before == now {
            continue;
        }
        let either = || [before, now].into_iter().flatten();
        let show = |value: Option<&ConfigValue>| value.map_or("unset", |value| value.text.as_str()).to_owned();
        let change = match either().any(|value| value.is_credential) {
            true => "changed".to_owned(),
            false => format!("{} -> {}", show(before), show(now)),
        };
        changes.lines.push(format!("~ {subject}{space}{key} {change}"));
        if either().any(|value| value.at_start) {
            changes.at_start.push(format!("{subject}{space}{key}"));
        }
    }
}

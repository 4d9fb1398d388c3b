//! State shared by the calls of one connection.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use chrono_tz::Tz;
use setup::secret::Secret;

use super::{
    Gate, Manifest, Transport,
    call_permits::{Payer, Purpose},
    log_line::LineBudget,
    outbound::OutboundAddress,
};

/// Seconds since 1970.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AdapterCallKind {
    Describe,
    Pull,
    Push,
    Find,
}

impl AdapterCallKind {
    const COUNT: usize = AdapterCallKind::Find as usize + 1;

    pub(crate) fn name(self) -> &'static str {
        match self {
            AdapterCallKind::Describe => "describe",
            AdapterCallKind::Pull => "pull",
            AdapterCallKind::Push => "push",
            AdapterCallKind::Find => "find",
        }
    }

    pub(crate) fn purpose(self) -> Purpose {
        match self {
            AdapterCallKind::Describe => Purpose::Describe,
            AdapterCallKind::Pull => Purpose::Pull,
            AdapterCallKind::Push | AdapterCallKind::Find => Purpose::Write,
        }
    }
}

/// State shared by the calls of a connection.
pub(crate) struct Link {
    pub location: String,
    pub payer: Payer,
    pub address: OutboundAddress,
    pub settings: BTreeMap<String, Secret>,
    pub zone: Tz,
    pub transport: Arc<dyn Transport>,
    pub gate: Option<Arc<dyn Gate>>,
    pub clock: Clock,
    pub lines: LineBudget,
    /// Requests beyond the first of each call, not yet charged to the location's rate limit.
    pub requests_beyond: AtomicU32,
    /// For each [`AdapterCallKind`]: `true` from the end of a short call to the
    /// beginning of the next one. A short call therefore allows at most one call of its kind to begin on its caller's
    /// thread, also if calls are concurrent. A kind whose calls are all long never holds such a thread.
    pub last_was_short: [AtomicBool; AdapterCallKind::COUNT],
}

/// Parts of the names of settings that hold a secret.
const SECRET_SETTINGS: [&str; 7] = ["secret", "token", "password", "credential", "api-key", "api_key", "apikey"];

impl Link {
    /// Returns the values to redact from guests' texts: permanent credentials, and settings with a secret's name.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let secret = |name: &str| {
            let name = name.to_ascii_lowercase();
            SECRET_SETTINGS.iter().any(|word| name.contains(word))
        };
        let settings = self.settings.iter().filter(|(name, _)| secret(name)).map(|(_, value)| value.clone());
        settings.chain(self.address.credentials()).collect()
    }

    /// Checks the operator's settings against the adapter's manifest. Returns all errors.
    pub(crate) fn accepts(&self, manifest: &Manifest) -> Result<(), String> {
        let set = self.settings.iter().map(|(name, value)| (name.as_str(), value.expose()));
        match manifest.refused_settings(set) {
            wrong if wrong.is_empty() => Ok(()),
            wrong => Err(wrong.join("; ")),
        }
    }
}

/// Returns the seconds since 1970 by the system clock.
pub(crate) fn system_clock() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

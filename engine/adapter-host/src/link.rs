//! What the calls of one connection share.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicU32},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use chrono_tz::Tz;
use setup::secret::Secret;

use super::{
    gate::Gate, log_line::LineBudget, manifest::Manifest, outbound::Address, places::Payer, transport::Transport,
};

/// Seconds since 1970.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// What the calls of a connection share.
pub(crate) struct Link {
    pub location: String,
    pub payer: Payer,
    pub address: Address,
    pub settings: BTreeMap<String, Secret>,
    pub zone: Tz,
    pub transport: Arc<dyn Transport>,
    pub gate: Option<Arc<dyn Gate>>,
    pub clock: Clock,
    pub lines: LineBudget,
    /// Requests of calls beyond the first of each, not yet charged to the location's quota.
    pub requests_beyond: AtomicU32,
}

/// Names of settings that hold a secret.
const SECRET_SETTINGS: [&str; 7] = ["secret", "token", "password", "credential", "api-key", "api_key", "apikey"];

impl Link {
    /// What no guest's text may show: lasting credentials, and settings that are called so.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let secret = |name: &str| SECRET_SETTINGS.iter().any(|word| name.to_ascii_lowercase().contains(word));
        let settings = self.settings.iter().filter(|(name, _)| secret(name)).map(|(_, value)| value.clone());
        settings.chain(self.address.credentials()).collect()
    }

    /// Whether what the operator has set is what an adapter takes: if not, everything that is wrong.
    pub(crate) fn accepts(&self, manifest: &Manifest) -> Result<(), String> {
        let set = self.settings.iter().map(|(name, value)| (name.as_str(), value.expose()));
        match manifest.refused_settings(set) {
            wrong if wrong.is_empty() => Ok(()),
            wrong => Err(wrong.join("; ")),
        }
    }
}

/// Seconds since 1970 by the system's clock.
pub(crate) fn system_clock() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

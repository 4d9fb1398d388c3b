//! State shared by readers, the committer and the audit of a store.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use super::{
    StoreError, audit::Audit, contract::feed_number, engine::Medium, envelope::Envelope, keys,
    recent_versions::RecentVersions,
};

pub(super) struct StoreState {
    pub medium: Arc<dyn Medium>,
    pub envelope: Envelope,
    pub refusing: OnceLock<String>,
    pub audit: Audit,
    pub recent: RecentVersions,
    /// The damage found by the audit. Writes are refused afterwards, because each write makes it harder to
    /// determine the loss.
    pub damage: OnceLock<StoreError>,
    last_commit: AtomicU64,
}

impl StoreState {
    pub(crate) fn new(medium: Arc<dyn Medium>, envelope: Envelope) -> Self {
        Self {
            medium,
            envelope,
            refusing: OnceLock::new(),
            audit: Audit::default(),
            recent: RecentVersions::default(),
            damage: OnceLock::new(),
            last_commit: AtomicU64::new(0),
        }
    }

    pub(crate) fn value(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.medium.view().sealed(key)?.map(|sealed| self.envelope.open(key, sealed)).transpose()
    }

    pub(crate) fn feed_end(&self) -> Result<u64, StoreError> {
        self.value(&keys::feed_end())?.map_or(Ok(0), |value| feed_number(&value))
    }

    pub(crate) fn refusing(&self) -> Result<(), StoreError> {
        match (self.refusing.get(), self.damage.get()) {
            (Some(why), _) => Err(StoreError::Refusing { why: why.clone() }),
            (None, Some(damage)) => Err(damage.clone()),
            (None, None) => Ok(()),
        }
    }

    /// Refuses writes from now on. Returns the reason, which is the first one reported.
    pub(crate) fn refuse(&self, why: String) -> String {
        tracing::error!(why, "the store refuses writes until it is reopened");
        self.refusing.get_or_init(|| why).clone()
    }

    pub(crate) fn note_commit(&self, took: Duration) {
        self.last_commit.store(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn last_commit(&self) -> Duration {
        Duration::from_nanos(self.last_commit.load(Ordering::Relaxed))
    }
}

//! What every request may use.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use engine::{
    Engine,
    setup::{LocationStatus, Setup},
};
use location::ids::LocationId;
use tokio::sync::Semaphore;

use crate::{
    config::HttpRules,
    cursor::Cursors,
    directory::Directory,
    kept::Kept,
    keys::{ApiKey, KeyRing, Keys},
    limits::Limits,
    secret::Secret,
    slot_token::SlotTokens,
    token::Tokens,
};

pub struct Api {
    pub engine: Arc<Engine>,
    pub directory: Directory,
    pub tokens: Tokens,
    pub cursors: Cursors,
    pub slot_tokens: SlotTokens,
    pub limits: Limits,
    pub rules: HttpRules,
    pub answered: Answered,
    pub kept: Kept,
    /// One for each workstation that may be connected.
    pub seats: Arc<Semaphore>,
    keys: KeyRing,
}

impl Api {
    pub fn new(engine: Arc<Engine>, keys: impl Into<KeyRing>, secret: &Secret, rules: HttpRules) -> Api {
        Api {
            directory: Directory::new(engine.setup()),
            tokens: Tokens::new(secret),
            cursors: Cursors::new(secret),
            slot_tokens: SlotTokens::new(secret),
            limits: Limits::new(&rules.rates),
            answered: Answered::default(),
            kept: Kept::new(rules.kept_pages),
            seats: Arc::new(Semaphore::new(rules.max_workstations)),
            keys: keys.into(),
            engine,
            rules,
        }
    }

    pub fn keys(&self) -> Arc<Keys> {
        self.keys.keys()
    }

    /// Takes effect on the next call, also for tokens already handed out, and on what is sent to webhooks from now on.
    pub fn replace_keys(&self, keys: Vec<ApiKey>) {
        self.keys.replace(keys);
        // What a key may see may have changed.
        self.kept.clear();
    }

    /// Closes locations, or opens again what was closed so, from the next call on. See `Directory::take_over`.
    pub fn take_over_statuses(&self, wanted: &Setup) -> Vec<(LocationId, LocationStatus, bool)> {
        let taken = self.directory.take_over(self.engine.setup(), wanted);
        self.kept.clear();
        taken
    }
}

/// Answers by class of status, for /metrics.
#[derive(Default)]
pub struct Answered {
    classes: [AtomicU64; 5],
    microseconds: AtomicU64,
}

impl Answered {
    pub fn count(&self, status: u16, microseconds: u64) {
        let class = usize::from(status / 100).clamp(1, 5) - 1;
        self.classes[class].fetch_add(1, Ordering::Relaxed);
        self.microseconds.fetch_add(microseconds, Ordering::Relaxed);
    }

    /// `("2xx", count)` and so on.
    pub fn by_class(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let names = ["1xx", "2xx", "3xx", "4xx", "5xx"];
        names.into_iter().zip(self.classes.iter().map(|count| count.load(Ordering::Relaxed)))
    }

    pub fn seconds(&self) -> f64 {
        self.microseconds.load(Ordering::Relaxed) as f64 / 1e6
    }
}

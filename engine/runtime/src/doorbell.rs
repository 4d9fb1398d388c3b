//! A wake-up set of keys: many tasks add keys, one task takes them. A key is contained once, which bounds the size.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use tokio::sync::Notify;

pub struct Doorbell<K> {
    rung: Mutex<BTreeSet<K>>,
    notify: Notify,
}

impl<K> Default for Doorbell<K> {
    fn default() -> Doorbell<K> {
        Doorbell { rung: Mutex::default(), notify: Notify::new() }
    }
}

impl<K: Ord> Doorbell<K> {
    pub fn ring(&self, keys: impl IntoIterator<Item = K>) {
        self.rung.lock().extend(keys);
        self.notify.notify_one();
    }

    /// Returns the keys added since the last call.
    pub fn answer(&self) -> BTreeSet<K> {
        std::mem::take(&mut *self.rung.lock())
    }

    /// Returns the number of keys added since the last answer.
    pub fn waiting(&self) -> usize {
        self.rung.lock().len()
    }

    pub async fn wait(&self) {
        self.notify.notified().await;
    }
}

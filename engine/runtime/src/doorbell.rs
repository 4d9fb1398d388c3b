//! A wake-up set of keys: many tasks add keys, one task takes them. A key is contained once, which bounds the size.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use tokio::sync::Notify;

pub struct Doorbell<K> {
    rung: Mutex<BTreeSet<K>>,
    notify: Notify,
    /// Returns `true` for the keys that wake the task. `None` for all keys.
    wanted: Option<Wanted<K>>,
}

type Wanted<K> = Box<dyn Fn(&K) -> bool + Send + Sync>;

impl<K> Default for Doorbell<K> {
    fn default() -> Doorbell<K> {
        Doorbell { rung: Mutex::default(), notify: Notify::new(), wanted: None }
    }
}

impl<K: Ord> Doorbell<K> {
    /// Creates a doorbell that ignores other keys. A thread that adds only such keys wakes no task.
    pub fn for_keys(wanted: impl Fn(&K) -> bool + Send + Sync + 'static) -> Doorbell<K> {
        Doorbell { wanted: Some(Box::new(wanted)), ..Doorbell::default() }
    }

    pub fn ring(&self, keys: impl IntoIterator<Item = K>) {
        let keys = keys.into_iter();
        match &self.wanted {
            None => self.rung.lock().extend(keys),
            Some(wanted) => {
                let keys: Vec<K> = keys.filter(wanted).collect();
                if keys.is_empty() {
                    return;
                }
                self.rung.lock().extend(keys);
            }
        }
        self.notify.notify_one();
    }

    /// Returns the keys added since the last call.
    pub fn take(&self) -> BTreeSet<K> {
        std::mem::take(&mut *self.rung.lock())
    }

    /// Returns the number of keys added since the last `take`.
    pub fn waiting(&self) -> usize {
        self.rung.lock().len()
    }

    pub async fn wait(&self) {
        self.notify.notified().await;
    }
}

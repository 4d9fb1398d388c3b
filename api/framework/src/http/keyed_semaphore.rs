//! Semaphores by key, such as an API key or an address.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use parking_lot::Mutex;

/// Number of held permits by key. A key without permits has no entry.
pub struct KeyedSemaphore<K>(pub(super) Arc<Mutex<HashMap<K, usize>>>);

/// Drop guard of a permit.
pub struct KeyedPermit<K: Eq + Hash> {
    held: Arc<Mutex<HashMap<K, usize>>>,
    key: K,
}

impl<K> Default for KeyedSemaphore<K> {
    fn default() -> KeyedSemaphore<K> {
        KeyedSemaphore(Arc::default())
    }
}

impl<K: Copy + Eq + Hash> KeyedSemaphore<K> {
    /// Returns `None` if `limit` permits of the key are held.
    pub fn try_acquire(&self, key: K, limit: usize) -> Option<KeyedPermit<K>> {
        let mut held = self.0.lock();
        let count = held.get(&key).copied().unwrap_or_default();
        if count >= limit {
            return None;
        }
        held.insert(key, count + 1);
        Some(KeyedPermit { held: self.0.clone(), key })
    }
}

impl<K: Eq + Hash> Drop for KeyedPermit<K> {
    fn drop(&mut self) {
        let mut held = self.held.lock();
        match held.get_mut(&self.key) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(held.remove(&self.key)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn permits_beyond_the_limit_of_a_key_are_refused_until_one_is_dropped() {
        let semaphore = KeyedSemaphore::default();
        let (first, second) = (semaphore.try_acquire([1; 32], 2).unwrap(), semaphore.try_acquire([1; 32], 2).unwrap());
        assert!(semaphore.try_acquire([1; 32], 2).is_none());
        assert!(semaphore.try_acquire([2; 32], 2).is_some(), "each key has its own limit");
        drop(first);
        assert!(semaphore.try_acquire([1; 32], 2).is_some());
        drop(second);
        assert!(semaphore.0.lock().is_empty());
    }
}

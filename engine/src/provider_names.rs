//! Names of providers, cached until a provider of the institution changes. Bookings and lists of appointments show
//! them.

use std::collections::HashMap;

use location::InstitutionId;
use parking_lot::Mutex;

/// Maximum number of cached names. A full cache is emptied.
const NAMES: usize = 10_000;

/// The cached names, by institution and id.
#[derive(Default)]
pub(crate) struct ProviderNameCache(Mutex<HashMap<(InstitutionId, u32), CachedName>>);

struct CachedName {
    /// Value of the institution's counter before the name was read.
    stamp: u64,
    name: String,
}

impl ProviderNameCache {
    pub(crate) fn get(&self, provider: (InstitutionId, u32), stamp: u64) -> Option<String> {
        self.0.lock().get(&provider).filter(|cached| cached.stamp == stamp).map(|cached| cached.name.clone())
    }

    pub(crate) fn insert(&self, provider: (InstitutionId, u32), stamp: u64, name: String) {
        let mut names = self.0.lock();
        if names.len() >= NAMES {
            names.clear();
        }
        names.insert(provider, CachedName { stamp, name });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANNA: (InstitutionId, u32) = (InstitutionId(1), 7);

    #[test]
    fn names_are_cached_for_one_stamp() {
        let cache = ProviderNameCache::default();
        assert_eq!(cache.get(ANNA, 0), None);
        cache.insert(ANNA, 0, "Anna".to_owned());
        assert_eq!(cache.get(ANNA, 0).as_deref(), Some("Anna"));
        assert_eq!(cache.get(ANNA, 1), None, "a provider has changed");
        assert_eq!(cache.get((InstitutionId(2), 7), 0), None, "of another institution");
        cache.insert(ANNA, 1, "Anne".to_owned());
        assert_eq!(cache.get(ANNA, 1).as_deref(), Some("Anne"));
    }

    #[test]
    fn cache_is_bounded() {
        let cache = ProviderNameCache::default();
        for id in 0..=NAMES as u32 {
            cache.insert((InstitutionId(1), id), 0, String::new());
        }
        assert_eq!(cache.0.lock().len(), 1);
    }
}

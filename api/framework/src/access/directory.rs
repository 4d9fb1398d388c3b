//! Index of institutions and locations by the names that callers use.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use engine::setup::{Institution, LocationSetup, Setup};
use location::{InstitutionId, LocationId};

/// Snapshot of the setup for the duration of one call.
#[derive(Default)]
pub struct Directory {
    number: u64,
    setup: Arc<Setup>,
    by_subdomain: HashMap<String, Arc<Institution>>,
    by_institution: HashMap<InstitutionId, Vec<Arc<LocationSetup>>>,
}

impl From<Arc<Setup>> for Directory {
    fn from(setup: Arc<Setup>) -> Directory {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        let by_subdomain = setup.institutions.values().map(|it| (it.subdomain.clone(), it.clone())).collect();
        let mut by_institution: HashMap<_, Vec<_>> = HashMap::new();
        for location in setup.locations.values() {
            by_institution.entry(location.institution).or_default().push(location.clone());
        }
        Directory { number, setup, by_subdomain, by_institution }
    }
}

impl Directory {
    /// Returns a number that no other directory of this process has.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// In order of id.
    pub fn institutions(&self) -> impl Iterator<Item = &Arc<Institution>> {
        self.setup.institutions.values()
    }

    pub fn institution(&self, id: InstitutionId) -> Option<&Arc<Institution>> {
        self.setup.institutions.get(&id)
    }

    pub fn institution_named(&self, subdomain: &str) -> Option<&Arc<Institution>> {
        self.by_subdomain.get(subdomain)
    }

    pub fn location(&self, id: LocationId) -> Option<&Arc<LocationSetup>> {
        self.setup.locations.get(&id)
    }

    /// In order of id.
    pub fn locations(&self) -> impl Iterator<Item = &Arc<LocationSetup>> {
        self.setup.locations.values()
    }

    /// In order of id.
    pub fn locations_of(&self, institution: InstitutionId) -> &[Arc<LocationSetup>] {
        self.by_institution.get(&institution).map_or(&[], Vec::as_slice)
    }

    /// Returns the source system of a location's records, as in `foreign_id_type`.
    pub fn adapter(&self, location: &LocationSetup) -> Option<&str> {
        self.adapter_of_source(location.source)
    }

    pub fn adapter_of_source(&self, source: Option<u32>) -> Option<&str> {
        self.setup.sources.get(&source?).map(|source| source.adapter.as_str())
    }
}

//! Index of institutions and locations by the names that callers use.

use std::{
    collections::{BTreeMap, HashMap},
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
    institutions: BTreeMap<InstitutionId, Arc<Institution>>,
    by_subdomain: HashMap<String, Arc<Institution>>,
    /// Adapter name by data source.
    adapters: HashMap<u32, String>,
    locations: HashMap<LocationId, Arc<LocationSetup>>,
    by_institution: HashMap<InstitutionId, Vec<Arc<LocationSetup>>>,
}

impl From<&Setup> for Directory {
    fn from(setup: &Setup) -> Directory {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let mut directory = Directory { number: LAST.fetch_add(1, Ordering::Relaxed) + 1, ..Directory::default() };
        for institution in setup.institutions.values() {
            directory.institutions.insert(institution.id, institution.clone());
            directory.by_subdomain.insert(institution.subdomain.clone(), institution.clone());
        }
        for source in setup.sources.values() {
            directory.adapters.insert(source.id, source.adapter.clone());
        }
        for location in setup.locations.values() {
            directory.by_institution.entry(location.institution).or_default().push(location.clone());
            directory.locations.insert(location.id, location.clone());
        }
        directory
    }
}

impl Directory {
    /// Returns a number that no other directory of this process has.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// In order of id.
    pub fn institutions(&self) -> impl Iterator<Item = &Arc<Institution>> {
        self.institutions.values()
    }

    pub fn institution(&self, id: InstitutionId) -> Option<&Arc<Institution>> {
        self.institutions.get(&id)
    }

    pub fn institution_named(&self, subdomain: &str) -> Option<&Arc<Institution>> {
        self.by_subdomain.get(subdomain)
    }

    pub fn location(&self, id: LocationId) -> Option<&Arc<LocationSetup>> {
        self.locations.get(&id)
    }

    /// In no particular order.
    pub fn locations(&self) -> impl Iterator<Item = &Arc<LocationSetup>> {
        self.locations.values()
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
        self.adapters.get(&source?).map(String::as_str)
    }
}

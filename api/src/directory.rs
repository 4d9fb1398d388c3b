//! Finds institutions and locations by what callers name them, without walking the whole setup.

use std::{collections::HashMap, sync::Arc};

use engine::setup::{Institution, LocationSetup, Setup};
use location::ids::InstitutionId;

#[derive(Default)]
pub struct Directory {
    by_subdomain: HashMap<String, Arc<Institution>>,
    locations: HashMap<InstitutionId, Vec<Arc<LocationSetup>>>,
    /// The adapter of each data source.
    adapters: HashMap<u32, String>,
}

impl Directory {
    pub fn new(setup: &Setup) -> Directory {
        let mut directory = Directory::default();
        for institution in setup.institutions.values() {
            directory.by_subdomain.insert(institution.subdomain.clone(), institution.clone());
        }
        for location in setup.locations.values() {
            directory.locations.entry(location.institution).or_default().push(location.clone());
        }
        for source in setup.sources.values() {
            directory.adapters.insert(source.id, source.adapter.clone());
        }
        directory
    }

    pub fn institution(&self, subdomain: &str) -> Option<&Arc<Institution>> {
        self.by_subdomain.get(subdomain)
    }

    /// In order of id.
    pub fn locations(&self, institution: InstitutionId) -> &[Arc<LocationSetup>] {
        self.locations.get(&institution).map_or(&[], Vec::as_slice)
    }

    /// The system a location's records come from, as `foreign_id_type` names it.
    pub fn adapter(&self, location: &LocationSetup) -> Option<&str> {
        self.adapters.get(&location.source?).map(String::as_str)
    }

    pub fn adapter_of_source(&self, source: Option<u32>) -> Option<&str> {
        self.adapters.get(&source?).map(String::as_str)
    }
}

//! Finds institutions and locations by what callers name them, without walking the whole setup.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, PoisonError, RwLock},
};

use engine::setup::{Institution, LocationSetup, LocationStatus, Setup};
use location::ids::{InstitutionId, LocationId};

/// What a configuration that is read again says of locations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statuses {
    /// None: what it says cannot be read, and changes nothing.
    pub of: BTreeMap<LocationId, Option<LocationStatus>>,
    /// Every location could be told from the others: one that is not named is gone.
    pub complete: bool,
}

impl From<&Setup> for Statuses {
    fn from(setup: &Setup) -> Statuses {
        Statuses { of: setup.locations.values().map(|it| (it.id, Some(it.status))).collect(), complete: true }
    }
}

impl Statuses {
    fn wanted(&self, location: LocationId) -> Option<LocationStatus> {
        match self.of.get(&location) {
            Some(status) => *status,
            None => self.complete.then_some(LocationStatus::Closed),
        }
    }
}

/// A location whose status changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusChange {
    pub location: LocationId,
    pub status: LocationStatus,
    /// It stands in the configuration no longer.
    pub gone: bool,
    /// It is so now; otherwise it takes another start.
    pub taken: bool,
}

/// As they are now.
pub struct Directory(RwLock<Arc<Locations>>);

/// The locations with what they belong to, for as long as one call takes.
#[derive(Default)]
pub struct Locations {
    by_subdomain: HashMap<String, Arc<Institution>>,
    /// The adapter of each data source.
    adapters: HashMap<u32, String>,
    by_id: HashMap<LocationId, Arc<LocationSetup>>,
    by_institution: HashMap<InstitutionId, Vec<Arc<LocationSetup>>>,
}

impl Directory {
    pub(crate) fn new(setup: &Setup) -> Directory {
        Directory(RwLock::new(Arc::new(Locations::of(setup, setup.locations.values().cloned()))))
    }

    pub(crate) fn institution(&self, subdomain: &str) -> Option<Arc<Institution>> {
        self.locations().institution(subdomain).cloned()
    }

    pub fn locations(&self) -> Arc<Locations> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Another setup is in force. What was closed beside the one before is as this one says.
    pub(crate) fn set_up(&self, setup: &Setup) {
        self.replace(Locations::of(setup, setup.locations.values().cloned()));
    }

    fn replace(&self, locations: Locations) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(locations);
    }

    /// Opens and closes locations of `in_force`, what the engine serves, as `wanted` says. What is not active there is not read by the
    /// engine: only another setup opens it.
    pub(crate) fn take_over(&self, in_force: &Setup, wanted: &Statuses) -> Vec<StatusChange> {
        let mut taken = Vec::new();
        let before = self.locations();
        let locations = in_force.locations.values().map(|served| {
            let now = before.get(served.id).unwrap_or(served);
            let Some(status) = wanted.wanted(now.id).filter(|it| *it != now.status) else { return now.clone() };
            let possible = status != LocationStatus::Active || served.status == LocationStatus::Active;
            let gone = !wanted.of.contains_key(&now.id);
            taken.push(StatusChange { location: now.id, status, gone, taken: possible });
            if possible { Arc::new(LocationSetup { status, ..(**now).clone() }) } else { now.clone() }
        });
        self.replace(Locations::of(in_force, locations));
        taken
    }
}

impl Locations {
    fn of(setup: &Setup, locations: impl Iterator<Item = Arc<LocationSetup>>) -> Locations {
        let mut all = Locations::default();
        for institution in setup.institutions.values() {
            all.by_subdomain.insert(institution.subdomain.clone(), institution.clone());
        }
        for source in setup.sources.values() {
            all.adapters.insert(source.id, source.adapter.clone());
        }
        for location in locations {
            all.by_institution.entry(location.institution).or_default().push(location.clone());
            all.by_id.insert(location.id, location);
        }
        all
    }

    pub(crate) fn institution(&self, subdomain: &str) -> Option<&Arc<Institution>> {
        self.by_subdomain.get(subdomain)
    }

    /// The system a location's records come from, as `foreign_id_type` names it.
    pub(crate) fn adapter(&self, location: &LocationSetup) -> Option<&str> {
        self.adapter_of_source(location.source)
    }

    pub(crate) fn adapter_of_source(&self, source: Option<u32>) -> Option<&str> {
        self.adapters.get(&source?).map(String::as_str)
    }

    pub fn get(&self, id: LocationId) -> Option<&Arc<LocationSetup>> {
        self.by_id.get(&id)
    }

    /// In order of id.
    pub(crate) fn of_institution(&self, institution: InstitutionId) -> &[Arc<LocationSetup>] {
        self.by_institution.get(&institution).map_or(&[], Vec::as_slice)
    }
}

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

#[derive(Default)]
pub struct Directory {
    by_subdomain: HashMap<String, Arc<Institution>>,
    /// The adapter of each data source.
    adapters: HashMap<u32, String>,
    /// As they are now.
    locations: RwLock<Arc<Locations>>,
}

/// The locations, for as long as one call takes.
#[derive(Default)]
pub struct Locations {
    by_id: HashMap<LocationId, Arc<LocationSetup>>,
    by_institution: HashMap<InstitutionId, Vec<Arc<LocationSetup>>>,
}

impl Directory {
    pub(crate) fn new(setup: &Setup) -> Directory {
        let mut directory = Directory::default();
        for institution in setup.institutions.values() {
            directory.by_subdomain.insert(institution.subdomain.clone(), institution.clone());
        }
        for source in setup.sources.values() {
            directory.adapters.insert(source.id, source.adapter.clone());
        }
        Directory { locations: RwLock::new(Arc::new(Locations::of(setup.locations.values().cloned()))), ..directory }
    }

    pub(crate) fn institution(&self, subdomain: &str) -> Option<&Arc<Institution>> {
        self.by_subdomain.get(subdomain)
    }

    pub fn locations(&self) -> Arc<Locations> {
        self.locations.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Opens and closes locations of `started`, what the engine was started with, as `wanted` says. What was not active at the start is
    /// not read by the engine: only another start opens it.
    pub(crate) fn take_over(&self, started: &Setup, wanted: &Statuses) -> Vec<StatusChange> {
        let mut taken = Vec::new();
        let before = self.locations();
        let locations = started.locations.values().map(|at_start| {
            let now = before.get(at_start.id).unwrap_or(at_start);
            let Some(status) = wanted.wanted(now.id).filter(|it| *it != now.status) else { return now.clone() };
            let possible = status != LocationStatus::Active || at_start.status == LocationStatus::Active;
            let gone = !wanted.of.contains_key(&now.id);
            taken.push(StatusChange { location: now.id, status, gone, taken: possible });
            if possible { Arc::new(LocationSetup { status, ..(**now).clone() }) } else { now.clone() }
        });
        let locations = Arc::new(Locations::of(locations));
        *self.locations.write().unwrap_or_else(PoisonError::into_inner) = locations;
        taken
    }

    /// The system a location's records come from, as `foreign_id_type` names it.
    pub(crate) fn adapter(&self, location: &LocationSetup) -> Option<&str> {
        self.adapters.get(&location.source?).map(String::as_str)
    }

    pub(crate) fn adapter_of_source(&self, source: Option<u32>) -> Option<&str> {
        self.adapters.get(&source?).map(String::as_str)
    }
}

impl Locations {
    fn of(locations: impl Iterator<Item = Arc<LocationSetup>>) -> Locations {
        let mut all = Locations::default();
        for location in locations {
            all.by_institution.entry(location.institution).or_default().push(location.clone());
            all.by_id.insert(location.id, location);
        }
        all
    }

    pub fn get(&self, id: LocationId) -> Option<&Arc<LocationSetup>> {
        self.by_id.get(&id)
    }

    /// In no order.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<LocationSetup>> {
        self.by_id.values()
    }

    /// In order of id.
    pub(crate) fn of_institution(&self, institution: InstitutionId) -> &[Arc<LocationSetup>] {
        self.by_institution.get(&institution).map_or(&[], Vec::as_slice)
    }
}

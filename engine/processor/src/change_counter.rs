//! Counters per institution that rise with changes of its records and validate cached data. They are kept in memory,
//! because one process writes the records of an institution.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering},
};

use location::InstitutionId;
use parking_lot::RwLock;
use setup::Setup;

pub struct ChangeCounter(RwLock<HashMap<InstitutionId, Counters>>);

#[derive(Default)]
struct Counters {
    /// Changes of any record.
    records: AtomicU64,
    providers: AtomicU64,
}

impl Counters {
    fn advance(&self) {
        self.records.fetch_add(1, Ordering::SeqCst);
        self.providers.fetch_add(1, Ordering::SeqCst);
    }
}

impl ChangeCounter {
    pub fn new(setup: &Setup) -> ChangeCounter {
        ChangeCounter(RwLock::new(setup.institutions.keys().map(|id| (*id, Counters::default())).collect()))
    }

    /// Adds institutions of another setup and advances all counters, because responses show parts of the setup, too.
    /// Counters of removed institutions stay, so that no number repeats if they come back.
    pub fn apply_setup(&self, setup: &Setup) {
        let mut all = self.0.write();
        for id in setup.institutions.keys() {
            all.entry(*id).or_default();
        }
        drop(all);
        self.all_changed();
    }

    /// Advances the counter. Call it after the commit: data read with a stamp is then never older than the stamp.
    pub fn changed(&self, institution: InstitutionId) {
        if let Some(counters) = self.0.read().get(&institution) {
            counters.records.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Advances the counters of an institution after a commit that changes providers, or that may have changed any
    /// record.
    pub fn providers_changed(&self, institution: InstitutionId) {
        self.0.read().get(&institution).into_iter().for_each(Counters::advance);
    }

    /// Advances all counters, because another process may have written.
    pub fn all_changed(&self) {
        self.0.read().values().for_each(Counters::advance);
    }

    pub fn current(&self, institution: InstitutionId) -> Option<u64> {
        self.0.read().get(&institution).map(|counters| counters.records.load(Ordering::SeqCst))
    }

    /// Returns a number that rises with every change of an institution's providers. Take it before reading.
    pub fn providers(&self, institution: InstitutionId) -> Option<u64> {
        self.0.read().get(&institution).map(|counters| counters.providers.load(Ordering::SeqCst))
    }
}

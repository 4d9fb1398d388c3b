//! A counter per institution that rises with every change and validates cached responses. It is kept in memory, because
//! one process writes the records of an institution.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering},
};

use location::ids::InstitutionId;
use parking_lot::{RwLock, RwLockReadGuard};
use setup::Setup;

pub struct ChangeCounter(RwLock<HashMap<InstitutionId, AtomicU64>>);

impl ChangeCounter {
    pub fn new(setup: &Setup) -> ChangeCounter {
        ChangeCounter(RwLock::new(setup.institutions.keys().map(|id| (*id, AtomicU64::new(0))).collect()))
    }

    /// Adds institutions of another setup and advances all counters, because responses show parts of the setup, too.
    /// Counters of removed institutions stay, so that no number repeats if they come back.
    pub fn set_up(&self, setup: &Setup) {
        let mut all = self.0.write();
        for id in setup.institutions.keys() {
            all.entry(*id).or_default();
        }
        drop(all);
        self.all_changed();
    }

    fn all(&self) -> RwLockReadGuard<'_, HashMap<InstitutionId, AtomicU64>> {
        self.0.read()
    }

    /// Advances the counter. Call it after the commit: data read with a stamp is then never older than the stamp.
    pub fn changed(&self, institution: InstitutionId) {
        if let Some(stamp) = self.all().get(&institution) {
            stamp.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Advances all counters, because another process may have written.
    pub fn all_changed(&self) {
        for stamp in self.all().values() {
            stamp.fetch_add(1, Ordering::SeqCst);
        }
    }

    pub fn current(&self, institution: InstitutionId) -> Option<u64> {
        self.all().get(&institution).map(|stamp| stamp.load(Ordering::SeqCst))
    }
}

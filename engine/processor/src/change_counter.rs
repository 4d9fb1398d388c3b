//! A number per institution that rises with every change: whoever kept an answer knows by it whether the answer still stands. In memory,
//! as one process writes the records of an institution.

use std::{
    collections::HashMap,
    sync::{
        PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use location::ids::InstitutionId;
use setup::Setup;

pub struct ChangeCounter(RwLock<HashMap<InstitutionId, AtomicU64>>);

impl ChangeCounter {
    pub fn new(setup: &Setup) -> ChangeCounter {
        ChangeCounter(RwLock::new(setup.institutions.keys().map(|id| (*id, AtomicU64::new(0))).collect()))
    }

    /// Another setup is in force: answers may show more of it than records. Of an institution that is gone the number stays, so that none
    /// comes again when it comes back.
    pub fn set_up(&self, setup: &Setup) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for id in setup.institutions.keys() {
            all.entry(*id).or_default();
        }
        drop(all);
        self.all_changed();
    }

    fn all(&self) -> RwLockReadGuard<'_, HashMap<InstitutionId, AtomicU64>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Call after the commit: what was read before the stamp was taken can only be newer than the stamp says.
    pub fn changed(&self, institution: InstitutionId) {
        if let Some(stamp) = self.all().get(&institution) {
            stamp.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Some institutions may have been written by another process.
    pub fn all_changed(&self) {
        for stamp in self.all().values() {
            stamp.fetch_add(1, Ordering::SeqCst);
        }
    }

    pub fn of(&self, institution: InstitutionId) -> Option<u64> {
        self.all().get(&institution).map(|stamp| stamp.load(Ordering::SeqCst))
    }
}

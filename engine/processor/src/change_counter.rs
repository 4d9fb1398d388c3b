//! A number per institution that rises with every change: whoever kept an answer knows by it whether the answer still stands. In memory,
//! as one process writes the records of an institution.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering},
};

use location::ids::InstitutionId;
use setup::Setup;

pub struct ChangeCounter(HashMap<InstitutionId, AtomicU64>);

impl ChangeCounter {
    pub fn new(setup: &Setup) -> ChangeCounter {
        ChangeCounter(setup.institutions.keys().map(|id| (*id, AtomicU64::new(0))).collect())
    }

    /// Call after the commit: what was read before the stamp was taken can only be newer than the stamp says.
    pub fn changed(&self, institution: InstitutionId) {
        if let Some(stamp) = self.0.get(&institution) {
            stamp.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Some institutions may have been written by another process.
    pub fn all_changed(&self) {
        for stamp in self.0.values() {
            stamp.fetch_add(1, Ordering::SeqCst);
        }
    }

    pub fn of(&self, institution: InstitutionId) -> Option<u64> {
        self.0.get(&institution).map(|stamp| stamp.load(Ordering::SeqCst))
    }
}

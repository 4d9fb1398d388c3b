//! What one call was shown or changed, for the audit trail (`audited`).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use location::ids::{InstitutionId, LocationId};

/// What was done to one record, and nothing of what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub what: &'static str,
    pub record: &'static str,
    /// `None` if the access is to no record, such as a backup.
    pub id: Option<u64>,
}

/// What one call was shown, so that a cached answer leaves the same entries each time it is given.
#[derive(Clone, Default)]
pub struct Shown(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    whose: Whose,
    accesses: Vec<Access>,
}

/// Whose records a call is about, as far as it names them.
#[derive(Clone, Copy, Default)]
pub(crate) struct Whose {
    pub institution: Option<InstitutionId>,
    pub location: Option<LocationId>,
}

impl Shown {
    pub(crate) fn add(&self, access: Access) {
        self.inner().accesses.push(access);
    }

    pub(crate) fn add_all(&self, accesses: &[Access]) {
        self.inner().accesses.extend_from_slice(accesses);
    }

    pub(crate) fn of(&self, institution: InstitutionId, location: Option<LocationId>) {
        let whose = &mut self.inner().whose;
        *whose = Whose { institution: Some(institution), location: location.or(whose.location) };
    }

    pub(crate) fn whose(&self) -> Whose {
        self.inner().whose
    }

    pub(crate) fn accesses(&self) -> Vec<Access> {
        self.inner().accesses.clone()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

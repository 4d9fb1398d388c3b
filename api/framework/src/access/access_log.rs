//! Records that one call read or changed, for the audit trail (`audited`).

use std::sync::Arc;

use engine::records::ResourceRules;
use location::{InstitutionId, LocationId, Resource};
use parking_lot::Mutex;

/// Action on one record, without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub what: &'static str,
    pub record: &'static str,
    /// `None` if the access is to no record, such as a backup.
    pub id: Option<u64>,
}

#[derive(Clone, Default)]
pub struct AccessLog(Arc<Mutex<AccessLogState>>);

#[derive(Default)]
struct AccessLogState {
    scope: AccessScope,
    accesses: Vec<Access>,
}

/// Institution and location that a call addresses, as far as they are known.
#[derive(Clone, Copy, Default)]
pub struct AccessScope {
    pub institution: Option<InstitutionId>,
    pub location: Option<LocationId>,
}

impl AccessLog {
    /// Adds a read or changed record.
    pub fn audit(&self, what: &'static str, record: &'static str, id: u64) {
        self.0.lock().accesses.push(Access { what, record, id: Some(id) });
    }

    /// Adds the read of a record of the resource with these rules, if it is about a patient.
    pub fn audit_read(&self, rules: &ResourceRules, id: u64) {
        let record = match rules.resource {
            Resource::Patients => "patient",
            Resource::Appointments => "appointment",
            _ if rules.refers_to.iter().any(|(_, to)| *to == Resource::Patients) => rules.name,
            _ => return,
        };
        self.audit("read", record, id);
    }

    /// Adds an action that concerns no record.
    pub fn audit_action(&self, what: &'static str, subject: &'static str) {
        self.0.lock().accesses.push(Access { what, record: subject, id: None });
    }

    pub fn set_scope(&self, institution: InstitutionId, location: Option<LocationId>) {
        let scope = &mut self.0.lock().scope;
        *scope = AccessScope { institution: Some(institution), location: location.or(scope.location) };
    }

    pub fn scope(&self) -> AccessScope {
        self.0.lock().scope
    }

    pub(crate) fn accesses(&self) -> Vec<Access> {
        self.0.lock().accesses.clone()
    }
}

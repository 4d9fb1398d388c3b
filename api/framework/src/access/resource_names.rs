//! Names of resources in our additions: the path of the list, if there is one.

use std::sync::LazyLock;

use engine::records::schema::{RESOURCES, rules};
use location::pull::Resource::{self, *};

use super::keys::Grants;
use crate::values::kinds::{Kind, one_of};

/// All resources by name, in the order of the documentation.
static ALL: LazyLock<Vec<(&'static str, Resource)>> = LazyLock::new(|| {
    let mut all: Vec<_> = RESOURCES.iter().map(|resource| (name(*resource), *resource)).collect();
    all.sort_unstable_by_key(|(_, resource)| *resource);
    all
});

pub fn name(resource: Resource) -> &'static str {
    rules(resource).list
}

pub fn all() -> impl Iterator<Item = Resource> {
    ALL.iter().map(|(_, resource)| *resource)
}

pub fn named(text: &str) -> Option<Resource> {
    ALL.iter().find(|(name, _)| *name == text).map(|(_, resource)| *resource)
}

pub fn resource() -> Kind<Resource> {
    one_of(&ALL).about("Only these resources.")
}

/// Returns whether a key may see records of this resource. The grants are those of its endpoints.
pub fn granted(resource: Resource, grants: Grants) -> bool {
    match resource {
        Charges | Claims | PaymentPlans | Payments | Adjustments | GuarantorBalances | InsuranceBalances
        | FeeSchedules | Fees | InsurancePlans => grants.financial,
        HistoryItems
        | PatientHistoryItems
        | CommunicationLogs
        | FormSchemas
        | FormResponses
        | ProcedureCodeCategories
        | ProcedureCodes => grants.beta,
        _ => true,
    }
}

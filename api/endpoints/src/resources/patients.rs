//! Patients: access of callers, and patients inside other resources.

pub mod alerts;
pub mod create;
pub mod documents;
pub mod includes;
pub mod list;
pub mod show;
pub mod update;

use crate::prelude::*;

/// Finds a patient of any location that is open to the caller.
pub fn find(call: &ApiCall, tenant: &Tenant, id: u32) -> Result<Record<Patient>, ApiError> {
    let found = call.api.engine.patient(tenant.institution.id, id)?.filter(|it| reachable(call, tenant, it));
    seen(call, found, id)
}

pub(crate) fn find_at(call: &ApiCall, location: &OpenLocation, id: u32) -> Result<Record<Patient>, ApiError> {
    let found = call.api.engine.patient(location.institution.id, id)?;
    seen(call, found.filter(|it| it.source_id == location.setup.source), id)
}

fn seen(call: &ApiCall, found: Option<Record<Patient>>, id: u32) -> Result<Record<Patient>, ApiError> {
    let found = found.ok_or_else(|| ApiError::not_found(format!("Patient with id {id}")))?;
    call.audit("read", "patient", id.into());
    Ok(found)
}

/// Returns whether the caller may see a patient. Patients are shared by all locations of their EHR; without an EHR they
/// belong to the locations that have a record of them.
pub fn reachable(call: &ApiCall, tenant: &Tenant, patient: &Record<Patient>) -> bool {
    call.open_locations(tenant).iter().any(|location| match patient.source_id {
        Some(source) => location.setup.source == Some(source),
        None => patient.location_ids.contains(&location.setup.id.0),
    })
}

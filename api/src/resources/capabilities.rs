//! GET /locations/{id}/capabilities: what a location's health record system can do (our addition).

use std::collections::BTreeMap;

use engine::records::ehr::Description;
use location::ids::LocationId;
use schemars::JsonSchema;
use serde::Serialize;

use super::resource_names::name;
use crate::{
    access::{call::Call, tenancy::OpenLocation},
    http::errors::HttpResult,
    values::kinds::id,
};

/// What can be read from and written to the health record system of a location.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CapabilitiesView {
    #[schemars(with = "u32")]
    location_id: LocationId,
    /// False: there is no health record system, and what is written stays here.
    integrated: bool,
    /// Null until the system was asked for the first time, and without one.
    ehr: Option<EhrCapabilitiesView>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct EhrCapabilitiesView {
    name: String,
    version: String,
    /// `cloud` or `on-premises`, as the adapter says it.
    hosting: String,
    reads: Vec<ReadCapability>,
    /// What can be written: `create-appointment`, `create-payment` and others.
    writes: Vec<String>,
    /// Whether patients whom the practice does not know can be made.
    accepts_new_patients: bool,
    /// What a new patient needs besides a name.
    required_patient_fields: Vec<String>,
    /// Fields of a patient the health record system has no place for, which stay here; `extra`: all that it does not know by name.
    unkept_patient_fields: Vec<String>,
    /// The longest text a field takes, by record and field.
    max_lengths: BTreeMap<String, u32>,
    has_operatories: bool,
    /// Null: none is known.
    requests_per_minute: Option<u32>,
    /// Writes wait until a workstation of the practice is connected.
    needs_workstation: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ReadCapability {
    resource: &'static str,
    /// Whether it tells what changed, so that not all of it is read each time.
    changes_only: bool,
    /// Deletions are noticed, in the one way or the other: always true.
    deletions: bool,
    /// How they are noticed: `reported`, the health record system names what was deleted; `by_absence`, what a reading of all records
    /// does not show any more counts as deleted.
    deletions_noticed: &'static str,
}

impl EhrCapabilitiesView {
    fn of(it: Description) -> EhrCapabilitiesView {
        let mut reads: Vec<ReadCapability> = it
            .pulls
            .iter()
            .map(|pull| ReadCapability {
                resource: name(pull.resource),
                changes_only: pull.delta,
                deletions: true,
                deletions_noticed: if pull.deletions_by_absence { "by_absence" } else { "reported" },
            })
            .collect();
        reads.sort_by_key(|it| it.resource);
        EhrCapabilitiesView {
            name: it.name,
            version: it.version,
            hosting: it.hosting,
            reads,
            writes: it.writes,
            accepts_new_patients: it.new_patients,
            required_patient_fields: it.required_patient_fields,
            unkept_patient_fields: it.unkept_patient_fields,
            max_lengths: it.max_lengths.into_iter().collect(),
            has_operatories: it.operatories,
            requests_per_minute: it.requests_per_minute,
            needs_workstation: it.gated,
        }
    }
}

pub(crate) async fn show(mut call: Call) -> HttpResult {
    let id = call.path_id(id())?;
    let (tenants, ()) = call.in_tenants(|_| Some(()))?;
    let OpenLocation { setup: location, .. } = call.location_of_any(&tenants, LocationId(id))?;
    let integrated = location.source.is_some();
    let ehr = if integrated { call.api.engine.description(location.id)?.map(EhrCapabilitiesView::of) } else { None };
    Ok(call.show(CapabilitiesView { location_id: location.id, integrated, ehr }))
}

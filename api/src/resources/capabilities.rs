//! GET /locations/{id}/capabilities: the features of a location's EHR (our addition).

use std::collections::BTreeMap;

use engine::records::ehr::Description;
use location::ids::LocationId;
use schemars::JsonSchema;
use serde::Serialize;

use super::resource_names::name;
use crate::access::{
    arguments::OfLocation,
    call::ApiCall,
    respond::{Answer, One},
    tenancy::OpenLocation,
};

/// What can be read from and written to the health record system of a location.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CapabilitiesView {
    /// Id of the location.
    #[schemars(with = "u32")]
    location_id: LocationId,
    /// If false, there is no health record system, and records written through the API are stored only by this service.
    integrated: bool,
    /// Null until the system has answered for the first time, and if there is none.
    ehr: Option<EhrCapabilitiesView>,
}

/// The capabilities of a health record system.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EhrCapabilitiesView {
    /// Name of the health record system, as its adapter states it.
    name: String,
    /// Version of the adapter that connects the health record system.
    version: String,
    /// Where the health record system runs: `cloud`, at its vendor, or `onprem`, in the practice.
    hosting: String,
    /// Resources that can be read, by name.
    reads: Vec<ReadCapability>,
    /// What can be written: `create-appointment`, `create-payment` and others.
    writes: Vec<String>,
    /// Whether new patients can be created.
    accepts_new_patients: bool,
    /// Required fields of a new patient in addition to a name.
    required_patient_fields: Vec<String>,
    /// Patient fields that the health record system cannot store; only this service stores them. `extra` means all
    /// unknown fields.
    unkept_patient_fields: Vec<String>,
    /// Maximum number of characters by record and field, such as `insurance_plan.name`.
    max_lengths: BTreeMap<String, u32>,
    /// Whether appointments of the health record system name an operatory.
    has_operatories: bool,
    /// Requests that the health record system takes in a minute; null if no limit is known.
    requests_per_minute: Option<u32>,
    /// Writes wait until a workstation of the practice is connected.
    needs_workstation: bool,
}

/// A resource that can be read from a health record system.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ReadCapability {
    /// The resource, as in the path of its list.
    resource: &'static str,
    /// Whether the health record system reports changes, so that not all records are read each time.
    changes_only: bool,
    /// Always true: deletions are detected either way.
    deletions: bool,
    /// How deletions are detected. `reported`: the health record system reports them. `by_absence`: a record that is
    /// missing from a full pass counts as deleted.
    deletions_noticed: &'static str,
}

impl EhrCapabilitiesView {
    fn from_description(it: Description) -> EhrCapabilitiesView {
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

pub(crate) async fn show(call: ApiCall, OfLocation(location, ()): OfLocation<()>) -> Answer<One<CapabilitiesView>> {
    let OpenLocation { setup: location, .. } = location;
    let integrated = location.source.is_some();
    let ehr = if integrated {
        call.api.engine.description(location.id)?.map(EhrCapabilitiesView::from_description)
    } else {
        None
    };
    Ok(call.show(CapabilitiesView { location_id: location.id, integrated, ehr }))
}

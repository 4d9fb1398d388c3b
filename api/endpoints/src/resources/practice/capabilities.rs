//! GET /locations/{id}/capabilities: the features of a location's EHR (our addition).

use std::collections::BTreeMap;

use engine::records::ehr::Description;
use framework::access::resource_names::name;

use crate::prelude::*;

/// The data that can be read from and written to the health record system of a location.
#[derive(Serialize, JsonSchema)]
pub struct CapabilitiesView {
    /// Id of the location.
    #[schemars(with = "u32")]
    location_id: LocationId,
    /// `true` if the location has a health record system. If false, records written through the API are stored only by
    /// this service.
    integrated: bool,
    /// Capabilities of the health record system; null until it has responded for the first time, and if there is none.
    ehr: Option<EhrCapabilitiesView>,
}

/// The capabilities of a health record system.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EhrCapabilitiesView {
    /// Name of the health record system, as reported by its adapter.
    name: String,
    /// Version of the adapter that connects the health record system.
    version: String,
    /// Hosting of the health record system: `cloud` (at its vendor) or `onprem` (in the practice).
    hosting: String,
    /// Resources that can be read, by name.
    reads: Vec<ReadCapability>,
    /// The supported writes: `create-appointment`, `create-payment` and others.
    writes: Vec<String>,
    /// `true` if new patients can be created.
    accepts_new_patients: bool,
    /// Fields that are required for a new patient, in addition to a name.
    required_patient_fields: Vec<String>,
    /// Patient fields that the health record system cannot store; only this service stores them. `extra` means all
    /// unknown fields.
    unkept_patient_fields: Vec<String>,
    /// Maximum number of characters, by record and field, such as `insurance_plan.name`.
    max_lengths: BTreeMap<String, u32>,
    /// `true` if appointments of the health record system have an operatory.
    has_operatories: bool,
    /// Maximum number of requests per minute that the health record system accepts; null if no limit is known.
    requests_per_minute: Option<u32>,
    /// `true` if writes wait until a workstation of the practice is connected.
    needs_workstation: bool,
}

/// A resource that can be read from a health record system.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ReadCapability {
    /// The resource, as in the path of its list endpoint.
    resource: &'static str,
    /// `true` if the health record system reports changes, so that not all records are read each time.
    changes_only: bool,
    /// Always true: deletions are detected in either case.
    deletions: bool,
    /// Method by which deletions are detected. `reported`: the health record system reports deletions. `by_absence`: a
    /// record that is missing from a full pass counts as deleted.
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

pub async fn show(call: ApiCall, OfLocation(location, ()): OfLocation<()>) -> Answer<One<CapabilitiesView>> {
    let OpenLocation { setup: location, .. } = location;
    let integrated = location.source.is_some();
    let ehr = if integrated {
        call.api.engine.description(location.id)?.map(EhrCapabilitiesView::from_description)
    } else {
        None
    };
    Ok(call.show(CapabilitiesView { location_id: location.id, integrated, ehr }))
}

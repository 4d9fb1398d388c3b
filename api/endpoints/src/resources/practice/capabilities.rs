//! GET /locations/{id}/capabilities: the features of a location's EHR (our addition).

use engine::records::PullAbility;
use framework::access::resource_names::name;

use crate::prelude::*;

/// The data that can be read from and written to the health record system of a location.
#[view]
pub struct CapabilitiesView<'a> {
    location_id: u32,
    /// `true` if the location has a health record system. If false, records written through the API are stored only by
    /// this service.
    integrated: bool,
    /// Capabilities of the health record system; null until it has responded for the first time, and if there is none.
    ehr: Option<EhrCapabilitiesView<'a>>,
}

/// The capabilities of a health record system.
#[view(value = Description)]
pub(crate) struct EhrCapabilitiesView<'a> {
    /// Name of the health record system, as reported by its adapter.
    name: &'a str,
    /// Version of the adapter that connects the health record system.
    version: &'a str,
    /// Hosting of the health record system: `cloud` (at its vendor) or `onprem` (in the practice).
    hosting: &'a str,
    /// Resources that can be read, by name.
    #[view(with = reads(&entry.pulls))]
    reads: Vec<ReadCapability>,
    /// The supported writes: `create-appointment`, `create-payment` and others.
    writes: &'a [String],
    /// `replace` if appointments are moved by creating a new one and then cancelling the old one, because the health
    /// record system cannot move them. Until both are done, both times are taken. Absent if `reschedule-appointment` is
    /// one of the `writes`, and if appointments cannot be moved at all.
    #[view(with = entry.moves_by_replacement().then_some("replace"))]
    reschedule: Omittable<&'static str>,
    /// `true` if new patients can be created.
    #[view(from = new_patients)]
    accepts_new_patients: bool,
    /// Fields that are required for a new patient, in addition to a name.
    required_patient_fields: &'a [String],
    /// Patient fields that the health record system cannot store; only this service stores them. `extra` means all
    /// unknown fields.
    unkept_patient_fields: &'a [String],
    /// Maximum number of characters, by record and field, such as `insurance_plan.name`.
    #[view(with = entry.max_lengths.iter().map(|(field, length)| (field.as_str(), *length)).collect())]
    max_lengths: BTreeMap<&'a str, u32>,
    /// `true` if appointments of the health record system have an operatory.
    #[view(from = operatories)]
    has_operatories: bool,
    /// Maximum number of requests per minute that the health record system accepts; null if no limit is known.
    requests_per_minute: Option<u32>,
    /// `true` if writes wait until a workstation of the practice is connected.
    #[view(from = gated)]
    needs_workstation: bool,
}

/// A resource that can be read from a health record system.
#[view(value = PullAbility)]
pub(crate) struct ReadCapability {
    #[view(with = name(entry.resource))]
    resource: &'static str,
    /// `true` if the health record system reports changes, so that not all records are read each time.
    #[view(from = delta)]
    changes_only: bool,
    /// Always true: deletions are detected in either case.
    #[view(with = true)]
    deletions: bool,
    /// Method by which deletions are detected. `reported`: the health record system reports deletions. `by_absence`: a
    /// record that is missing from a full pass counts as deleted.
    #[view(with = if entry.deletions_by_absence { "by_absence" } else { "reported" })]
    deletions_noticed: &'static str,
}

fn reads(pulls: &[PullAbility]) -> Vec<ReadCapability> {
    let mut reads: Vec<ReadCapability> = pulls.iter().map(ReadCapability::from_value).collect();
    reads.sort_by_key(|it| it.resource);
    reads
}

pub async fn show(call: ApiCall, OfLocation(location, ()): OfLocation<()>) -> Answer<One<CapabilitiesView<'static>>> {
    let OpenLocation { setup: location, .. } = location;
    let integrated = location.source.is_some();
    let ehr = if integrated { call.api.engine.description(location.id)? } else { None };
    let ehr = ehr.as_ref().map(EhrCapabilitiesView::from_value);
    Ok(call.show(CapabilitiesView { location_id: location.id.0, integrated, ehr }))
}

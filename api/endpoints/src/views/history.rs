//! Medical history (specification 2.5).

use crate::prelude::*;

/// An item of the medical history catalogue.
#[view(of = HistoryItem, named = "item", published)]
pub struct MedicalHistoryItemView<'a> {
    id: u64,
    /// Name of the allergy, condition or medication.
    name: &'a str,
}

/// An item of a patient's medical history.
#[view(of = PatientHistoryItem, named = "item in the patient's medical history", args(item: Option<&'a Record<HistoryItem>>))]
pub struct PatientMedicalHistoryItemView<'a> {
    id: u64,
    /// Id of the item in the catalogue.
    item_id: u64,
    /// Name of the item; null if the health record system does not provide the catalogue item.
    #[view(with = item.map(|item| item.body.name.as_str()))]
    item_name: Option<&'a str>,
    note: Option<&'a str>,
    /// `true` if the item still applies; `false` once it has been deleted in the health record system.
    #[view(active)]
    active: bool,
    write: WriteState<'a>,
}

/// The items of a patient's medical history that changed together.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MedicalHistoryEvent<'a> {
    /// Id of the patient whose medical history changed.
    patient_id: u32,
    /// The items that changed, in their state after the change.
    patient_items: Vec<PatientMedicalHistoryItemView<'a>>,
}

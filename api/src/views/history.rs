//! Medical history (specification 2.5).

use engine::records::{HistoryItem, PatientHistoryItem, record::Record};
use schemars::JsonSchema;
use serde::Serialize;

use crate::views::parts::WriteState;

/// An item of the medical history catalogue.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MedicalHistoryItemView<'a> {
    /// Id of the item.
    id: u64,
    /// Name of the allergy, condition or medication.
    name: &'a str,
}

impl<'a> MedicalHistoryItemView<'a> {
    pub(crate) fn from_record(entry: &'a Record<HistoryItem>) -> MedicalHistoryItemView<'a> {
        MedicalHistoryItemView { id: entry.id.into(), name: &entry.body.name }
    }
}

/// An item of a patient's medical history.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PatientMedicalHistoryItemView<'a> {
    /// Id of the item in the patient's medical history.
    id: u64,
    /// Id of the item in the catalogue.
    item_id: u64,
    /// Name of the item; null if the health record system does not provide the catalogue item.
    item_name: Option<&'a str>,
    /// Free text; null if there is none.
    note: Option<&'a str>,
    /// `true` if the item still applies; `false` once it has been deleted in the health record system.
    active: bool,
    #[serde(flatten)]
    write: WriteState<'a>,
}

impl<'a> PatientMedicalHistoryItemView<'a> {
    pub(crate) fn from_record(
        entry: &'a Record<PatientHistoryItem>,
        item: Option<&'a Record<HistoryItem>>,
    ) -> PatientMedicalHistoryItemView<'a> {
        PatientMedicalHistoryItemView {
            id: entry.id,
            item_id: entry.body.item_id,
            item_name: item.map(|item| item.body.name.as_str()),
            note: entry.body.note.as_deref(),
            active: entry.body.active && entry.deleted_at.is_none(),
            write: WriteState::from_write(entry.write.as_ref()),
        }
    }
}

/// The items of a patient's medical history that changed together.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MedicalHistoryEvent<'a> {
    /// Id of the patient whose medical history changed.
    patient_id: u32,
    /// The items that changed, in their state after the change.
    patient_items: Vec<PatientMedicalHistoryItemView<'a>>,
}

//! Medical histories of patients, and the catalogues of their entries.

use record_macro::record;

use crate::words::HistoryCategory;

/// An entry of a medical history catalogue.
#[record(
    resource = HistoryItems, tag = 24, id = u32, scope = Source,
    contract = "history-item", name = "Medical History Item", list = "medical_history_items"
)]
pub struct HistoryItem {
    /// Catalogue it belongs to.
    #[record(find = Category)]
    pub category: HistoryCategory,
    pub name: String,
}

/// An entry of a patient's medical history.
#[record(
    resource = PatientHistoryItems, tag = 25, id = u64, scope = Source,
    contract = "patient-history-item", name = "Patient Medical History Item", list = "medical_history_patient_items",
    writes(Create = "save-patient-history-item", Update = "save-patient-history-item")
)]
pub struct PatientHistoryItem {
    #[record(refers(patient = Patients), find = Patient)]
    pub patient_id: u32,
    /// Entry of the catalogue.
    #[record(refers(item = HistoryItems))]
    pub item_id: u64,
    /// Catalogue of the item.
    pub category: HistoryCategory,
    /// Free text.
    #[record(limit = Long)]
    pub note: Option<String>,
    /// Still applies.
    #[record(in_use)]
    pub active: bool,
}

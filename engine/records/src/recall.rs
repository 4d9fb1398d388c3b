//! Recalls of patients, and their types.

use record_macro::record;

use crate::{Day, words::IntervalUnit};

/// A kind of recall.
#[record(resource = RecallTypes, tag = 37, id = u32, scope = Source, contract = "recall-type", name = "Recall Type")]
pub struct RecallType {
    pub name: String,
    #[record(limit = Long)]
    pub description: Option<String>,
    /// Units between two visits, at least 1.
    #[record(limit = Between(1, 1_000, "must be 1 to 1000"))]
    pub interval_number: u32,
    /// day, week, month or year.
    pub interval_unit: IntervalUnit,
}

/// A patient due for recall.
#[record(
    resource = PatientRecalls, tag = 38, id = u32, scope = Source, contract = "patient-recall", name = "Patient Recall"
)]
pub struct PatientRecall {
    #[record(refers(patient = Patients), find = Patient)]
    pub patient_id: Option<u32>,
    /// The appointment made for it.
    #[record(refers(appointment = Appointments))]
    pub appointment_id: Option<u64>,
    #[record(refers(recall_type = RecallTypes), find = Type)]
    pub recall_type_id: Option<u64>,
    pub date_due: Option<Day>,
}

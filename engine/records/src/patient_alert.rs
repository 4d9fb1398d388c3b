//! Alerts of patients.

use record_macro::record;

use crate::Seconds;

/// An alert shown to staff with a patient.
#[record(
    resource = PatientAlerts, tag = 26, id = u32, scope = Source, contract = "patient-alert", name = "Patient Alert",
    writes(Create = "create-patient-alert", Update = "disable-patient-alert")
)]
pub struct PatientAlert {
    #[record(refers(patient = Patients), find = Patient)]
    pub patient_id: u32,
    /// Text of the alert.
    #[record(limit = Long)]
    pub note: String,
    pub disabled_at: Option<Seconds>,
}

//! Treatment plans.

use record_macro::record;

use crate::words::PlanStatus;

/// A treatment plan.
#[record(
    resource = TreatmentPlans, tag = 35, id = u64, scope = Source, contract = "treatment-plan", name = "Treatment Plan"
)]
pub struct TreatmentPlan {
    #[record(refers(patient = Patients), find = Patient)]
    pub patient_id: Option<u32>,
    /// Procedures it consists of.
    #[record(refers(procedures = Procedures))]
    #[serde(default)]
    pub procedure_ids: Vec<u64>,
    pub name: Option<String>,
    /// not_applicable, proposed, accepted, rejected or completed.
    pub status: Option<PlanStatus>,
}

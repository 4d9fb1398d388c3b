//! Plans of payments.

use record_macro::record;

use crate::Day;

/// A plan of payments.
#[record(resource = PaymentPlans, tag = 45, id = u64, scope = Source, contract = "payment-plan", name = "Payment Plan")]
pub struct PaymentPlan {
    #[record(refers(patient = Patients), find = Patient)]
    pub patient_id: Option<u32>,
    /// The responsible party, a patient of the same EHR.
    #[record(refers(guarantor = Patients), find = Guarantor)]
    pub guarantor_id: Option<u32>,
    pub first_payment_due: Option<Day>,
    pub created: Option<Day>,
    /// In force.
    #[record(in_use)]
    pub active: bool,
}

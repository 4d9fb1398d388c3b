//! Coverages of patients by insurance plans.

use record_macro::record;

use crate::{
    Day,
    words::{InsuranceType, Relation},
};

/// A patient's coverage by a plan.
#[record(
    resource = Coverages, tag = 23, id = u64, scope = Source, contract = "coverage", name = "Insurance Coverage",
    list = "insurance_coverages",
    writes(Create = "create-coverage", Delete = "delete-coverage")
)]
pub struct Coverage {
    #[record(refers(patient = Patients), find = Patient)]
    pub patient_id: u32,
    #[record(refers(plan = InsurancePlans), find = Plan)]
    pub plan_id: u64,
    /// The subscriber, if a patient of the same EHR.
    #[record(refers(subscriber = Patients), find = Subscriber)]
    pub subscriber_id: Option<u32>,
    /// self, spouse, child, employee, handicap_dep, signif_other, injured_plaintiff, life_partner,
    /// dependent or other.
    pub relation: Relation,
    /// 1 is primary, 2 secondary.
    #[record(limit = Between(1, 1_000, "must be 1 to 1000"))]
    pub priority: Option<u32>,
    pub subscriber_name: Option<String>,
    pub subscriber_date_of_birth: Option<Day>,
    /// Number of the subscriber at the payer.
    pub subscriber_number: Option<String>,
    /// First day of coverage.
    pub effective_date: Option<Day>,
    /// Last day of coverage.
    pub expiration_date: Option<Day>,
    /// dental, medical or vision.
    pub insurance_type: Option<InsuranceType>,
    /// In force.
    #[record(in_use)]
    pub active: bool,
}

//! Insurance plans.

use record_macro::record;

use crate::{Address, Money};

/// An insurance plan.
#[record(
    resource = InsurancePlans, tag = 22, id = u64, scope = Source, contract = "insurance-plan", name = "Insurance Plan",
    writes(Create = "create-insurance-plan")
)]
pub struct InsurancePlan {
    /// Fee schedule the plan pays by.
    #[record(refers(fee_schedule = FeeSchedules))]
    pub fee_schedule_id: Option<u64>,
    /// Payer id for electronic claims.
    #[record(find = Payer)]
    pub payer_id: Option<String>,
    pub name: String,
    /// Postal address of the payer.
    pub address: Option<Address>,
    #[record(find = Group)]
    pub group_number: Option<String>,
    /// Employer that offers the plan.
    pub employer_name: Option<String>,
    /// Maximum payment per year for one person.
    pub annual_max_individual: Option<Money>,
    /// Month 1 to 12 in which the benefit year resets.
    #[record(limit = Between(1, 12, "must be 1 to 12"))]
    pub benefit_year_renewal_month: Option<u8>,
}

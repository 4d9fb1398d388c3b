//! Insurance claims.

use record_macro::{record, record_part};

use crate::{Day, Money, Seconds, words::ClaimStatus};

/// Amounts of a claim, for one charge or in total.
#[record_part(contract = "claim-amounts")]
#[derive(Default)]
pub struct ClaimAmounts {
    /// The charge; `None` in a total.
    #[record(refers(charge = Charges))]
    pub charge_id: Option<u64>,
    /// Billed to the payer.
    pub billed: Option<Money>,
    /// Expected from the payer.
    pub estimated: Option<Money>,
    /// Paid by the payer.
    pub paid: Option<Money>,
    /// Written off.
    pub write_off: Option<Money>,
    /// Allowed by the payer.
    pub allowed: Option<Money>,
}

/// An insurance claim.
#[record(resource = Claims, tag = 44, id = u64, scope = Source, contract = "claim", name = "Claim")]
pub struct Claim {
    #[record(refers(patient = Patients), find = Patient)]
    pub patient_id: Option<u32>,
    #[record(refers(provider = Providers), find = Provider)]
    pub provider_id: Option<u32>,
    /// The responsible party, a patient of the same EHR.
    #[record(refers(guarantor = Patients), find = Guarantor)]
    pub guarantor_id: Option<u32>,
    /// The patient's primary plan.
    #[record(refers(primary_plan = InsurancePlans))]
    pub primary_plan_id: Option<u64>,
    /// The patient's secondary plan.
    #[record(refers(secondary_plan = InsurancePlans))]
    pub secondary_plan_id: Option<u64>,
    /// draft, sent, received or canceled.
    pub status: Option<ClaimStatus>,
    /// Time of sending.
    pub sent_at: Option<Seconds>,
    /// Time at which the answer was received.
    pub received_at: Option<Seconds>,
    /// Free text.
    #[record(limit = Long)]
    pub note: Option<String>,
    #[record(find = ServiceDate)]
    pub date_of_service: Option<Day>,
    /// Sums over the claim.
    #[record(part)]
    pub totals: ClaimAmounts,
    /// Amounts by charge.
    #[record(part, find(charge_id = Charge))]
    pub payouts: Vec<ClaimAmounts>,
}

//! Payments on the ledger, and their types.

use record_macro::record;

use crate::{
    Day, Money,
    split::{ChargeSplit, ProviderSplit},
};

/// A kind of payment.
#[record(resource = PaymentTypes, tag = 41, id = u64, scope = Source, contract = "payment-type", name = "Payment Type")]
pub struct PaymentType {
    pub name: String,
    #[record(in_use)]
    pub active: bool,
}

/// A payment on the ledger.
#[record(
    resource = Payments, tag = 46, id = u64, scope = Source, contract = "payment", name = "Payment",
    writes(Create = "create-payment")
)]
pub struct Payment {
    #[record(refers(patient = Patients), find = Patient)]
    pub patient_id: Option<u32>,
    /// The responsible party, a patient of the same EHR.
    #[record(refers(guarantor = Patients), find = Guarantor)]
    pub guarantor_id: Option<u32>,
    #[record(refers(provider = Providers), find = Provider)]
    pub provider_id: Option<u32>,
    /// The charge it settles.
    #[record(refers(charge = Charges), find = Charge)]
    pub charge_id: Option<u64>,
    /// The claim it belongs to.
    #[record(refers(claim = Claims), find = Claim)]
    pub claim_id: Option<u64>,
    /// The payment plan it belongs to.
    #[record(refers(payment_plan = PaymentPlans))]
    pub payment_plan_id: Option<u64>,
    /// The plan that paid.
    #[record(refers(insurance_plan = InsurancePlans))]
    pub insurance_plan_id: Option<u64>,
    #[record(refers(payment_type = PaymentTypes))]
    pub payment_type_id: Option<u64>,
    /// Amount paid.
    pub amount: Money,
    pub paid_at: Option<Day>,
    /// Identifier of the transaction at its processor.
    #[record(find = Transaction)]
    pub transaction_id: Option<String>,
    /// Description.
    /// `notes` of a payment created through the API.
    #[record(limit = Long)]
    pub description: Option<String>,
    #[record(part, find(charge_id = Charge))]
    pub charge_splits: Vec<ChargeSplit>,
    #[record(part, find(provider_id = Provider))]
    pub provider_splits: Vec<ProviderSplit>,
}

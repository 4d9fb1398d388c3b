//! Adjustments on the ledger, and their types.

use record_macro::record;

use crate::{
    Day, Money,
    split::{ChargeSplit, ProviderSplit},
    words::AdjustmentAction,
};

/// A kind of adjustment.
#[record(
    resource = AdjustmentTypes, tag = 42, id = u64, scope = Source,
    contract = "adjustment-type", name = "Adjustment Type"
)]
pub struct AdjustmentType {
    pub name: String,
    #[record(in_use)]
    pub active: bool,
    /// credit, debit or unknown.
    pub action: AdjustmentAction,
}

/// An adjustment on the ledger.
#[record(
    resource = Adjustments, tag = 47, id = u64, scope = Source, contract = "adjustment", name = "Adjustment",
    writes(Create = "create-adjustment")
)]
pub struct Adjustment {
    #[record(refers(patient = Patients), find = Patient)]
    pub patient_id: Option<u32>,
    /// The responsible party, a patient of the same EHR.
    #[record(refers(guarantor = Patients), find = Guarantor)]
    pub guarantor_id: Option<u32>,
    #[record(refers(provider = Providers), find = Provider)]
    pub provider_id: Option<u32>,
    /// The charge it changes.
    #[record(refers(charge = Charges), find = Charge)]
    pub charge_id: Option<u64>,
    /// The claim it belongs to.
    #[record(refers(claim = Claims), find = Claim)]
    pub claim_id: Option<u64>,
    #[record(refers(adjustment_type = AdjustmentTypes))]
    pub adjustment_type_id: Option<u64>,
    pub amount: Money,
    pub adjusted_at: Option<Day>,
    /// Identifier of the transaction at its processor.
    pub transaction_id: Option<String>,
    /// Description.
    /// `notes` of an adjustment created through the API.
    #[record(limit = Long)]
    pub description: Option<String>,
    #[record(part, find(charge_id = Charge))]
    pub charge_splits: Vec<ChargeSplit>,
    #[record(part, find(provider_id = Provider))]
    pub provider_splits: Vec<ProviderSplit>,
}

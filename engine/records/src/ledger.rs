//! The ledger: charges, what was paid and adjusted, claims, payment plans, balances.

use serde::{Deserialize, Serialize};

use super::{
    money::Money,
    values::{Day, Extra, Seconds},
};

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    pub patient_id: Option<u32>,
    pub guarantor_id: Option<u32>,
    pub provider_id: Option<u32>,
    pub procedure_id: Option<u64>,
    /// The code itself.
    pub procedure_code: Option<String>,
    pub description: Option<String>,
    pub fee: Option<Money>,
    pub charged_at: Option<Day>,
    #[serde(default)]
    pub extra: Extra,
}

/// The part of a payment or adjustment that goes to one charge.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChargeSplit {
    pub charge_id: u64,
    pub amount: Money,
}

/// The part of a payment or adjustment that goes to one provider.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderSplit {
    pub provider_id: u32,
    pub amount: Money,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payment {
    pub patient_id: Option<u32>,
    pub guarantor_id: Option<u32>,
    pub provider_id: Option<u32>,
    pub charge_id: Option<u64>,
    pub claim_id: Option<u64>,
    pub payment_plan_id: Option<u64>,
    pub insurance_plan_id: Option<u64>,
    pub payment_type_id: Option<u64>,
    pub amount: Money,
    pub paid_at: Option<Day>,
    pub transaction_id: Option<String>,
    /// `notes` of a payment made here.
    pub description: Option<String>,
    #[serde(default)]
    pub charge_splits: Vec<ChargeSplit>,
    #[serde(default)]
    pub provider_splits: Vec<ProviderSplit>,
    #[serde(default)]
    pub extra: Extra,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adjustment {
    pub patient_id: Option<u32>,
    pub guarantor_id: Option<u32>,
    pub provider_id: Option<u32>,
    pub charge_id: Option<u64>,
    pub claim_id: Option<u64>,
    pub adjustment_type_id: Option<u64>,
    pub amount: Money,
    pub adjusted_at: Option<Day>,
    pub transaction_id: Option<String>,
    /// `notes` of an adjustment made here.
    pub description: Option<String>,
    #[serde(default)]
    pub charge_splits: Vec<ChargeSplit>,
    #[serde(default)]
    pub provider_splits: Vec<ProviderSplit>,
    #[serde(default)]
    pub extra: Extra,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub patient_id: Option<u32>,
    pub provider_id: Option<u32>,
    pub guarantor_id: Option<u32>,
    pub status: Option<ClaimStatus>,
    pub sent_at: Option<Seconds>,
    pub received_at: Option<Seconds>,
    pub note: Option<String>,
    pub primary_plan_id: Option<u64>,
    pub secondary_plan_id: Option<u64>,
    pub date_of_service: Option<Day>,
    pub totals: ClaimAmounts,
    #[serde(default)]
    pub payouts: Vec<ClaimAmounts>,
    #[serde(default)]
    pub extra: Extra,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimStatus {
    Draft,
    Sent,
    Received,
    Canceled,
}

/// What a claim says of one charge, or in total.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimAmounts {
    /// None in a total.
    pub charge_id: Option<u64>,
    pub billed: Option<Money>,
    pub estimated: Option<Money>,
    pub paid: Option<Money>,
    pub write_off: Option<Money>,
    pub allowed: Option<Money>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentPlan {
    pub patient_id: Option<u32>,
    pub guarantor_id: Option<u32>,
    pub first_payment_due: Option<Day>,
    pub created: Option<Day>,
    pub active: bool,
    #[serde(default)]
    pub extra: Extra,
}

/// What a guarantor owes, by age.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GuarantorBalance(pub Balance);

/// What insurance is expected to pay for a patient, by age.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InsuranceBalance(pub Balance);

/// Amounts by age in days.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balance {
    pub patient_id: Option<u32>,
    pub guarantor_id: Option<u32>,
    pub total: Option<Money>,
    pub write_off_estimate: Option<Money>,
    pub insurance_estimate: Option<Money>,
    pub guarantor_portion: Option<Money>,
    pub under30: Option<Money>,
    pub from31_to60: Option<Money>,
    pub from61_to90: Option<Money>,
    pub over90: Option<Money>,
    pub billed_under30: Option<Money>,
    pub billed31_to60: Option<Money>,
    pub billed61_to90: Option<Money>,
    pub billed_over90: Option<Money>,
    #[serde(default)]
    pub extra: Extra,
}

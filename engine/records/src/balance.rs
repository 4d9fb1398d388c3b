//! Balances by age.

use record_macro::record;

use crate::Money;

/// A balance by age in days: of a guarantor, or an insurance's estimate for a patient.
#[record(
    resource = GuarantorBalances, tag = 48, id = u64, scope = Source, contract = "balance", name = "Guarantor Balance"
)]
pub struct GuarantorBalance {
    #[record(refers(patient = Patients))]
    pub patient_id: Option<u32>,
    /// The responsible party, a patient of the same EHR.
    #[record(refers(guarantor = Patients), find = Guarantor)]
    pub guarantor_id: Option<u32>,
    /// Sum of all ages.
    pub total: Option<Money>,
    /// Expected to be written off.
    pub write_off_estimate: Option<Money>,
    /// Expected from insurance.
    pub insurance_estimate: Option<Money>,
    /// Remainder for the guarantor.
    pub guarantor_portion: Option<Money>,
    /// Up to 30 days old.
    pub under30: Option<Money>,
    /// 31 to 60 days old.
    pub from31_to60: Option<Money>,
    /// 61 to 90 days old.
    pub from61_to90: Option<Money>,
    /// Older than 90 days.
    pub over90: Option<Money>,
    /// Billed, up to 30 days old.
    pub billed_under30: Option<Money>,
    /// Billed, 31 to 60 days old.
    pub billed31_to60: Option<Money>,
    /// Billed, 61 to 90 days old.
    pub billed61_to90: Option<Money>,
    /// Billed, older than 90 days.
    pub billed_over90: Option<Money>,
}

/// A balance by age in days: of a guarantor, or an insurance's estimate for a patient.
#[record(
    resource = InsuranceBalances, tag = 49, id = u64, scope = Source, contract = "balance", name = "Insurance Balance"
)]
pub struct InsuranceBalance {
    #[record(refers(patient = Patients), find = Patient)]
    pub patient_id: Option<u32>,
    /// The responsible party, a patient of the same EHR.
    #[record(refers(guarantor = Patients), find = Guarantor)]
    pub guarantor_id: Option<u32>,
    /// Sum of all ages.
    pub total: Option<Money>,
    /// Expected to be written off.
    pub write_off_estimate: Option<Money>,
    /// Expected from insurance.
    pub insurance_estimate: Option<Money>,
    /// Remainder for the guarantor.
    pub guarantor_portion: Option<Money>,
    /// Up to 30 days old.
    pub under30: Option<Money>,
    /// 31 to 60 days old.
    pub from31_to60: Option<Money>,
    /// 61 to 90 days old.
    pub from61_to90: Option<Money>,
    /// Older than 90 days.
    pub over90: Option<Money>,
    /// Billed, up to 30 days old.
    pub billed_under30: Option<Money>,
    /// Billed, 31 to 60 days old.
    pub billed31_to60: Option<Money>,
    /// Billed, 61 to 90 days old.
    pub billed61_to90: Option<Money>,
    /// Billed, older than 90 days.
    pub billed_over90: Option<Money>,
}

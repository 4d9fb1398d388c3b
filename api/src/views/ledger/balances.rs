//! Balances by age in days.

use engine::records::{GuarantorBalance, InsuranceBalance, record::Record};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    values::times::At,
    views::{
        parts::{Included, Price},
        people::PatientBasic,
    },
};

/// What a guarantor owes. An amount is null if the health record system does not provide it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct GuarantorBalanceView<'a> {
    id: u64,
    foreign_id: Option<&'a str>,
    guarantor_id: Option<u32>,
    /// Null if the health record system does not provide it.
    location_id: Option<u32>,
    updated_at: At,
    write_off_estimate: Option<Price>,
    total_balance: Option<Price>,
    insurance_estimate: Option<Price>,
    guarantor_portion: Option<Price>,
    total_balance_under_30: Option<Price>,
    total_balance_31_60: Option<Price>,
    total_balance_61_90: Option<Price>,
    total_balance_over_90: Option<Price>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guarantor: Included<PatientBasic<'a>>,
}

impl<'a> GuarantorBalanceView<'a> {
    pub(crate) fn of(entry: &'a Record<GuarantorBalance>) -> GuarantorBalanceView<'a> {
        let balance = &entry.body;
        GuarantorBalanceView {
            id: entry.id,
            foreign_id: entry.foreign_id.as_deref(),
            guarantor_id: balance.guarantor_id,
            location_id: entry.location_id,
            updated_at: At(entry.updated_at),
            write_off_estimate: Price::maybe(&balance.write_off_estimate),
            total_balance: Price::maybe(&balance.total),
            insurance_estimate: Price::maybe(&balance.insurance_estimate),
            guarantor_portion: Price::maybe(&balance.guarantor_portion),
            total_balance_under_30: Price::maybe(&balance.under30),
            total_balance_31_60: Price::maybe(&balance.from31_to60),
            total_balance_61_90: Price::maybe(&balance.from61_to90),
            total_balance_over_90: Price::maybe(&balance.over90),
            guarantor: None,
        }
    }
}

/// What insurance is expected to pay for a patient. An amount is null if the health record system does not provide it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct InsuranceBalanceView {
    id: u64,
    patient_id: Option<u32>,
    guarantor_id: Option<u32>,
    /// Null if the health record system does not provide it.
    location_id: Option<u32>,
    updated_at: At,
    estimated_amount_under_30: Option<Price>,
    estimated_amount_31_60: Option<Price>,
    estimated_amount_61_90: Option<Price>,
    estimated_amount_over_90: Option<Price>,
    billed_amount_under_30: Option<Price>,
    billed_amount_31_60: Option<Price>,
    billed_amount_61_90: Option<Price>,
    billed_amount_over_90: Option<Price>,
}

impl InsuranceBalanceView {
    pub(crate) fn of(entry: &Record<InsuranceBalance>) -> InsuranceBalanceView {
        let balance = &entry.body;
        InsuranceBalanceView {
            id: entry.id,
            patient_id: balance.patient_id,
            guarantor_id: balance.guarantor_id,
            location_id: entry.location_id,
            updated_at: At(entry.updated_at),
            estimated_amount_under_30: Price::maybe(&balance.under30),
            estimated_amount_31_60: Price::maybe(&balance.from31_to60),
            estimated_amount_61_90: Price::maybe(&balance.from61_to90),
            estimated_amount_over_90: Price::maybe(&balance.over90),
            billed_amount_under_30: Price::maybe(&balance.billed_under30),
            billed_amount_31_60: Price::maybe(&balance.billed31_to60),
            billed_amount_61_90: Price::maybe(&balance.billed61_to90),
            billed_amount_over_90: Price::maybe(&balance.billed_over90),
        }
    }
}

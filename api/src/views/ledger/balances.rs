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

/// The balance of a guarantor. An amount is null if the health record system does not provide it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct GuarantorBalanceView<'a> {
    /// Id of the balance.
    id: u64,
    /// Opaque identifier in the health record system; null for a record that exists only in this service.
    foreign_id: Option<&'a str>,
    /// Id of the guarantor, the person responsible for the account; null if the health record system provides none.
    guarantor_id: Option<u32>,
    /// Always null: no health record system provides it.
    location_id: Option<u32>,
    /// Time of the last change of the record in this service, in UTC.
    updated_at: At,
    /// Amount expected to be written off; null if the health record system does not provide it.
    write_off_estimate: Option<Price>,
    /// Amount owed in total; null if the health record system does not provide it.
    total_balance: Option<Price>,
    /// Amount expected from insurance; null if the health record system does not provide it.
    insurance_estimate: Option<Price>,
    /// Amount that remains for the guarantor; null if the health record system does not provide it.
    guarantor_portion: Option<Price>,
    /// Part of the balance that is up to 30 days old; null if the health record system does not provide it.
    total_balance_under_30: Option<Price>,
    /// Part of the balance that is 31 to 60 days old; null if the health record system does not provide it.
    total_balance_31_60: Option<Price>,
    /// Part of the balance that is 61 to 90 days old; null if the health record system does not provide it.
    total_balance_61_90: Option<Price>,
    /// Part of the balance that is more than 90 days old; null if the health record system does not provide it.
    total_balance_over_90: Option<Price>,
    /// The guarantor; null if there is none. Only with `include[]=guarantor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guarantor: Included<PatientBasic<'a>>,
}

impl<'a> GuarantorBalanceView<'a> {
    pub(crate) fn from_record(entry: &'a Record<GuarantorBalance>) -> GuarantorBalanceView<'a> {
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

/// The amounts that insurance is expected to pay for a patient. An amount is null if the health record system does not
/// provide it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct InsuranceBalanceView {
    /// Id of the balance.
    id: u64,
    /// Id of the patient; null if the health record system provides none.
    patient_id: Option<u32>,
    /// Id of the guarantor, the person responsible for the account; null if the health record system provides none.
    guarantor_id: Option<u32>,
    /// Always null: no health record system provides it.
    location_id: Option<u32>,
    /// Time of the last change of the record in this service, in UTC.
    updated_at: At,
    /// Amount expected from insurance that is up to 30 days old; null if the health record system does not provide it.
    estimated_amount_under_30: Option<Price>,
    /// Amount expected from insurance that is 31 to 60 days old; null if the health record system does not provide it.
    estimated_amount_31_60: Option<Price>,
    /// Amount expected from insurance that is 61 to 90 days old; null if the health record system does not provide it.
    estimated_amount_61_90: Option<Price>,
    /// Amount expected from insurance that is more than 90 days old; null if the health record system does not provide
    /// it.
    estimated_amount_over_90: Option<Price>,
    /// Amount billed to insurance that is up to 30 days old; null if the health record system does not provide it.
    billed_amount_under_30: Option<Price>,
    /// Amount billed to insurance that is 31 to 60 days old; null if the health record system does not provide it.
    billed_amount_31_60: Option<Price>,
    /// Amount billed to insurance that is 61 to 90 days old; null if the health record system does not provide it.
    billed_amount_61_90: Option<Price>,
    /// Amount billed to insurance that is more than 90 days old; null if the health record system does not provide it.
    billed_amount_over_90: Option<Price>,
}

impl InsuranceBalanceView {
    pub(crate) fn from_record(entry: &Record<InsuranceBalance>) -> InsuranceBalanceView {
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

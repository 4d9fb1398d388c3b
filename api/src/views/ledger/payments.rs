//! Payments, adjustments and payment plans.

use engine::records::{Adjustment, Payment, PaymentPlan, record::Record};
use schemars::JsonSchema;
use serde::Serialize;

use super::charges_and_claims::{ClaimView, PatientLedgerCharge};
use crate::{
    values::{times::At, versions::Version},
    views::{
        catalogue::{AdjustmentTypeView, PaymentTypeView},
        parts::{Included, Price, WriteState, day},
        people::{PatientBasic, ProviderBasic},
    },
};

/// A payment on the ledger.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PaymentView<'a> {
    /// Id of the payment.
    id: u64,
    /// Identifier in the health record system; null until the payment is stored there.
    foreign_id: Option<&'a str>,
    /// Id of the location at which the payment was entered through the API; null if it was read from the health record
    /// system.
    location_id: Option<u32>,
    /// Id of the patient; null if the health record system provides none.
    patient_id: Option<u32>,
    /// Id of the guarantor, the person responsible for the account; null if the health record system provides none.
    guarantor_id: Option<u32>,
    /// Id of the provider; null if the health record system provides none.
    provider_id: Option<u32>,
    /// Time of the last change of the record in this service, in UTC.
    updated_at: At,
    /// Description of the entry; null if there is none.
    description: Option<&'a str>,
    /// Time at which this service detected the deletion of the record in the health record system, in UTC; null if it
    /// was not deleted.
    deleted_at: Option<At>,
    /// The reduction of the balance: positive, whichever sign was entered. The health record system may have reversals,
    /// which are negative.
    payment_amount: Price,
    /// Date of the payment, `YYYY-MM-DD`; null if the health record system does not provide it.
    #[schemars(extend("format" = "date"))]
    paid_at: Option<String>,
    /// Id of the transaction: the caller's own id if the entry was created through the API, otherwise the id of the
    /// payment processor. Null if unknown.
    transaction_id: Option<&'a str>,
    /// Id of the charge that the payment settles; null if the health record system provides none.
    charge_id: Option<u64>,
    /// Id of the claim that the payment belongs to; null if the health record system provides none.
    claim_id: Option<u64>,
    /// Id of the payment plan that the payment belongs to; null if the health record system provides none.
    payment_plan_id: Option<u64>,
    /// Id of the insurance plan that paid; null if the health record system provides none.
    insurance_plan_id: Option<u64>,
    /// Id of the payment type; null if there is none.
    payment_type_id: Option<u64>,
    /// Always null: no health record system provides it. Only in v2.2.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-versions" = ["v2.2.2"]))]
    procedure_id: Included<u64>,
    /// The same as `payment_amount`. Only in v2.2.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-versions" = ["v2.2.2"]))]
    value: Included<Price>,
    /// The same as `paid_at`. Only in v2.2.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date", "x-versions" = ["v2.2.2"]))]
    date: Included<String>,
    /// The same as `description`. Only in v2.2.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-versions" = ["v2.2.2"]))]
    notes: Included<&'a str>,
    #[serde(flatten)]
    write: WriteState<'a>,
    /// The patient; null if there is none. Only with `include[]=patient`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patient: Included<PatientBasic<'a>>,
    /// The provider; null if there is none. Only with `include[]=provider`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Included<ProviderBasic<'a>>,
    /// The guarantor; null if there is none. Only with `include[]=guarantor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guarantor: Included<PatientBasic<'a>>,
    /// The claim that the payment belongs to; null if there is none. Only with `include[]=claim`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Included<ClaimView<'a>>,
    /// The charge that the payment settles; null if there is none. Only with `include[]=charge`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charge: Included<PatientLedgerCharge<'a>>,
    /// The payment plan that the payment belongs to; null if there is none. Only with `include[]=payment_plan`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payment_plan: Included<PaymentPlanView<'a>>,
    /// The payment type; null if there is none. Only with `include[]=payment_type`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payment_type: Included<PaymentTypeView<'a>>,
}

impl<'a> PaymentView<'a> {
    pub(crate) fn in_version(entry: &'a Record<Payment>, version: Version) -> PaymentView<'a> {
        if version.is_v2() { PaymentView::v2(entry) } else { PaymentView::from_record(entry) }
    }

    pub(crate) fn from_record(entry: &'a Record<Payment>) -> PaymentView<'a> {
        let payment = &entry.body;
        PaymentView {
            id: entry.id,
            foreign_id: entry.foreign_id.as_deref(),
            location_id: entry.location_id,
            patient_id: payment.patient_id,
            guarantor_id: payment.guarantor_id,
            provider_id: payment.provider_id,
            updated_at: At(entry.updated_at),
            description: payment.description.as_deref(),
            deleted_at: entry.deleted_at.map(At),
            payment_amount: Price::from_money(&payment.amount),
            paid_at: day(&payment.paid_at),
            transaction_id: payment.transaction_id.as_deref(),
            charge_id: payment.charge_id,
            claim_id: payment.claim_id,
            payment_plan_id: payment.payment_plan_id,
            insurance_plan_id: payment.insurance_plan_id,
            payment_type_id: payment.payment_type_id,
            procedure_id: None,
            value: None,
            date: None,
            notes: None,
            write: WriteState::from_write(entry.write.as_ref()),
            patient: None,
            provider: None,
            guarantor: None,
            claim: None,
            charge: None,
            payment_plan: None,
            payment_type: None,
        }
    }

    /// Builds the view with the field names of v2.2.2.
    fn v2(entry: &'a Record<Payment>) -> PaymentView<'a> {
        let payment = &entry.body;
        PaymentView {
            procedure_id: Some(None),
            value: Some(Some(Price::from_money(&payment.amount))),
            date: Some(day(&payment.paid_at)),
            notes: Some(payment.description.as_deref()),
            ..PaymentView::from_record(entry)
        }
    }
}

/// An adjustment on the ledger.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AdjustmentView<'a> {
    /// Id of the adjustment.
    id: u64,
    /// Identifier in the health record system; null until the adjustment is stored there.
    foreign_id: Option<&'a str>,
    /// Id of the location at which the adjustment was entered through the API; null if it was read from the health
    /// record system.
    location_id: Option<u32>,
    /// Id of the patient; null if the health record system provides none.
    patient_id: Option<u32>,
    /// Id of the guarantor, the person responsible for the account; null if the health record system provides none.
    guarantor_id: Option<u32>,
    /// Id of the provider; null if the health record system provides none.
    provider_id: Option<u32>,
    /// Time of the last change of the record in this service, in UTC.
    updated_at: At,
    /// Description of the entry; null if there is none.
    description: Option<&'a str>,
    /// Time at which this service detected the deletion of the record in the health record system, in UTC; null if it
    /// was not deleted.
    deleted_at: Option<At>,
    /// The amount added to the balance: a credit is negative.
    adjustment_amount: Price,
    /// Date of the adjustment, `YYYY-MM-DD`; null if the health record system does not provide it.
    #[schemars(extend("format" = "date"))]
    adjusted_at: Option<String>,
    /// Id of the transaction: the caller's own id if the entry was created through the API, otherwise the id of the
    /// payment processor. Null if unknown.
    transaction_id: Option<&'a str>,
    /// Id of the charge that the adjustment changes; null if the health record system provides none.
    charge_id: Option<u64>,
    /// Id of the claim that the adjustment belongs to; null if the health record system provides none.
    claim_id: Option<u64>,
    /// Id of the adjustment type; null if there is none.
    adjustment_type_id: Option<u64>,
    /// Always null: no health record system provides it. Only in v2.2.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-versions" = ["v2.2.2"]))]
    procedure_id: Included<u64>,
    /// The same as `adjustment_amount`. Only in v2.2.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-versions" = ["v2.2.2"]))]
    value: Included<Price>,
    /// The same as `adjusted_at`. Only in v2.2.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date", "x-versions" = ["v2.2.2"]))]
    date: Included<String>,
    /// The same as `description`. Only in v2.2.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-versions" = ["v2.2.2"]))]
    notes: Included<&'a str>,
    /// Only in v2.2.2: `credit` lowers the balance, `debit` raises it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["credit", "debit"], "x-versions" = ["v2.2.2"]))]
    directionality: Option<&'static str>,
    #[serde(flatten)]
    write: WriteState<'a>,
    /// The patient; null if there is none. Only with `include[]=patient`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patient: Included<PatientBasic<'a>>,
    /// The provider; null if there is none. Only with `include[]=provider`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Included<ProviderBasic<'a>>,
    /// The guarantor; null if there is none. Only with `include[]=guarantor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guarantor: Included<PatientBasic<'a>>,
    /// The claim that the adjustment belongs to; null if there is none. Only with `include[]=claim`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Included<ClaimView<'a>>,
    /// The charge that the adjustment changes; null if there is none. Only with `include[]=charge`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charge: Included<PatientLedgerCharge<'a>>,
    /// The adjustment type; null if there is none. Only with `include[]=adjustment_type`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adjustment_type: Included<AdjustmentTypeView<'a>>,
}

impl<'a> AdjustmentView<'a> {
    pub(crate) fn in_version(entry: &'a Record<Adjustment>, version: Version) -> AdjustmentView<'a> {
        if version.is_v2() { AdjustmentView::v2(entry) } else { AdjustmentView::from_record(entry) }
    }

    pub(crate) fn from_record(entry: &'a Record<Adjustment>) -> AdjustmentView<'a> {
        let adjustment = &entry.body;
        AdjustmentView {
            id: entry.id,
            foreign_id: entry.foreign_id.as_deref(),
            location_id: entry.location_id,
            patient_id: adjustment.patient_id,
            guarantor_id: adjustment.guarantor_id,
            provider_id: adjustment.provider_id,
            updated_at: At(entry.updated_at),
            description: adjustment.description.as_deref(),
            deleted_at: entry.deleted_at.map(At),
            adjustment_amount: Price::from_money(&adjustment.amount),
            adjusted_at: day(&adjustment.adjusted_at),
            transaction_id: adjustment.transaction_id.as_deref(),
            charge_id: adjustment.charge_id,
            claim_id: adjustment.claim_id,
            adjustment_type_id: adjustment.adjustment_type_id,
            procedure_id: None,
            value: None,
            date: None,
            notes: None,
            directionality: None,
            write: WriteState::from_write(entry.write.as_ref()),
            patient: None,
            provider: None,
            guarantor: None,
            claim: None,
            charge: None,
            adjustment_type: None,
        }
    }

    /// Builds the view with the field names of v2.2.2.
    fn v2(entry: &'a Record<Adjustment>) -> AdjustmentView<'a> {
        let adjustment = &entry.body;
        AdjustmentView {
            procedure_id: Some(None),
            value: Some(Some(Price::from_money(&adjustment.amount))),
            date: Some(day(&adjustment.adjusted_at)),
            notes: Some(adjustment.description.as_deref()),
            directionality: Some(if adjustment.amount.amount.is_sign_negative() { "credit" } else { "debit" }),
            ..AdjustmentView::from_record(entry)
        }
    }
}

/// A payment plan.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PaymentPlanView<'a> {
    /// Id of the payment plan.
    id: u64,
    /// Id of the patient; null if the health record system provides none.
    patient_id: Option<u32>,
    /// Id of the guarantor, the person responsible for the account; null if the health record system provides none.
    guarantor_id: Option<u32>,
    /// Due date of the first payment, `YYYY-MM-DD`; null if the health record system does not provide it.
    #[schemars(extend("format" = "date"))]
    first_payment_due_date: Option<String>,
    /// Date on which the payment plan was created, `YYYY-MM-DD`; null if the health record system does not provide it.
    #[schemars(extend("format" = "date"))]
    created_date: Option<String>,
    /// `true` if the payment plan is in force; `false` once it has been deleted in the health record system.
    active: bool,
    /// The patient; null if there is none. Only with `include[]=patient`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patient: Included<PatientBasic<'a>>,
    /// The guarantor; null if there is none. Only with `include[]=guarantor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guarantor: Included<PatientBasic<'a>>,
}

impl PaymentPlanView<'_> {
    pub(crate) fn from_record(entry: &Record<PaymentPlan>) -> Self {
        PaymentPlanView {
            id: entry.id,
            patient_id: entry.body.patient_id,
            guarantor_id: entry.body.guarantor_id,
            first_payment_due_date: day(&entry.body.first_payment_due),
            created_date: day(&entry.body.created),
            active: entry.body.active && entry.deleted_at.is_none(),
            patient: None,
            guarantor: None,
        }
    }
}

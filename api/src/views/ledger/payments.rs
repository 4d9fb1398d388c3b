//! Payments, adjustments and payment plans.

use engine::records::{Adjustment, Payment, PaymentPlan, record::Record};
use schemars::JsonSchema;
use serde::Serialize;
use view_macro::view;

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
#[view(of = Payment, named = "payment")]
#[derive(Serialize, JsonSchema)]
pub(crate) struct PaymentView<'a> {
    id: u64,
    /// Identifier in the health record system; null until the payment is stored there.
    foreign_id: Option<&'a str>,
    /// Id of the location at which the payment was entered through the API; null if it was read from the health record
    /// system.
    location_id: Option<u32>,
    patient_id: Option<u32>,
    guarantor_id: Option<u32>,
    provider_id: Option<u32>,
    updated_at: At,
    /// Description of the entry; null if there is none.
    description: Option<&'a str>,
    deleted_at: Option<At>,
    /// The reduction of the balance: positive, whichever sign was entered. The health record system may have reversals,
    /// which are negative.
    #[view(from = amount)]
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
    #[schemars(extend("x-versions" = ["v2.2.2"]))]
    procedure_id: Included<u64>,
    /// The same as `payment_amount`. Only in v2.2.2.
    #[schemars(extend("x-versions" = ["v2.2.2"]))]
    value: Included<Price>,
    /// The same as `paid_at`. Only in v2.2.2.
    #[schemars(extend("format" = "date", "x-versions" = ["v2.2.2"]))]
    date: Included<String>,
    /// The same as `description`. Only in v2.2.2.
    #[schemars(extend("x-versions" = ["v2.2.2"]))]
    notes: Included<&'a str>,
    #[serde(flatten)]
    write: WriteState<'a>,
    pub patient: Included<PatientBasic<'a>>,
    pub provider: Included<ProviderBasic<'a>>,
    pub guarantor: Included<PatientBasic<'a>>,
    /// The claim that the payment belongs to; null if there is none. Only with `include[]=claim`.
    pub claim: Included<ClaimView<'a>>,
    /// The charge that the payment settles; null if there is none. Only with `include[]=charge`.
    pub charge: Included<PatientLedgerCharge<'a>>,
    /// The payment plan that the payment belongs to; null if there is none. Only with `include[]=payment_plan`.
    pub payment_plan: Included<PaymentPlanView<'a>>,
    /// The payment type; null if there is none. Only with `include[]=payment_type`.
    pub payment_type: Included<PaymentTypeView<'a>>,
}

impl<'a> PaymentView<'a> {
    pub(crate) fn in_version(entry: &'a Record<Payment>, version: Version) -> PaymentView<'a> {
        if version.is_v2() { PaymentView::v2(entry) } else { PaymentView::from_record(entry) }
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
#[view(of = Adjustment, named = "adjustment")]
#[derive(Serialize, JsonSchema)]
pub(crate) struct AdjustmentView<'a> {
    id: u64,
    /// Identifier in the health record system; null until the adjustment is stored there.
    foreign_id: Option<&'a str>,
    /// Id of the location at which the adjustment was entered through the API; null if it was read from the health
    /// record system.
    location_id: Option<u32>,
    patient_id: Option<u32>,
    guarantor_id: Option<u32>,
    provider_id: Option<u32>,
    updated_at: At,
    /// Description of the entry; null if there is none.
    description: Option<&'a str>,
    deleted_at: Option<At>,
    /// The amount added to the balance: a credit is negative.
    #[view(from = amount)]
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
    #[schemars(extend("x-versions" = ["v2.2.2"]))]
    procedure_id: Included<u64>,
    /// The same as `adjustment_amount`. Only in v2.2.2.
    #[schemars(extend("x-versions" = ["v2.2.2"]))]
    value: Included<Price>,
    /// The same as `adjusted_at`. Only in v2.2.2.
    #[schemars(extend("format" = "date", "x-versions" = ["v2.2.2"]))]
    date: Included<String>,
    /// The same as `description`. Only in v2.2.2.
    #[schemars(extend("x-versions" = ["v2.2.2"]))]
    notes: Included<&'a str>,
    /// Only in v2.2.2: `credit` lowers the balance, `debit` raises it.
    #[schemars(extend("enum" = ["credit", "debit"], "x-versions" = ["v2.2.2"]))]
    #[view(include)]
    directionality: Option<&'static str>,
    #[serde(flatten)]
    write: WriteState<'a>,
    pub patient: Included<PatientBasic<'a>>,
    pub provider: Included<ProviderBasic<'a>>,
    pub guarantor: Included<PatientBasic<'a>>,
    /// The claim that the adjustment belongs to; null if there is none. Only with `include[]=claim`.
    pub claim: Included<ClaimView<'a>>,
    /// The charge that the adjustment changes; null if there is none. Only with `include[]=charge`.
    pub charge: Included<PatientLedgerCharge<'a>>,
    /// The adjustment type; null if there is none. Only with `include[]=adjustment_type`.
    pub adjustment_type: Included<AdjustmentTypeView<'a>>,
}

impl<'a> AdjustmentView<'a> {
    pub(crate) fn in_version(entry: &'a Record<Adjustment>, version: Version) -> AdjustmentView<'a> {
        if version.is_v2() { AdjustmentView::v2(entry) } else { AdjustmentView::from_record(entry) }
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
#[view(of = PaymentPlan, named = "payment plan")]
#[derive(Serialize, JsonSchema)]
pub(crate) struct PaymentPlanView<'a> {
    id: u64,
    patient_id: Option<u32>,
    guarantor_id: Option<u32>,
    /// Due date of the first payment, `YYYY-MM-DD`; null if the health record system does not provide it.
    #[schemars(extend("format" = "date"))]
    #[view(from = first_payment_due)]
    first_payment_due_date: Option<String>,
    /// Date on which the payment plan was created, `YYYY-MM-DD`; null if the health record system does not provide it.
    #[schemars(extend("format" = "date"))]
    #[view(from = created)]
    created_date: Option<String>,
    /// `true` if the payment plan is in force; `false` once it has been deleted in the health record system.
    #[view(active)]
    active: bool,
    pub patient: Included<PatientBasic<'a>>,
    pub guarantor: Included<PatientBasic<'a>>,
}

//! Payments and adjustments, their types, and payment plans. `ledger_entry` creates payments and adjustments.

use engine::records::{AdjustmentAction, AdjustmentType, PaymentPlan, PaymentType};

use super::{
    charges_and_claims::{ClaimView, PatientLedgerCharge},
    ledger_entry::{LedgerEntry, LedgerEntryInput},
};
use crate::{
    prelude::*,
    views::{
        persons::{PatientBasic, ProviderBasic},
        v2::{AdjustmentV2, PaymentV2},
    },
};

/// A payment on the ledger.
#[view(
    of = Payment,
    named = "payment",
    render = PaymentView {
        v2: reader.version().is_v2().then(|| PaymentV2::from_record(entry)),
        ..PaymentView::from_record(entry)
    },
    published
)]
pub struct PaymentView<'a> {
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
    description: Option<&'a str>,
    deleted_at: Option<At>,
    /// The reduction of the balance: positive, whichever sign was entered. The health record system may have reversals,
    /// which are negative.
    #[view(from = amount)]
    payment_amount: Price,
    /// Date of the payment, `YYYY-MM-DD`; null if the health record system does not provide it.
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
    #[view(flatten = None)]
    v2: Option<PaymentV2<'a>>,
    write: WriteState<'a>,
    pub patient: Included<PatientBasic<'a>>,
    pub provider: Included<ProviderBasic<'a>>,
    pub guarantor: Included<PatientBasic<'a>>,
    /// The claim that the payment belongs to; null if there is none. Only with `include[]=claim`.
    #[view(include = related.record::<Claim>(entry.body.claim_id)?.map(ClaimView::with_totals))]
    pub claim: Included<ClaimView<'a>>,
    /// The charge that the payment settles; null if there is none. Only with `include[]=charge`.
    #[view(include = PatientLedgerCharge::load(related, entry.body.charge_id)?)]
    pub charge: Included<PatientLedgerCharge<'a>>,
    /// The payment plan that the payment belongs to; null if there is none. Only with `include[]=payment_plan`.
    #[view(include(payment_plan_id))]
    pub payment_plan: Included<PaymentPlanView<'a>>,
    /// The payment type; null if there is none. Only with `include[]=payment_type`.
    #[view(include(payment_type_id))]
    pub payment_type: Included<PaymentTypeView<'a>>,
}

/// An adjustment on the ledger.
#[view(
    of = Adjustment,
    named = "adjustment",
    render = AdjustmentView {
        v2: reader.version().is_v2().then(|| AdjustmentV2::from_record(entry)),
        ..AdjustmentView::from_record(entry)
    },
    published
)]
pub struct AdjustmentView<'a> {
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
    description: Option<&'a str>,
    deleted_at: Option<At>,
    /// The amount added to the balance: a credit is negative.
    #[view(from = amount)]
    adjustment_amount: Price,
    /// Date of the adjustment, `YYYY-MM-DD`; null if the health record system does not provide it.
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
    #[view(flatten = None)]
    v2: Option<AdjustmentV2<'a>>,
    write: WriteState<'a>,
    pub patient: Included<PatientBasic<'a>>,
    pub provider: Included<ProviderBasic<'a>>,
    pub guarantor: Included<PatientBasic<'a>>,
    /// The claim that the adjustment belongs to; null if there is none. Only with `include[]=claim`.
    #[view(include = related.record::<Claim>(entry.body.claim_id)?.map(ClaimView::with_totals))]
    pub claim: Included<ClaimView<'a>>,
    /// The charge that the adjustment changes; null if there is none. Only with `include[]=charge`.
    #[view(include = PatientLedgerCharge::load(related, entry.body.charge_id)?)]
    pub charge: Included<PatientLedgerCharge<'a>>,
    /// The adjustment type; null if there is none. Only with `include[]=adjustment_type`.
    #[view(include(adjustment_type_id))]
    pub adjustment_type: Included<AdjustmentTypeView<'a>>,
}

/// A payment plan.
#[view(of = PaymentPlan, named = "payment plan", published)]
pub struct PaymentPlanView<'a> {
    id: u64,
    patient_id: Option<u32>,
    guarantor_id: Option<u32>,
    /// Due date of the first payment, `YYYY-MM-DD`; null if the health record system does not provide it.
    #[view(from = first_payment_due)]
    first_payment_due_date: Option<String>,
    /// Date on which the payment plan was created, `YYYY-MM-DD`; null if the health record system does not provide it.
    #[view(from = created)]
    created_date: Option<String>,
    /// `true` if the payment plan is in force; `false` once it has been deleted in the health record system.
    #[view(active)]
    active: bool,
    pub patient: Included<PatientBasic<'a>>,
    pub guarantor: Included<PatientBasic<'a>>,
}

/// A type of payment, such as cash or card.
#[view(of = PaymentType, named = "payment type", published)]
pub struct PaymentTypeView<'a> {
    id: u64,
    name: &'a str,
    #[view(active)]
    active: bool,
    updated_at: At,
}

/// A type of adjustment, such as a discount.
#[view(of = AdjustmentType, named = "adjustment type", published)]
pub struct AdjustmentTypeView<'a> {
    id: u64,
    name: &'a str,
    #[view(active)]
    active: bool,
    /// Effect of adjustments of this type on the balance: `credit` lowers it, `debit` raises it. `unknown` if the
    /// health record system does not provide it.
    #[schemars(with = "String", extend("enum" = ["credit", "debit", "unknown"]))]
    action: AdjustmentAction,
    updated_at: At,
}

listing!(ListPayments: |it| it.sort().foreign_ids().patient().provider().guarantor()
        .id("charge_id", "Id of the charge.", Filter::Charge).id("claim_id", "Id of the claim.", Filter::Claim)
        .text("transaction_id", "Transaction id chosen by the caller.", Filter::TransactionId).since()
        .include_deleted());

listing!(ListAdjustments: |it| it.sort().foreign_ids().patient().provider().guarantor()
        .id("claim_id", "Id of the claim.", Filter::Claim)
        .id("charge_id", "Id of the charge.", Filter::Charge).since().include_deleted());

listing!(ListPaymentPlans: |it| it.sort().patient().guarantor().since().without_deleted());

/// Declares an entry that clients create: its name, the fields of the date and of the type, whether it lowers the
/// balance whatever its sign in the request, and the references that the request does not have.
macro_rules! ledger_entry {
    ($body:ident $name:literal $date:ident $type_id:ident($types:ident) $unsigned:literal $($none:ident)*) => {
        impl LedgerEntry for $body {
            const OBJECT: (&'static str, &'static str) = ($name, concat!("The ", $name, "."));
            const DATE: (&'static str, &'static str) = (stringify!($date), concat!("Date of the ", $name, "."));
            const TYPE: (&'static str, &'static str, Resource) = (
                stringify!($type_id),
                concat!("Id of the ", $name, " type, which must belong to the same location."),
                $types::RESOURCE,
            );
            const IS_UNSIGNED: bool = $unsigned;

            fn from_input(given: LedgerEntryInput, day: Day) -> $body {
                $body {
                    patient_id: Some(given.patient_id),
                    amount: given.amount,
                    $date: Some(day),
                    $type_id: given.type_id,
                    transaction_id: Some(given.transaction_id),
                    description: given.notes,
                    charge_splits: given.charge_splits,
                    provider_splits: given.provider_splits,
                    $($none: None,)*
                    extra: Vec::new(),
                }
            }
        }
    };
}

ledger_entry!(Payment "payment" paid_at payment_type_id(PaymentType) true
    guarantor_id provider_id charge_id claim_id payment_plan_id insurance_plan_id);
ledger_entry!(Adjustment "adjustment" adjusted_at adjustment_type_id(AdjustmentType) false
    guarantor_id provider_id charge_id claim_id);

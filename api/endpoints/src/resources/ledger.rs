//! Claims, payments, adjustments, payment plans and insurance balances, and the types of payments and adjustments.

pub mod balances;
pub mod charges;
pub mod fee_schedules;
pub mod ledger_entry;

use engine::records::{AdjustmentType, PaymentType};

use self::ledger_entry::{LedgerEntry, LedgerEntryInput};
use crate::prelude::*;

listing!(ListPayments: |it| it.sort().foreign_ids().patient().provider().guarantor()
        .id("charge_id", "Id of the charge.", Filter::Charge).id("claim_id", "Id of the claim.", Filter::Claim)
        .text("transaction_id", "Transaction id chosen by the caller.", Filter::TransactionId).since()
        .include_deleted());

listing!(ListAdjustments: |it| it.sort().foreign_ids().patient().provider().guarantor()
        .id("claim_id", "Id of the claim.", Filter::Claim)
        .id("charge_id", "Id of the charge.", Filter::Charge).since().include_deleted());

listing!(ListClaims: |it| it.sort().foreign_ids().patient().guarantor().provider().since()
        .by("date_of_service", date().about("The date of service."), Filter::DateOfService).include_deleted());

listing!(ListPaymentPlans: |it| it.sort().patient().guarantor().since().without_deleted());

listing!(ListInsuranceBalances: |it| it.sort().patient().guarantor().since().without_deleted());

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

//! The ledger.

mod balances;
mod charges_and_claims;
mod payments;

#[cfg(test)]
pub(crate) use self::charges_and_claims::{ChargePayoutView, ClaimTotals, PatientLedgerCharge};
pub(crate) use self::{
    balances::{GuarantorBalanceView, InsuranceBalanceView},
    charges_and_claims::{ChargeView, ClaimPayoutView, ClaimView},
    payments::{AdjustmentView, PaymentPlanView, PaymentView},
};

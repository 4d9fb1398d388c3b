//! The ledger.

mod balances;
mod charges_and_claims;
mod payments;

pub(crate) use self::{
    balances::{GuarantorBalanceView, InsuranceBalanceView},
    charges_and_claims::{ChargePayoutView, ChargeView, ClaimPayoutView, ClaimTotals, ClaimView, PatientLedgerCharge},
    payments::{AdjustmentView, PaymentPlanView, PaymentView},
};

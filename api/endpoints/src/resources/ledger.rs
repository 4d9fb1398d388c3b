//! The ledger: charges, claims, payments, adjustments, payment plans, balances and fee schedules.

pub mod balances;
pub mod charges_and_claims;
pub mod fee_schedules;
pub mod ledger_entry;
pub mod payments;

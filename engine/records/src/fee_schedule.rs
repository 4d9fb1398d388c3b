//! Fee schedules and their fees.

use record_macro::record;

use crate::Money;

/// A list of fees.
#[record(resource = FeeSchedules, tag = 21, id = u64, scope = Source, contract = "fee-schedule", name = "Fee Schedule")]
pub struct FeeSchedule {
    pub name: String,
    #[record(in_use)]
    pub active: Option<bool>,
}

/// The fee of one procedure code in a fee schedule.
#[record(
    resource = Fees, tag = 33, id = u64, scope = Source, contract = "fee", name = "Fee",
    list = "fee_schedule_procedures"
)]
pub struct Fee {
    #[record(refers(fee_schedule = FeeSchedules), find = FeeSchedule)]
    pub fee_schedule_id: u64,
    /// The procedure code, by its identifier.
    #[record(refers(procedure_code = ProcedureCodes))]
    pub procedure_code_id: Option<u64>,
    /// The procedure code itself.
    pub code: Option<String>,
    pub amount: Money,
}

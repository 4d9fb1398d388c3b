//! Charges on the ledger.

use record_macro::record;

use crate::{Day, Money};

/// A charge on the ledger.
#[record(resource = Charges, tag = 43, id = u64, scope = Source, contract = "charge", name = "Charge")]
pub struct Charge {
    #[record(refers(patient = Patients), find = Patient)]
    pub patient_id: Option<u32>,
    /// The responsible party, a patient of the same EHR.
    #[record(refers(guarantor = Patients), find = Guarantor)]
    pub guarantor_id: Option<u32>,
    #[record(refers(provider = Providers), find = Provider)]
    pub provider_id: Option<u32>,
    #[record(refers(procedure = Procedures), find = Procedure)]
    pub procedure_id: Option<u64>,
    pub procedure_code: Option<String>,
    #[record(limit = Long)]
    pub description: Option<String>,
    /// Amount charged.
    pub fee: Option<Money>,
    pub charged_at: Option<Day>,
}

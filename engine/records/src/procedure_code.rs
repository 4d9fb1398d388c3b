//! The catalogue of procedure codes.

use record_macro::record;

/// A group of procedure codes.
#[record(
    resource = ProcedureCodeCategories, tag = 31, id = u64, scope = Source,
    contract = "procedure-code-category", name = "Procedure Code Category"
)]
pub struct ProcedureCodeCategory {
    pub name: String,
}

/// An entry of the billable procedure code catalogue.
#[record(
    resource = ProcedureCodes, tag = 32, id = u64, scope = Source, contract = "procedure-code", name = "Procedure Code"
)]
pub struct ProcedureCode {
    /// Group it belongs to.
    #[record(refers(category = ProcedureCodeCategories), find = Category)]
    pub category_id: Option<u64>,
    pub code: String,
    #[record(limit = Long)]
    pub description: String,
    /// May still be used.
    #[record(in_use)]
    pub active: bool,
}

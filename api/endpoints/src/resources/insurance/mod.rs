//! Insurance plans and patients' coverages.

pub mod insurance_coverages;
pub mod insurance_plans;

pub mod ehr;
pub mod sandbox_ehr;

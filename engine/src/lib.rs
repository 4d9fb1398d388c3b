pub mod ehr;
pub mod store;

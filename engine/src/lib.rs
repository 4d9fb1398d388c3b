pub mod ehr;
pub mod records;
pub mod setup;

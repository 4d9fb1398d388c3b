pub mod adapter_host;
pub mod ehr;

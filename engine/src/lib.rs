pub mod adapter_host;
pub mod ehr;
pub mod sandbox_ehr;

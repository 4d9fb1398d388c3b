pub mod ehr;
pub mod webhooks;

//! Endpoints for operators of the service. `operator_actions` is the table of their actions.

pub mod adapter_costs;
pub mod adapters;
pub mod backups;
pub mod configuration;
pub mod fleet;
pub mod operator_actions;
pub mod recent_errors;
pub mod simulated_ehr;
pub mod store_keys;
pub mod sync;
pub mod webhooks;

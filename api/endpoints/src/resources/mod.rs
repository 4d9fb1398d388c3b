//! One file per resource: its views, its parameters, its handlers. A handler reads its input, calls the engine, and
//! returns a view; it is independent of routes and server. A resource that contains another imports the view from its
//! file. Parts that several resources share are in `views`.
//!
//! ```text
//!  record_handlers (any view of records)                   workstations, workstation_socket
//!  patients/{show,list,update} ─► includes ─► alerts, insurance/, ledger/, clinical, providers
//!  insurance_plans ─► insurance_coverages, fee_schedules   webhooks ─► webhook_{endpoints,subscriptions,deliveries}
//!  payments ─► ledger_entry, charges_and_claims ─► clinical, fee_schedules        ─► webhook_ownership
//!  booking ─► slot_weeks, available_slots ─► providers, operatories ─► appointment_types ─► descriptors
//!  appointment_writes ─► appointments ─► providers, operatories, clinical
//!  operator_actions ─► sync, write_requests, adapters, webhooks, workstations
//!  documentation, operations (open to anyone)              ehr_events (reports of EHRs, each with its secret)
//!  export ─► record_views (the view of any record, for the feed of changes and for webhooks) ─► sync_status
//! ```

pub mod access;
pub mod booking;
pub mod care;
pub mod documentation;
pub mod ehr_events;
pub mod insurance;
pub mod ledger;
pub mod operations;
pub mod operators;
pub mod patients;
pub mod practice;
pub mod record_handlers;
pub mod record_views;
pub mod schedule;
#[cfg(test)]
mod tests;
pub mod webhook;
pub mod workstation;

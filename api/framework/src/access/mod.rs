//! Authentication, permissions and audit of calls. A request becomes an `ApiCall`, and the signature of a handler
//! names its arguments and its response (`arguments`, `respond`). Independent of resources and views.
//!
//! ```text
//!  keys ◄── operators ◄───────────┐
//!  keys, directory, conditional ◄─┤                                   ┌── arguments ◄── tenancy   input and scope
//!  edge, reloads ◄────────────────┴ api ◄── authentication ◄┐         │
//!  access_log, idempotency ◄────────────────────────────────┴ call ◄──┼── respond   successful responses
//!                                                                     └── audited   audit trail entries
//! ```

pub mod access_log;
pub mod api;
pub mod arguments;
pub mod audited;
pub mod authentication;
pub mod call;
pub mod conditional;
pub mod directory;
pub mod edge;
pub mod idempotency;
pub mod keys;
pub mod operators;
pub mod reloads;
pub mod resource_names;
pub mod respond;
pub mod tenancy;
pub mod token_uses;
pub mod webhook_audience;

//! Authentication, permissions and audit of calls. A request becomes an `ApiCall`, and the signature of a handler
//! names its arguments and its response (`arguments`, `respond`). Independent of resources and views.
//!
//! ```text
//!  keys ◄── operators ◄───────────┐
//!  keys, directory, conditional ◄─┤                                   ┌── tenancy ◄── arguments   scope and input
//!  edge, reloads ◄────────────────┴ api ◄── authentication ◄┐         │
//!  shown, input, idempotency ◄──────────────────────────────┴ call ◄──┼── respond   successful responses
//!                                                                     └── audited   audit trail entries
//! ```

pub mod api;
pub mod arguments;
pub mod audited;
pub(crate) mod authentication;
pub mod call;
pub mod conditional;
pub mod directory;
pub(crate) mod edge;
pub(crate) mod idempotency;
pub mod input;
pub mod keys;
pub mod operators;
pub mod reloads;
pub mod respond;
pub(crate) mod shown;
pub mod tenancy;
pub mod token_uses;

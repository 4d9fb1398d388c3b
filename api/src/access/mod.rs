//! Authentication, permissions and audit of calls. A request becomes an `ApiCall`, and the signature of a handler
//! names its arguments and its response (`arguments`, `respond`). Independent of resources and views.
//!
//! ```text
//!  shown ◄── page_cache ◄─────────┐                                   ┌── tenancy ◄── arguments   scope and input
//!  keys ◄── operators ◄───────────┤
//!  keys, directory, conditional ◄─┤
//!  edge, reloads ◄────────────────┴ api ◄── authentication ◄┐         ├── cached    responses from the page cache
//!  input, idempotency ◄─────────────────────────────────────┴ call ◄──┼── respond   successful responses
//!                                                                     └── audited   audit trail entries
//! ```
//!
//! The page cache is not in `http` because a cached page depends on the permissions of one key and causes audit
//! entries for it.

pub mod api;
pub mod arguments;
pub mod audited;
pub(crate) mod authentication;
pub mod cached;
pub mod call;
pub mod conditional;
pub mod directory;
pub(crate) mod edge;
pub(crate) mod idempotency;
pub mod input;
pub mod keys;
pub mod operators;
pub(crate) mod page_cache;
pub mod reloads;
pub mod respond;
pub(crate) mod shown;
pub mod tenancy;
pub mod token_uses;

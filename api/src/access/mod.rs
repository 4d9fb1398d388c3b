//! Who calls, what the key may reach, and what of it is recorded. From here on a request is a `Call`, and what a handler reads of it and answers
//! is named in its signature (`arguments`, `respond`). Knows no resource and no view.
//!
//! ```text
//!  shown ◄── page_cache ◄─────────┐                                   ┌── tenancy ◄── arguments   whose records, and what is read
//!  keys ◄── operators ◄───────────┤
//!  keys, directory, conditional ◄─┤
//!  edge, reloads ◄────────────────┴ api ◄── authentication ◄┐         ├── cached    answered before, by the page cache
//!  input, idempotency ◄─────────────────────────────────────┴ call ◄──┼── respond   the envelope of success
//!                                                                     └── audited   who was shown or changed what, in the audit trail
//! ```
//!
//! The page cache is here and not in `http`: a cached page belongs to the rights of one key, and leaves that key's audit trail.

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

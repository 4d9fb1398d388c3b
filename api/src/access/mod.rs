//! Access.

pub mod api;
pub mod audit;
pub mod call;
pub mod directory;
pub mod idempotency;
pub mod keys;
pub mod page_cache;

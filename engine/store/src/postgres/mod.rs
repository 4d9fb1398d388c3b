//! The store on the PostgreSQL protocol: one table, shared by several processes. Values are sealed by the
//! client, so the database sees only keys and ciphertext.
//!
//! ```text
//! PostgresStore ──► reads ──► pool ──► session ──► database        shared connections, many concurrent reads on each
//!        │                               ▲
//!        └─ jobs (a queue) ──► committer ┘                         one thread, one transaction per group
//!                                  │
//!                                  └─ changes: rows a group writes · owners: owner of a value · group: preconditions
//! schema: tables and migrations · filling: incomplete copies · tls · config
//! ```
//!
//! Reads block on a channel, because callers may run inside another runtime. The store has its own threads
//! and runtime.

mod changes;
mod committer;
mod config;
mod database_error;
pub mod filling;
mod owners;
mod pool;
mod reads;
mod schema;
mod session;
mod statements;
mod store;
#[cfg(test)]
mod tests;
mod tls;

pub use config::{PostgresConfig, Tls};
pub use owners::Owners;
pub use schema::{Checked, check, is_made, migrate};
pub use store::PostgresStore;

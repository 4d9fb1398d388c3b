//! The store on PostgreSQL's protocol: one table, several processes at once. Values are sealed here, the database sees keys and
//! ciphertext.
//!
//! ```text
//! PostgresStore ──► reads ──► pool ──► session ──► database        shared connections, many reads under way on each
//!        │                               ▲
//!        └─ jobs (a queue) ──► committer ┘                         one thread, one transaction for each group of batches
//!                                  │
//!                                  └─ changes: which rows a group writes · owners: under whom · group: which batches hold
//! schema: what must be in the database · filling: a copy that is not whole yet · tls · config
//! ```
//!
//! Callers of reads wait on a channel: they run inside runtimes of others. The store has threads and a runtime of its own.

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

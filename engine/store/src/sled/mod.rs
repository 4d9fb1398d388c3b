//! The engine sled 0.34: one log and a tree of pages over it. It has no snapshots for readers.
//!
//! ```text
//! open ──► create ──► log                     its files, created atomically
//!   └────► writer ──► history ◄── view        commit groups · values they replaced · readers of one state
//!             └──► chunks ◄────────┘          values split into chunks
//! compact                                     the log rewritten without replaced values
//! salvage ──► repair                          recovery of a damaged log
//! ```

mod chunks;
mod compact;
mod create;
mod faults;
mod history;
mod log;
mod open;
mod repair;
pub mod salvage;
mod view;
mod writer;

#[cfg(test)]
mod tests;

pub use compact::Compacted;
pub(super) use compact::compact;
pub(super) use open::open;
pub use repair::Repaired;

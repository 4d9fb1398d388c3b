//! The engine sled 0.34: one log and a tree of pages over it. It has no snapshots for readers.
//!
//! ```text
//! open ──► make ──► log                    its files, created atomically
//!   └────► writer ──► past ◄── view          commit groups · values they replaced · readers of one state
//!             └──► pieces ◄─────┘          values split into chunks
//! compact                                  the log rewritten without replaced values
//! salvage ──► mend                         recovery of a damaged log
//! ```

mod compact;
mod faults;
mod log;
mod make;
mod mend;
mod open;
mod past;
mod pieces;
pub mod salvage;
mod view;
mod writer;

#[cfg(test)]
mod tests;

pub use compact::Compacted;
pub(super) use compact::compact;
pub use mend::Mended;
pub(super) use open::open;

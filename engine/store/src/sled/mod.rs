//! The engine sled 0.34: one log, trees of pages over it, no snapshots.
//!
//! ```text
//! open ──► make ──► log                    its files, all of them or none
//!   └────► writer ──► past ◄── view        groups of commits · what they replaced · readers of one state
//!             └──► pieces ◄─────┘          values cut small
//! salvage ──► mend                         of a damaged log
//! ```

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

pub use mend::Mended;
pub(super) use open::open;

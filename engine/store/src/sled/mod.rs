//! The engine sled 0.34: one log, trees of pages over it, no snapshots.
//!
//! ```text
//! open ──► make ──► log                    its files, all of them or none
//!   └────► writer ──► past ◄── view        groups of commits · what they replaced · readers of one state
//!             └──► pieces ◄─────┘          values cut small
//! compact                                  the log made anew, without what was replaced
//! salvage ──► mend                         of a damaged log
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

//! The index of records: the terms of their fields, the words of names, and orders by time. It is derived
//! from the changes in the streams. Merged entries are also stored on the disk, sorted and packed.
//!
//! ```text
//!  IndexEntries (entry) ──► stream, in the batch of the record
//!                             │ read by each query           Index ──► view (state) ──► cursor, lookup ──► lists
//!                             └───────► state: fresh entries ──┘          │
//!                             ├─► merge: a new segment, or several into one ──► segment (block)
//!  records ──► rebuild ───────┘
//! ```

mod block;
mod cursor;
pub(crate) mod entry;
mod merge;
mod rebuild;
mod segment;
mod state;
mod streams;

pub(crate) use self::{
    cursor::{Cursor, PointLookup},
    segment::merged_to,
    state::View,
};
pub use self::{
    entry::IndexEntries,
    merge::{merge, run},
    rebuild::rebuild,
    streams::{Index, ReadBudget},
};

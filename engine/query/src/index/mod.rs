//! What records are found by besides their ids: the terms of their fields, the words of names, and orders by a time. All of it follows
//! from the changes in the streams; only what was merged lies on the disk as well, sorted and packed.
//!
//! ```text
//!  Facets (entry) ──► stream, in the batch of the record
//!                       │ read on by whoever asks            Index ──► view (state) ──► cursor, probe ──► lists
//!                       └─────────────► state: fresh entries ──┘          │
//!                       ├─► merge: a new segment, or several into one ──► segment (block)
//!  records ──► rebuild ──┘
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
    cursor::{Cursor, Probe},
    segment::merged_to,
    state::View,
};
pub use self::{
    entry::Facets,
    merge::{merge, run},
    rebuild::rebuild,
    streams::{Effort, Index},
};

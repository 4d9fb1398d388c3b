//! Reads beyond single records: pages of lists (`lists`) through the index (`index`), the log of changes for
//! followers (`log`) and for clients (`feed`), idempotency keys (`idempotency`), and their retention (`retention`).
//! Rows of recent lists stay in memory (`rows`). The crate depends on no actor and no EHR.
//!
//! ```text
//!  processor ── changes (stream) and idempotency keys, in the batch of the record ──► store
//!                             ▲
//!  engine ─┬─ lists ──► index ┤ catches up, merges            retention ──► feed, idempotency, index (merge)
//!          │    └─────► rows  │
//!          └─ feed ──► log ───┘ reads
//! ```

#![warn(unreachable_pub)]

pub mod feed;
pub mod idempotency;
pub mod index;
pub mod lists;
pub mod log;
mod reading;
pub mod retention;
pub mod rows;
pub mod stream;

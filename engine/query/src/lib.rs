//! What is read beside single records: pages of lists (`lists`) through the index behind them (`index`), the feed of changes (`feed`),
//! idempotency keys (`idempotency`), and what is forgotten of all of them in time (`retention`). It knows no actor and no EHR.
//!
//! ```text
//!  processor ── changes (stream) and idempotency keys, in the batch of the record ──► store
//!                             ▲
//!  engine ─┬─ lists ──► index ┤ reads on, merges                retention ──► feed, idempotency, index (merge)
//!          └─ feed ───────────┘ reads on
//! ```

#![warn(unreachable_pub)]

pub mod feed;
pub mod idempotency;
pub mod index;
pub mod lists;
mod reading;
pub mod retention;
pub mod stream;

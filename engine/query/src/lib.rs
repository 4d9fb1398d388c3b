//! What is read beside single records: pages of lists (`lists`) through the index behind them (`index`), the feed of changes (`feed`),
//! idempotency keys (`idempotency`), and what is forgotten of all of them in time (`retention`). It knows no actor and no EHR.
//!
//! ```text
//!  processor ── writes index, feed, idempotency keys in the batch of the record ──┐
//!                                                                                 ▼
//!  engine ──── lists ──► index ──► store        retention ──► index, feed, idempotency ──► store
//! ```

#![warn(unreachable_pub)]

pub mod feed;
pub mod idempotency;
pub mod index;
pub mod lists;
pub mod retention;

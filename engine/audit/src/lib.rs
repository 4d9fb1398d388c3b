//! The audit trail: which caller read or changed which records, when, from which address, and with which
//! result. An entry is durable before its caller receives a success. Damage to entries can be detected with
//! the secret.
//!
//! ```text
//!  entry ──► trail ──► queue ──► writer: one group, one sync ──► segment ──► disk
//!                                  │                                │
//!                    retention ◄───┼───► head                  line: numbered, sealed (mac)
//!                                  │                                │
//!            resume: end of the trail on open ──────► read ◄──┬── verify ◄─── export
//!                                                              └── newest
//! ```
//!
//! A line of a file is one JSON object. Each entry has the next number, and a MAC over itself and the MAC of
//! the previous entry; this forms the chain. A file begins with a header, which contains the point of the
//! chain it continues. The file `head` contains an entry that was durable when the head was written. It is
//! written at the end of a file, at the close, and after a limited number of entries and seconds (`Rules`).
//!
//! **Detected** by `verify`, with the secret:
//!
//! - entries that were edited, inserted, moved or removed, and files that were removed, renamed, or sealed
//!   with another secret;
//! - a missing beginning, unless a later entry records its removal by retention;
//! - a missing end, as far as the head reaches; a missing head; another secret.
//!
//! **Not detected**:
//!
//! - entries cut off the end that are younger than the head, which are those of a few seconds;
//!   `Verified::head` contains the limit;
//! - a restored earlier state of the whole folder, including the head, or a removed folder. To detect both,
//!   record `Verified::last` and `Verified::mac` elsewhere from time to time;
//! - changes by anyone who has the secret, and entries that were never appended. Each trail needs its own
//!   secret, which distinguishes its files from those of other trails;
//! - wrong input to the service, above all a wrong clock: days and ages are derived from the times of the
//!   entries.
//!
//! Opening a trail reads only the last file. Damage in earlier files is found by `verify`.

#![warn(unreachable_pub)]

mod day;
mod disk;
mod entry;
mod error;
mod export;
mod folder;
mod head;
mod line;
mod mac;
mod newest;
mod queue;
mod read;
mod resume;
mod retention;
mod rules;
mod segment;
mod trail;
mod verify;
mod writer;

pub use disk::{Disk, RealDisk};
pub use entry::{Actor, AuditEntry, MAX_ENTRY_BYTES};
pub use error::{AuditError, Damage, Wrong};
pub use export::{Filter, export};
pub use newest::{Newest, Recorded};
pub use queue::Written;
pub use rules::Rules;
pub use trail::Trail;
pub use verify::{Verified, verify};

//! The audit trail: who read or changed whose data, when, as whom, from where, and what became of it. Entries are durable when their
//! caller is told so, and damage to them is found by whoever has the secret.
//!
//! ```text
//!  entry ──► trail ──► queue ──► writer: one group, one sync ──► segment ──► disk
//!                                  │                                │
//!                    retention ◄───┼───► head                  line: numbered, sealed (mac)
//!                                  │                                │
//!            resume: where a start goes on ──────► read ◄──┬── verify ◄─── export
//!                                                         └── newest
//! ```
//!
//! A line of a file is one JSON object. Each entry has the next number, and a MAC over itself and the MAC of the entry before: the chain.
//! A file begins with a header, which names the point of the chain it goes on from. The file `head` names an entry that was durable when
//! it was written, at the end of a file, at the close and at most so many entries and seconds behind (`Rules`).
//!
//! **What is found**, by `verify`, with the secret:
//!
//! - an entry that was edited, put in, moved, or taken out, and a file that was taken out, renamed, or is of a trail with another secret;
//! - a beginning that is missing, unless the trail says further on that retention removed it;
//! - an end that is missing, as far as the head reaches; a missing head; another secret.
//!
//! **What is not found**:
//!
//! - entries cut off the end that are younger than the head: those of some seconds, `Verified::head` says from where;
//! - an earlier state that is put back as a whole, files and head, or a folder that is gone altogether: it was true once. Whoever notes
//!   `Verified::last` and `Verified::mac` elsewhere from time to time finds that, too;
//! - whatever somebody with the secret does, and what was never brought. Two trails need two secrets: their files are told apart by them;
//! - what the service was told wrongly, its clock above all: days and ages go by the times of the entries.
//!
//! A start reads the last file only: damage further up is for `verify`.

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
pub use entry::{Actor, Entry, MAX_ENTRY_BYTES};
pub use error::{AuditError, Damage, Wrong};
pub use export::{Filter, export};
pub use newest::{Newest, Recorded};
pub use queue::Written;
pub use rules::Rules;
pub use trail::Trail;
pub use verify::{Verified, verify};

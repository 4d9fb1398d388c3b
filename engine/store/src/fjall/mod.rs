//! The engine fjall 3.1: a journal, tables merged in the background, snapshots. Its files are in the folder
//! `fjall/` of the store.
//!
//! A group is one batch of fjall. It is written to the journal and the memtable at once, and becomes visible
//! when the journal is synced. Readers use the snapshot taken after the last synced group.

mod faults;
mod medium;
mod torn;

#[cfg(test)]
mod tests;

pub(super) use medium::open;

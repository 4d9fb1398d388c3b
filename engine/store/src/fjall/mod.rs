//! The engine fjall 3.1: a journal, tables merged in the background, snapshots. Its files lie in the folder `fjall/` of the store.
//!
//! A group is one batch of fjall's. It goes into the journal and the memtable at once, and is shown when the journal is synced: readers
//! hold the snapshot that was made after the last group that was.

mod faults;
mod medium;
mod torn;

#[cfg(test)]
mod tests;

pub(super) use medium::open;

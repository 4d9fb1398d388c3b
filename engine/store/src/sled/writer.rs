//! Commit groups as batches of sled.

use std::{collections::btree_map::Entry, sync::Arc};

use sled::IVec;

use super::{
    chunks::{chunk_key, cut, further_chunks, version},
    history::{HistoryState, Replaced},
    view::Log,
};
use crate::{
    StoreError, Version,
    engine::{KeyWrite, Writer},
    guard::guarded,
};

pub(super) struct LogWriter {
    log: Arc<Log>,
    /// Records read by the group, as before the group; chunks under their own keys.
    before: Replaced,
    in_progress: Option<Arc<HistoryState>>,
}

impl LogWriter {
    pub(super) fn new(log: Arc<Log>) -> Self {
        Self { log, before: Replaced::new(), in_progress: None }
    }

    fn look_up(&mut self, key: &[u8]) -> Result<Option<IVec>, StoreError> {
        Ok(match self.before.entry(key.to_vec()) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(unknown) => unknown.insert(self.log.record(key)?).clone(),
        })
    }

    /// Combines all writes into one sled batch and removes the chunks of replaced values.
    fn batch(&self, writes: &[KeyWrite<'_>]) -> sled::Batch {
        let mut batch = sled::Batch::default();
        for (key, sealed) in writes {
            let cut = sealed.map(cut);
            let old = self.before.get(*key).and_then(Option::as_ref);
            let kept = cut.as_ref().map_or(0, |(head, _)| further_chunks(head));
            for index in kept..old.map_or(0, |head| further_chunks(head)) {
                let chunk = chunk_key(key, index);
                if self.before.get(&chunk).is_none_or(Option::is_none) {
                    break;
                }
                batch.remove(chunk);
            }
            match cut {
                None => batch.remove(*key),
                Some((head, chunks)) => {
                    for (index, chunk) in (0..).zip(chunks) {
                        batch.insert(chunk_key(key, index), chunk);
                    }
                    batch.insert(*key, head);
                }
            }
        }
        batch
    }
}

impl Writer for LogWriter {
    fn version(&mut self, key: &[u8]) -> Result<Option<Version>, StoreError> {
        Ok(self.look_up(key)?.map(|head| version(&head)))
    }

    fn keeps_replaced(&self) -> bool {
        true
    }

    fn replacing(&mut self, key: &[u8]) -> Result<Option<Version>, StoreError> {
        let Some(head) = self.look_up(key)? else { return Ok(None) };
        for index in 0..further_chunks(&head) {
            // A damaged count could be very large, so the first missing chunk ends the loop.
            if self.look_up(&chunk_key(key, index))?.is_none() {
                break;
            }
        }
        Ok(Some(version(&head)))
    }

    fn fresh(&mut self, key: &[u8]) {
        self.before.entry(key.to_vec()).or_insert(None);
    }

    fn apply(&mut self, writes: &[KeyWrite<'_>]) -> Result<(), String> {
        let batch = self.batch(writes);
        self.in_progress = Some(self.log.history.begin(std::mem::take(&mut self.before)));
        guarded(|| self.log.db.apply_batch(batch)).map_err(|error| format!("writing failed: {error}"))?;
        // Passes everything to the kernel, but syncs neither the length of the file nor the disk's cache.
        guarded(|| self.log.db.flush()).map_err(|error| format!("flushing failed: {error}"))?;
        Ok(())
    }

    fn show(&mut self) {
        if let Some(state) = self.in_progress.take() {
            self.log.history.show(state);
        }
    }

    fn forget(&mut self) {
        self.before.clear();
    }
}

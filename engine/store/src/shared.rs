//! What readers and the committer of a store on sled both see.

use std::{
    collections::BTreeMap,
    sync::{
        OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use sled::IVec;

use super::{
    audit::Audit,
    contract::feed_number,
    envelope::{Envelope, further_pieces, piece_key},
    error::StoreError,
    keys,
    range::{Direction, Key, KeyRange},
    sled_guard::{guarded, sled_error},
};

/// What readers and the committer both see.
pub(super) struct Shared {
    pub db: sled::Db,
    pub envelope: Envelope,
    /// The records that the group under way replaces, as they were: what readers see of them until the group is durable.
    hidden: RwLock<BTreeMap<Key, Option<IVec>>>,
    pub refusing: OnceLock<String>,
    pub audit: Audit,
    /// What the audit found.
    pub damage: OnceLock<String>,
    pub last_commit: AtomicU64,
}

/// One value as it lies on the disk.
pub(super) struct Raw {
    pub head: IVec,
    pub pieces: Vec<IVec>,
}

pub(super) type Hidden = BTreeMap<Key, Option<IVec>>;

impl Shared {
    pub(crate) fn new(db: sled::Db, envelope: Envelope) -> Self {
        Self {
            db,
            envelope,
            hidden: RwLock::default(),
            refusing: OnceLock::new(),
            audit: Audit::default(),
            damage: OnceLock::new(),
            last_commit: AtomicU64::new(0),
        }
    }

    pub(crate) fn hide(&self, before: Hidden) {
        *self.hidden_mut() = before;
    }

    pub(crate) fn reveal(&self) {
        let durable = std::mem::take(&mut *self.hidden_mut());
        drop(durable);
    }

    pub(crate) fn value(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.read(key)?.map(|raw| self.envelope.open(key, &raw.head, &raw.pieces)).transpose()
    }

    pub(crate) fn feed_end(&self) -> Result<u64, StoreError> {
        self.value(&keys::feed_end())?.map_or(Ok(0), |value| feed_number(&value))
    }

    pub(crate) fn refusing(&self) -> Result<(), StoreError> {
        match self.refusing.get() {
            Some(why) => Err(StoreError::Refusing { why: why.clone() }),
            None => Ok(()),
        }
    }

    /// The first reason stays.
    pub(crate) fn refuse(&self, why: String) -> String {
        tracing::error!(why, "the store refuses writes until it is reopened");
        self.refusing.get_or_init(|| why).clone()
    }

    pub(crate) fn note_commit(&self, took: Duration) {
        self.last_commit.store(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn on_disk(&self, key: &[u8]) -> Result<Option<IVec>, StoreError> {
        guarded(|| self.db.get(key)).map_err(|error| sled_error(key, error))
    }

    pub(crate) fn read(&self, key: &[u8]) -> Result<Option<Raw>, StoreError> {
        let hidden = self.hidden();
        match self.record(&hidden, key)? {
            Some(head) => Ok(Some(self.with_pieces(key.to_vec(), head, &hidden)?.1)),
            None => Ok(None),
        }
    }

    fn record(&self, hidden: &Hidden, key: &[u8]) -> Result<Option<IVec>, StoreError> {
        match hidden.get(key) {
            Some(before) => Ok(before.clone()),
            None => self.on_disk(key),
        }
    }

    pub(crate) fn with_pieces(&self, key: Key, head: IVec, hidden: &Hidden) -> Result<(Key, Raw), StoreError> {
        let mut pieces = Vec::new();
        for index in 0..further_pieces(&head) {
            let piece = self.record(hidden, &piece_key(&key, index))?;
            pieces.push(piece.ok_or_else(|| StoreError::damaged(&key, "a piece of a record is missing"))?);
        }
        Ok((key, Raw { head, pieces }))
    }

    /// Walks sled's records and the hidden ones side by side; of two with the same key the hidden one counts. Holding the lock to the
    /// end is what makes a scan see one state.
    pub(crate) fn walk<T>(
        &self,
        range: KeyRange,
        direction: Direction,
        limit: usize,
        take: impl Fn(&Self, Key, IVec, &Hidden) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let Some(KeyRange { start, end }) = range.clamped() else { return Ok(Vec::new()) };
        let hidden = self.hidden();
        let mut below = self.db.range(start.clone()..end.clone());
        let mut above = hidden.range(start.clone()..end);
        let mut next_below = || {
            let next = guarded(|| match direction {
                Direction::Forward => below.next().transpose(),
                Direction::Backward => below.next_back().transpose(),
            });
            next.map_err(|error| sled_error(&start, error))
        };
        let mut next_above = || match direction {
            Direction::Forward => above.next(),
            Direction::Backward => above.next_back(),
        };
        let (mut low, mut high) = (next_below()?, next_above());
        let mut found = Vec::new();
        while found.len() < limit {
            let order = match (&low, high) {
                (None, None) => break,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some((low, _)), Some((high, _))) if direction == Direction::Forward => low.as_ref().cmp(high),
                (Some((low, _)), Some((high, _))) => high.as_slice().cmp(low),
            };
            if order.is_le()
                && let Some((key, head)) = low.take()
            {
                if order.is_lt() {
                    found.push(take(self, key.to_vec(), head, &hidden)?);
                }
                low = next_below()?;
            }
            if order.is_ge()
                && let Some((key, before)) = high.take()
            {
                if let Some(head) = before {
                    found.push(take(self, key.clone(), head.clone(), &hidden)?);
                }
                high = next_above();
            }
        }
        Ok(found)
    }

    fn hidden(&self) -> RwLockReadGuard<'_, Hidden> {
        self.hidden.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn hidden_mut(&self) -> RwLockWriteGuard<'_, Hidden> {
        self.hidden.write().unwrap_or_else(PoisonError::into_inner)
    }
}

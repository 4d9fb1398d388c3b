//! The versions of keys that were read or written recently. They answer preconditions, and give the previous
//! versions for the watermark, without lookups in the engine.
//!
//! An entry states that a key had a version in the state after a group. Entries of written keys come from the
//! committer, and entries of read keys from readers. The committer uses an entry if the key was not written by
//! a later group, which these rules ensure:
//!
//! - The committer records the writes of a group before readers can see them. A reader takes the number of the
//!   last shown group before its view, so the number is never higher than that of the state it reads.
//! - Of two entries of a key, the one of the later group stays.
//! - The number of entries is limited. Before entries are dropped, the number of the last group that may have
//!   written one of them is kept. Entries of earlier groups are not used from then on.
//!
//! An entry is therefore exact, whatever a batch expects. Keys without a usable entry are looked up.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering},
};

use parking_lot::Mutex;

use super::{Key, StoreError, Version, engine::Writer, group::PriorVersions};

/// Maximum number of entries in each of the two generations. At 3,700 bookings per second, a generation lasts
/// for about 0.3 s, much longer than the time between a read and its commit. Both take at most about 12 MB, with
/// the longest keys.
const CAPACITY: usize = if cfg!(test) { 8 } else { 16_384 };

#[derive(Default)]
pub(super) struct RecentVersions {
    /// The last group that readers see.
    shown: AtomicU64,
    entries: Mutex<Entries>,
    /// Number of lookups in the engine.
    #[cfg(test)]
    pub lookups: AtomicU64,
}

#[derive(Clone, Copy)]
struct Entry {
    group: u64,
    version: Option<Version>,
}

/// Entries in two generations. When the younger one is full, the older one is dropped.
#[derive(Default)]
struct Entries {
    young: HashMap<Key, Entry>,
    old: HashMap<Key, Entry>,
    /// The last recorded group.
    last: u64,
    /// The last recorded group when `young` was begun.
    young_since: u64,
    /// All writes of later groups are in the entries.
    complete_since: u64,
}

impl RecentVersions {
    /// Returns the number of the last shown group. Must be called before the view of a read is created.
    pub(crate) fn visible_group(&self) -> u64 {
        self.shown.load(Ordering::Acquire)
    }

    /// Adds the version that a reader found.
    pub(crate) fn observe(&self, shown: u64, key: &[u8], version: Option<Version>) {
        self.entries.lock().add(key, Entry { group: shown, version });
    }

    /// Adds the writes of a group. Must be called before the group is shown.
    pub(crate) fn record<'a>(&self, group: u64, writes: impl Iterator<Item = (&'a [u8], Option<Version>)>) {
        let mut entries = self.entries.lock();
        entries.last = group;
        writes.for_each(|(key, version)| entries.add(key, Entry { group, version }));
    }

    /// Must be called after the group is shown.
    pub(crate) fn show(&self, group: u64) {
        self.shown.store(group, Ordering::Release);
    }

    /// Returns the version of a key after the last recorded group, or `None` if it is not known.
    fn version(&self, key: &[u8]) -> Option<Option<Version>> {
        let entries = self.entries.lock();
        entries.get(key).filter(|entry| entry.group >= entries.complete_since).map(|entry| entry.version)
    }

    /// Adds the version that the committer found in the engine, between two groups.
    fn add_looked_up(&self, key: &[u8], version: Option<Version>) {
        let mut entries = self.entries.lock();
        let group = entries.last;
        entries.add(key, Entry { group, version });
    }
}

impl Entries {
    fn get(&self, key: &[u8]) -> Option<Entry> {
        self.young.get(key).or_else(|| self.old.get(key)).copied()
    }

    fn add(&mut self, key: &[u8], entry: Entry) {
        if entry.group < self.complete_since {
            return;
        }
        if let Some(known) = self.young.get_mut(key) {
            if known.group <= entry.group {
                *known = entry;
            }
            return;
        }
        if self.old.get(key).is_some_and(|known| known.group > entry.group) {
            return;
        }
        if self.young.len() >= CAPACITY {
            self.old = std::mem::take(&mut self.young);
            self.complete_since = self.young_since;
            self.young_since = self.last;
        }
        self.young.insert(key.to_vec(), entry);
    }
}

/// The versions before a group: recent ones, and others from the engine.
pub(super) struct Lookup<'a> {
    pub recent: &'a RecentVersions,
    pub writer: &'a mut dyn Writer,
}

impl Lookup<'_> {
    fn look_up(&mut self, key: &[u8]) -> Result<Option<Version>, StoreError> {
        #[cfg(test)]
        self.recent.lookups.fetch_add(1, Ordering::Relaxed);
        self.writer.version(key)
    }
}

impl PriorVersions for Lookup<'_> {
    fn version(&mut self, key: &[u8]) -> Result<Option<Version>, StoreError> {
        if let Some(version) = self.recent.version(key) {
            return Ok(version);
        }
        let version = self.look_up(key)?;
        self.recent.add_looked_up(key, version);
        Ok(version)
    }

    fn replacing(&mut self, key: &[u8]) -> Result<Option<Version>, StoreError> {
        if self.writer.keeps_replaced() {
            return self.writer.replacing(key);
        }
        // The version is not added, because the group adds its write.
        self.recent.version(key).map_or_else(|| self.look_up(key), Ok)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const READERS: usize = 3;
    const KEYS: u8 = 20;

    #[derive(Clone, Debug)]
    enum Step {
        /// Records a group, after the previous one is shown. `false` deletes a key.
        Record(Vec<(u8, bool)>),
        /// Shows the recorded group in the engine, and then its number.
        Show,
        TakeNumber(usize),
        TakeView(usize),
        Read(usize, u8),
        LookUp(u8),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            2 => prop::collection::vec((0..KEYS, any::<bool>()), 1..12).prop_map(Step::Record),
            2 => Just(Step::Show),
            2 => (0..READERS).prop_map(Step::TakeNumber),
            2 => (0..READERS).prop_map(Step::TakeView),
            6 => (0..READERS, 0..KEYS).prop_map(|(reader, key)| Step::Read(reader, key)),
            1 => (0..KEYS).prop_map(Step::LookUp),
        ]
    }

    type State = BTreeMap<u8, Version>;

    /// The engine: the state after each group, and the group that readers see.
    struct Model {
        states: Vec<State>,
        shown: u64,
        versions: u128,
    }

    impl Model {
        fn last(&self) -> u64 {
            self.states.len() as u64 - 1
        }

        fn version(&self, group: u64, key: u8) -> Option<Version> {
            self.states[group as usize].get(&key).copied()
        }

        /// Shows the recorded group first in the engine and, with the next call, its number.
        fn show(&mut self, recent: &RecentVersions) {
            if self.shown < self.last() {
                self.shown = self.last();
            } else {
                recent.show(self.shown);
            }
        }

        fn record(&mut self, writes: &[(u8, bool)], recent: &RecentVersions) {
            self.show(recent);
            self.show(recent);
            let mut next = self.states.last().cloned().unwrap_or_default();
            for (key, put) in writes {
                self.versions += 1;
                if *put {
                    next.insert(*key, Version(self.versions));
                } else {
                    next.remove(key);
                }
            }
            let written: Vec<_> = writes.iter().map(|(key, _)| ([*key], next.get(key).copied())).collect();
            self.states.push(next);
            recent.record(self.last(), written.iter().map(|(key, version)| (key.as_slice(), *version)));
        }
    }

    proptest! {
        #[test]
        fn known_versions_are_exact_for_any_order_of_reads_and_groups(
            steps in prop::collection::vec(step(), 1..150),
        ) {
            let recent = RecentVersions::default();
            let mut model = Model { states: vec![State::new()], shown: 0, versions: 0 };
            let mut readers: [(u64, Option<u64>); READERS] = [(0, None); READERS];
            for step in &steps {
                match step {
                    Step::Record(writes) => model.record(writes, &recent),
                    Step::Show => model.show(&recent),
                    Step::TakeNumber(reader) => readers[*reader] = (recent.visible_group(), None),
                    Step::TakeView(reader) => readers[*reader].1 = Some(model.shown),
                    Step::Read(reader, key) => {
                        if let (number, Some(view)) = readers[*reader] {
                            recent.observe(number, &[*key], model.version(view, *key));
                        }
                    }
                    Step::LookUp(key) => recent.add_looked_up(&[*key], model.version(model.last(), *key)),
                }
                for key in 0..KEYS {
                    if let Some(version) = recent.version(&[key]) {
                        prop_assert_eq!(version, model.version(model.last(), key), "{:?} of {:?}", step, steps);
                    }
                }
                let entries = recent.entries.lock();
                prop_assert!(entries.young.len() <= CAPACITY && entries.old.len() <= CAPACITY);
            }
        }
    }

    #[test]
    fn versions_are_known_until_two_generations_have_passed() {
        let recent = RecentVersions::default();
        let version = Some(Version(7));
        recent.record(1, [(&b"written"[..], version)].into_iter());
        recent.show(1);
        recent.observe(recent.visible_group(), b"read", None);
        assert_eq!((recent.version(b"written"), recent.version(b"read")), (Some(version), Some(None)));
        // A reader that began before the group is ignored.
        recent.observe(0, b"written", None);
        assert_eq!(recent.version(b"written"), Some(version));
        let mut number = 0_u32;
        while recent.version(b"written").is_some() {
            number += 1;
            recent.observe(recent.visible_group(), &number.to_be_bytes(), None);
        }
        assert_eq!(number as usize, 2 * CAPACITY - 1);
        recent.observe(0, b"written", None);
        assert_eq!(recent.version(b"written"), None, "its write is forgotten");
    }
}

//! Check of fjall's journals before fjall opens them. After a power loss, the last batch may be torn in the
//! middle although its end exists, because disks write sectors in any order. fjall treats this as damage and
//! does not start; where damage hides the end of a batch, fjall cuts off everything after it. The store has
//! more information: a group is one batch, which is synced before the next one is written. A torn batch at
//! the very end was therefore never acknowledged and is cut off. Any other difference is damage, and nothing
//! is changed. If an acknowledged group is cut off nevertheless, the store ends before its watermark, which
//! is reported on opening.
//!
//! ```text
//! journal: batch, batch, ..., zeros          numbers are little-endian
//! batch:   1, number of items u32, sequence number u64 │ items │ 3, checksum of the items (XXH3) u64, "FJL", 3
//! item:    2, kind u8, compression u8, key space u64, lengths of key u16, value u32, stored value u32, key, value
//!          or 4, key space u64
//! ```

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    ops::Range,
    path::{Path, PathBuf},
};

use xxhash_rust::xxh3::xxh3_64;

use crate::{StoreError, files, watermark::WATERMARK_KEY};

const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;
const CLEAR: u8 = 4;
const MAGIC: &[u8] = &[b'F', b'J', b'L', 3];
const START_BYTES: usize = 13;
const END_BYTES: usize = 13;
const ITEM_HEAD: usize = 21;
const CLEAR_BYTES: usize = 9;
/// The file with the bytes cut off last, in fjall's folder. It is kept for diagnosis only.
const KEPT: &str = "torn";

/// The part of a journal after its intact batches.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Sound,
    /// Possibly one incompletely written batch.
    Torn(Range<usize>),
    /// Any other contents from this byte on, such as intact batches after damage.
    Damaged(usize),
}

pub(super) fn repair(fjall_dir: &Path) -> Result<(), StoreError> {
    let io = |error| StoreError::io(format!("the journals in {}", fjall_dir.display()))(error);
    let mut journals = journals(fjall_dir).map_err(io)?;
    let last = journals.pop_last();
    for (_, journal) in journals {
        if let End::Damaged(at) | End::Torn(Range { start: at, .. }) = end(&fs::read(&journal).map_err(io)?) {
            return Err(damaged(&journal, at));
        }
    }
    let Some((_, journal)) = last else { return Ok(()) };
    let bytes = fs::read(&journal).map_err(io)?;
    match end(&bytes) {
        End::Sound => Ok(()),
        End::Torn(torn) => {
            tracing::warn!(journal = %journal.display(), bytes = torn.len(), "cut off an incomplete group of commits");
            cut(fjall_dir, &journal, torn.start as u64, &bytes[torn]).map_err(io)
        }
        End::Damaged(at) => Err(damaged(&journal, at)),
    }
}

fn damaged(journal: &Path, at: usize) -> StoreError {
    let what = format!(
        "the journal {} is damaged at byte {at}, before its last group of commits; nothing was changed: restore a backup",
        journal.display()
    );
    StoreError::damaged(WATERMARK_KEY, what)
}

fn cut(fjall_dir: &Path, journal: &Path, sound: u64, torn: &[u8]) -> io::Result<()> {
    fs::write(fjall_dir.join(KEPT), torn)?;
    File::open(fjall_dir.join(KEPT))?.sync_all()?;
    files::sync_directory(fjall_dir)?;
    let file = File::options().write(true).open(journal)?;
    file.set_len(sound)?;
    file.sync_all()
}

/// Returns the journals in order. fjall writes to the last one and syncs a journal before it creates the
/// next.
fn journals(fjall_dir: &Path) -> io::Result<BTreeMap<u64, PathBuf>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(fjall_dir)? {
        let path = entry?.path();
        let number = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".jnl")?.parse().ok());
        found.extend(number.map(|number| (number, path)));
    }
    Ok(found)
}

fn end(journal: &[u8]) -> End {
    let used = used(journal);
    let sound = sound(&journal[..used]);
    let rest = &journal[sound..used];
    let mut ends = rest.windows(END_BYTES).enumerate().filter(|(_, bytes)| bytes[0] == END && bytes.ends_with(MAGIC));
    let first_end = ends.next().map_or(rest.len(), |(at, _)| at + END_BYTES);
    let batch_follows = || (1..rest.len()).any(|at| behind_batch(&rest[at..]).is_some());
    match rest {
        [] => End::Sound,
        _ if first_end == rest.len() && !batch_follows() => End::Torn(sound..used),
        _ => End::Damaged(sound),
    }
}

/// Returns the length without preallocated zeros; fjall preallocates 64 MiB.
fn used(journal: &[u8]) -> usize {
    const ZEROS: &[u8] = &[0; 4_096];
    let mut used = journal;
    while let Some(before) = used.strip_suffix(ZEROS) {
        used = before;
    }
    used.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
}

/// Returns the length of the intact batches.
fn sound(journal: &[u8]) -> usize {
    let mut rest = journal;
    while let Some(behind) = behind_batch(rest) {
        rest = behind;
    }
    journal.len() - rest.len()
}

fn behind_batch(bytes: &[u8]) -> Option<&[u8]> {
    let (start, items) = bytes.split_first_chunk::<START_BYTES>()?;
    let (tag, start) = start.split_first()?;
    if *tag != START {
        return None;
    }
    let mut rest = items;
    for _ in 0..u32::from_le_bytes(*start.first_chunk()?) {
        rest = behind_item(rest)?;
    }
    let checksum = xxh3_64(&items[..items.len() - rest.len()]);
    let (end, behind) = rest.split_first_chunk::<END_BYTES>()?;
    let sound = end[0] == END && end[1..9] == checksum.to_le_bytes() && end.ends_with(MAGIC);
    sound.then_some(behind)
}

fn behind_item(bytes: &[u8]) -> Option<&[u8]> {
    match *bytes.first()? {
        CLEAR => bytes.get(CLEAR_BYTES..),
        ITEM => {
            let head = bytes.first_chunk::<ITEM_HEAD>()?;
            let key = usize::from(u16::from_le_bytes(*head[11..].first_chunk()?));
            let value = u32::from_le_bytes(*head[17..].first_chunk()?) as usize;
            bytes.get(ITEM_HEAD + key + value..)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{
        Batch, EmbeddedStore, EngineKind, Key, Store, StoreConfig, StoreError, keys,
        testing::{self, put},
    };

    const SECTOR: usize = 512;

    /// A store after a power loss, with a last group that was written but not acknowledged.
    struct TornStore {
        /// All files except the journal, which is empty here.
        origin: tempfile::TempDir,
        journal: Vec<u8>,
        /// The acknowledged values, and the length of the journal at that time.
        model: BTreeMap<Key, Vec<u8>>,
        sound: usize,
        /// The values of the last group.
        last: BTreeMap<Key, Vec<u8>>,
        acknowledged_too: Vec<u8>,
    }

    fn config(dir: &Path) -> StoreConfig {
        testing::config(EngineKind::Fjall, dir)
    }

    fn journal(dir: &Path) -> PathBuf {
        journals(&dir.join("fjall")).unwrap().pop_last().unwrap().1
    }

    fn batches(dir: &Path) -> Vec<u8> {
        let mut bytes = fs::read(journal(dir)).unwrap();
        bytes.truncate(used(&bytes));
        bytes
    }

    async fn world() -> TornStore {
        let origin = tempfile::tempdir().unwrap();
        let (mut model, mut last) = (BTreeMap::new(), BTreeMap::new());
        let store = EmbeddedStore::open(config(origin.path())).unwrap();
        for n in 0..12 {
            let (key, value) = (keys::record(1, 1, n), vec![n as u8; 40 * n as usize]);
            store.commit(put(key.clone(), value.clone())).await.unwrap();
            model.insert(key, value);
        }
        let (sound, tide) = (batches(origin.path()).len(), fs::read(origin.path().join("tide")).unwrap());
        let mut batch = Batch::new();
        // Includes sectors with only parts of a value; fjall itself does not detect their loss.
        for (n, bytes) in (0..).zip([1_500, 20, 0, 900]) {
            let (key, value) = (keys::record(2, 1, n), vec![0xEE; bytes]);
            batch.put(key.clone(), value.clone());
            last.insert(key, value);
        }
        store.commit(batch).await.unwrap();
        drop(store);
        let (path, bytes) = (journal(origin.path()), batches(origin.path()));
        assert_eq!(super::sound(&bytes), bytes.len(), "the layout is fjall's");
        fs::write(path, "").unwrap();
        let acknowledged_too = fs::read(origin.path().join("tide")).unwrap();
        fs::write(origin.path().join("tide"), tide).unwrap();
        TornStore { origin, journal: bytes, model, sound, last, acknowledged_too }
    }

    impl TornStore {
        /// Creates the store with this journal, followed by `ahead` preallocated bytes, as fjall does for all
        /// journals but the first.
        fn with(&self, bytes: &[u8], ahead: usize) -> tempfile::TempDir {
            let dir = tempfile::tempdir().unwrap();
            testing::copy(self.origin.path(), dir.path());
            fs::write(journal(dir.path()), [bytes, &vec![0; ahead]].concat()).unwrap();
            dir
        }

        /// Returns the journal without some sectors of the last group.
        fn torn(&self, lost: impl Fn(usize) -> bool) -> Vec<u8> {
            let mut bytes = self.journal.clone();
            for (at, byte) in bytes.iter_mut().enumerate().skip(self.sound) {
                if lost(at / SECTOR - self.sound / SECTOR) {
                    *byte = 0;
                }
            }
            bytes
        }

        /// Returns the number of sectors of the last group before the sector with its end.
        fn sectors(&self) -> usize {
            (self.journal.len() - END_BYTES) / SECTOR - self.sound / SECTOR
        }
    }

    /// Returns all values except the one written by the tests.
    fn values(store: &EmbeddedStore) -> BTreeMap<Key, Vec<u8>> {
        store
            .scan(crate::KeyRange::prefix(&[]), crate::Direction::Forward, usize::MAX)
            .unwrap()
            .into_iter()
            .filter(|(key, _)| *key != [9])
            .collect()
    }

    #[tokio::test]
    async fn a_last_group_with_missing_sectors_is_cut_off() {
        let world = world().await;
        let sectors = world.sectors();
        assert!(sectors > 3, "{sectors}");
        for ahead in [0, 100_000] {
            for lost in 0..1usize << sectors {
                let dir = world.with(&world.torn(|sector| lost >> sector & 1 == 1), ahead);
                let mut expected = world.model.clone();
                if lost == 0 {
                    expected.extend(world.last.clone());
                }
                let store = EmbeddedStore::open(config(dir.path())).unwrap_or_else(|error| panic!("{lost:b}: {error}"));
                assert_eq!(values(&store), expected, "{lost:b}");
                store.commit(put(vec![9], vec![9])).await.unwrap();
                drop(store);
                let store = EmbeddedStore::open(config(dir.path())).unwrap();
                assert_eq!((values(&store), store.get(&[9]).unwrap()), (expected, Some(vec![9])), "{lost:b}");
                let kept = fs::read(dir.path().join("fjall").join(KEPT)).map_or(0, |bytes| bytes.len());
                assert_eq!(kept, if lost == 0 { 0 } else { world.journal.len() - world.sound }, "{lost:b}");
            }
        }
    }

    #[tokio::test]
    async fn a_cut_off_acknowledged_group_is_reported_as_lost() {
        let world = world().await;
        let dir = world.with(&world.torn(|sector| sector == 2), 0);
        fs::write(dir.path().join("tide"), &world.acknowledged_too).unwrap();
        for _ in 0..2 {
            let refused = EmbeddedStore::open(config(dir.path())).err().unwrap();
            assert!(matches!(refused, StoreError::LostCommits { found: 12, expected: 13, .. }), "{refused}");
        }
        assert!(dir.path().join("fjall").join(KEPT).exists());
    }

    /// Flips a bit in each part of each batch before the last, except the sequence number, which no checksum
    /// covers.
    #[tokio::test]
    async fn damage_before_the_last_group_is_reported_and_kept() {
        let world = world().await;
        let (mut at, mut looked_at) = (0, 0);
        while let Some(behind) = behind_batch(&world.journal[at..]).filter(|behind| !behind.is_empty()) {
            let next = world.journal.len() - behind.len();
            let in_start = [0, 1].map(|part| at + part);
            let in_item = [0, 3, 11, 13, 17, ITEM_HEAD].map(|part| at + START_BYTES + part);
            let in_end = [0, 1, 9, 12].map(|part| next - END_BYTES + part);
            for bent in [&in_start[..], &in_item, &in_end].concat() {
                let mut bytes = world.journal.clone();
                bytes[bent] ^= 1;
                assert_eq!(end(&bytes), End::Damaged(at), "byte {} of a batch", bent - at);
            }
            (at, looked_at) = (next, looked_at + 1);
        }
        assert_eq!(looked_at, 13);
        let mut bytes = world.torn(|sector| sector == 1);
        bytes[100] ^= 1;
        let dir = world.with(&bytes, 0);
        let refused = EmbeddedStore::open(config(dir.path())).err().unwrap().to_string();
        assert!(refused.contains("nothing was changed: restore a backup"), "{refused}");
        assert_eq!(batches(dir.path()), bytes);
    }

    /// fjall writes to the last journal only.
    #[tokio::test]
    async fn a_torn_journal_before_the_last_one_is_damage() {
        let world = world().await;
        let dir = world.with(&world.torn(|sector| sector == 1), 0);
        let next = dir.path().join("fjall/7.jnl");
        fs::write(&next, "").unwrap();
        let refused = EmbeddedStore::open(config(dir.path())).err().unwrap().to_string();
        assert!(
            refused.contains("nothing was changed") && refused.contains(&format!("byte {}", world.sound)),
            "{refused}"
        );
        fs::remove_file(next).unwrap();
        EmbeddedStore::open(config(dir.path())).unwrap();
    }
}

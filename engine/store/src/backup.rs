//! A backup: the values of one state in one file, sealed as they are in the store, read beside the work. It is not the state of some
//! moment in the life of each location, but of one moment in the life of the store: all of a commit is in it or nothing.
//!
//! The file: `MAGIC`; for each value the lengths of its key and of the sealed value (4 bytes each, the larger one first), the key, the
//! sealed value; at last, under the key of the watermark, how many values these were and the sum of their versions, sealed too. So a file
//! that lacks a value, or has an older one, or was changed by whoever does not have the key, is not taken for a backup.
//!
//! Who restores one goes back in time, and the world does not: `restore` skips all numbers that may have been given since, and marks
//! every location, so that what it had still to write is looked up first.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{BufReader, BufWriter, Read, Write as _},
    path::Path,
    thread,
    time::Duration,
};

use super::{
    batch::{Batch, MAX_KEY_BYTES, MAX_VALUE_BYTES},
    contract::{BackedUp, Store},
    copy,
    counters::Counter,
    envelope::{Envelope, sealed_with},
    error::StoreError,
    files,
    keys::{self, Space},
    range::{Direction, Key, KeyRange},
    shared::Shared,
    store_keys::{KeyId, StoreKeys},
    version::Version,
    watermark::{WATERMARK_KEY, WatermarkRecord},
};

const MAGIC: &[u8; 8] = b"PSBACK1\n";
/// Values read before a pause: few enough that the largest there are fit into memory.
const AT_ONCE: usize = 100;
/// Pages between two looks at how much room the disk has.
const LOOK_EVERY: u64 = 20;
/// Bookings want the same disk.
const PAUSE: Duration = Duration::from_millis(1);
/// Of one commit of what is restored.
const COMMIT_BYTES: usize = 4 << 20;
/// Ids and numbers of changes that are skipped: more than were given since the backup was made.
const SKIPPED: u64 = 10_000_000;
/// What sealing adds to a value, and room for more.
const SEAL_BYTES: usize = 1_024;

/// Writes it under another name until it is whole, and not below so many free bytes of its disk, which may be that of the store. Tells how
/// many values each step wrote.
pub(super) fn write(
    shared: &Shared,
    to: &Path,
    floor: u64,
    mut written: impl FnMut(u64),
) -> Result<BackedUp, StoreError> {
    let draft = to.with_extension("part");
    let done = write_draft(shared, &draft, floor, &mut written);
    let io = |error| StoreError::io(format!("the backup {}", to.display()))(error);
    match done {
        Ok(done) => {
            fs::rename(&draft, to).and_then(|()| files::sync_parent(to)).map_err(io)?;
            Ok(done)
        }
        Err(error) => {
            // A disk that is full has room again.
            let _ = fs::remove_file(&draft);
            Err(error)
        }
    }
}

fn write_draft(
    shared: &Shared,
    draft: &Path,
    floor: u64,
    written: &mut impl FnMut(u64),
) -> Result<BackedUp, StoreError> {
    let io = |error| StoreError::io(format!("writing {}", draft.display()))(error);
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = BufWriter::new(options.open(draft).map_err(io)?);
    let mut bytes = MAGIC.len() as u64;
    file.write_all(MAGIC).map_err(io)?;
    let view = shared.medium.view();
    let (mut found, mut rest) = (WatermarkRecord::default(), KeyRange::prefix(&[]));
    for number in 0_u64.. {
        if number.is_multiple_of(LOOK_EVERY) {
            let free = fs4::available_space(draft).map_err(io)?;
            if free < floor {
                return Err(StoreError::BackupDisk {
                    file: draft.display().to_string(),
                    free: free >> 20,
                    floor: floor >> 20,
                });
            }
        }
        let page = view.scan(rest.clone(), Direction::Forward, AT_ONCE)?;
        let Some((last, _)) = page.last() else { break };
        rest = rest.after(last);
        for (key, sealed) in &page {
            found.replace(None, Some(Version::of(sealed)));
            bytes += put(&mut file, key, sealed).map_err(io)?;
            // What cannot be read here cannot be read from the backup.
            shared.envelope.open(key, sealed.clone())?;
        }
        written(page.len() as u64);
        thread::sleep(PAUSE);
    }
    bytes += put(&mut file, WATERMARK_KEY, &found.seal(&shared.envelope)?).map_err(io)?;
    let file = file.into_inner().map_err(|error| io(error.into_error()))?;
    file.sync_all().map_err(io)?;
    Ok(BackedUp { values: found.values(), bytes })
}

fn put(file: &mut impl std::io::Write, key: &[u8], sealed: &[u8]) -> std::io::Result<u64> {
    let too_long = |_| std::io::Error::other("a value of more than 4 GiB");
    let lengths = [u32::try_from(key.len()).map_err(too_long)?, u32::try_from(sealed.len()).map_err(too_long)?];
    for length in lengths {
        file.write_all(&length.to_be_bytes())?;
    }
    file.write_all(key)?;
    file.write_all(sealed)?;
    Ok(8 + key.len() as u64 + sealed.len() as u64)
}

/// Reads all of a backup and believes nothing before that. Tells how many values each step read.
pub fn check(file: &Path, keys: &StoreKeys, mut read: impl FnMut(u64)) -> Result<BackedUp, StoreError> {
    let mut backup = Backup::open(file, keys)?;
    while backup.next()?.is_some() {
        read(1);
    }
    Ok(BackedUp { values: backup.found.values(), bytes: backup.records.bytes })
}

/// The keys that a backup cannot be read without. Nothing is opened for it, and damage is not looked for.
pub fn keys_of(file: &Path) -> Result<BTreeSet<KeyId>, StoreError> {
    let (mut records, mut needed) = (Records::open(file)?, BTreeSet::new());
    loop {
        let (key, sealed) = records.next()?;
        needed.insert(sealed_with(&sealed));
        if key == WATERMARK_KEY {
            return Ok(needed);
        }
    }
}

/// A backup that was checked, into a new store, and what follows from going back. `ids` are the counters there may be. Tells how many values each step wrote.
pub async fn restore(
    file: &Path,
    keys: &StoreKeys,
    ids: &[Counter<'_>],
    to: &dyn Store,
    mut written: impl FnMut(u64),
) -> Result<(), StoreError> {
    let mut backup = Backup::open(file, keys)?;
    let (mut batch, mut bytes, mut back) = (Batch::new(), 0, Back::default());
    while let Some((key, value)) = backup.next()? {
        bytes += value.len();
        let value = back.value(&key, value, ids)?;
        batch.put(key, value);
        if bytes >= COMMIT_BYTES || batch.writes().len() >= AT_ONCE * 10 {
            bytes = 0;
            written(copy::write(to, std::mem::take(&mut batch)).await?);
        }
    }
    for (key, value) in back.besides(ids) {
        batch.put(key, value);
    }
    written(copy::write(to, batch).await?);
    Ok(())
}

/// What going back in time changes.
#[derive(Default)]
struct Back {
    locations: BTreeSet<u32>,
    counters: BTreeSet<String>,
    feed: bool,
}

impl Back {
    fn value(&mut self, key: &[u8], value: Vec<u8>, ids: &[Counter<'_>]) -> Result<Vec<u8>, StoreError> {
        self.locations.extend(keys::parse_snapshot(key).or_else(|| Some(keys::parse_journal(key)?.0)));
        let last = match Space::of(key) {
            Some(Space::Counter) => {
                let name = keys::parse_counter(key).unwrap_or_default();
                self.counters.insert(name.to_owned());
                ids.iter().find(|known| known.name() == name).map_or(u64::MAX, |known| known.last())
            }
            Some(Space::FeedEnd) => {
                self.feed = true;
                u64::MAX
            }
            Some(Space::Lease) => u64::MAX,
            _ => return Ok(value),
        };
        let number = value.as_slice().try_into().map_err(|_| StoreError::damaged(key, "not a number"))?;
        Ok(skipped(u64::from_be_bytes(number), last))
    }

    fn besides(self, ids: &[Counter<'_>]) -> Vec<(Key, Vec<u8>)> {
        let since = ids.iter().filter(|known| !self.counters.contains(known.name()));
        let counters = since.map(|known| (keys::counter(known.name()), skipped(0, known.last())));
        let feed = (!self.feed).then(|| (keys::feed_end(), skipped(0, u64::MAX)));
        let restored = self.locations.iter().map(|location| (keys::restored(*location), Vec::new()));
        counters.chain(feed).chain(restored).collect()
    }
}

fn skipped(number: u64, last: u64) -> Vec<u8> {
    number.saturating_add(SKIPPED).min(last).to_be_bytes().to_vec()
}

/// A backup as it is read.
struct Backup {
    records: Records,
    envelope: Envelope,
    found: WatermarkRecord,
}

impl Backup {
    fn open(path: &Path, keys: &StoreKeys) -> Result<Self, StoreError> {
        let (envelope, found) = (Envelope::new(keys), WatermarkRecord::default());
        Ok(Backup { records: Records::open(path)?, envelope, found })
    }

    /// The next value, opened; none once all of them were there.
    fn next(&mut self) -> Result<Option<(Key, Vec<u8>)>, StoreError> {
        let (key, sealed) = self.records.next()?;
        let (version, id) = (Version::of(&sealed), sealed_with(&sealed));
        let first = self.found == WatermarkRecord::default();
        let value = self.envelope.open(&key, sealed).map_err(|error| match error {
            StoreError::NoKey { .. } => {
                let held = self.envelope.held();
                self.records.is(format!(
                    "sealed with the key {id}, which the key file does not hold (it holds {held}), or damaged"
                ))
            }
            _ if first => self.records.is(format!("sealed with another key {id} than the one given, or damaged")),
            _ => self.records.is("damaged"),
        })?;
        if key != WATERMARK_KEY {
            self.found.replace(None, Some(version));
            return Ok(Some((key, value)));
        }
        let last = WatermarkRecord::parse(&value).ok_or_else(|| self.records.is("of a later version"))?;
        self.found.is_all_of(last).map_err(|_| self.records.is("not whole: values are missing"))?;
        self.records.end().map(|()| None)
    }
}

/// What lies in the file of a backup, sealed.
struct Records {
    name: String,
    file: BufReader<File>,
    bytes: u64,
}

impl Records {
    fn open(path: &Path) -> Result<Self, StoreError> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(StoreError::io(format!("the backup {name}")))?;
        let mut records = Records { name, file: BufReader::new(file), bytes: 0 };
        if records.bytes(MAGIC.len())? != MAGIC {
            return Err(records.is("not a backup of practice-sync, or of a later version"));
        }
        Ok(records)
    }

    fn end(&mut self) -> Result<(), StoreError> {
        let mut more = [0];
        let more = self.file.read(&mut more).map_err(StoreError::io(format!("the backup {}", self.name)))?;
        if more > 0 { Err(self.is("longer than it was made")) } else { Ok(()) }
    }

    /// A key, and what lies under it.
    fn next(&mut self) -> Result<(Key, Vec<u8>), StoreError> {
        let lengths = [self.length(MAX_KEY_BYTES)?, self.length(MAX_VALUE_BYTES + SEAL_BYTES)?];
        Ok((self.bytes(lengths[0])?, self.bytes(lengths[1])?))
    }

    fn length(&mut self, most: usize) -> Result<usize, StoreError> {
        let bytes = self.bytes(4)?;
        let length = bytes.try_into().map_or(usize::MAX, |bytes| u32::from_be_bytes(bytes) as usize);
        if length <= most { Ok(length) } else { Err(self.is("damaged")) }
    }

    fn bytes(&mut self, count: usize) -> Result<Vec<u8>, StoreError> {
        let mut bytes = vec![0; count];
        self.file.read_exact(&mut bytes).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => self.is("cut short"),
            _ => StoreError::io(format!("the backup {}", self.name))(error),
        })?;
        self.bytes += count as u64;
        Ok(bytes)
    }

    fn is(&self, what: impl Into<String>) -> StoreError {
        StoreError::Backup { file: self.name.clone(), what: what.into() }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{EmbeddedStore, EngineKind, MemoryStore, StoreConfig, StoreKey, copy::contents, testing};

    fn key() -> StoreKeys {
        testing::config(EngineKind::Sled, Path::new("")).keys
    }

    async fn filled(engine: EngineKind, dir: &Path) -> EmbeddedStore {
        let store = EmbeddedStore::open(testing::config(engine, dir)).unwrap();
        let mut batch = Batch::new();
        for n in 0..1_000u64 {
            batch.put(keys::record(1, 1, n), vec![n as u8; if n.is_multiple_of(200) { 9_000 } else { 50 }]);
        }
        batch.put(keys::journal(101, 1), vec![1]).put(keys::snapshot(102), vec![2]);
        batch.put(keys::counter("patient"), 7_000_u64.to_be_bytes().to_vec());
        batch.put(keys::counter("visit"), 90_u64.to_be_bytes().to_vec());
        batch.put(keys::lease(101), 3_u64.to_be_bytes().to_vec());
        batch.append(1 << 32, vec![5]);
        store.commit(batch).await.unwrap();
        store
    }

    fn number(store: &dyn Store, key: &[u8]) -> u64 {
        u64::from_be_bytes(store.get(key).unwrap().unwrap().try_into().unwrap())
    }

    #[tokio::test]
    async fn what_is_restored_is_what_was_there_and_no_number_comes_again() {
        for engine in EngineKind::ALL {
            let dir = tempfile::tempdir().unwrap();
            let store = filled(engine, &dir.path().join("store")).await;
            let file = dir.path().join("one.backup");
            let (mut told, mut read) = (0, 0);
            let made = store.back_up(&file, &mut |values| told += values).unwrap();
            assert_eq!((made.values, told), (1_007, 1_007));
            assert_eq!(made.bytes, fs::metadata(&file).unwrap().len());
            assert_eq!(check(&file, &key(), |values| read += values).unwrap(), made);
            assert_eq!(read, 1_007);

            let to = MemoryStore::new();
            let ids = [Counter::up_to(8_000, "patient"), Counter::int53("fee")];
            restore(&file, &key(), &ids, &to, |_| {}).await.unwrap();
            assert_eq!(to.get(&keys::record(1, 1, 400)).unwrap(), Some(vec![400_u64 as u8; 9_000]));
            assert_eq!(number(&to, &keys::counter("patient")), 8_000, "its last id");
            assert_eq!(number(&to, &keys::counter("visit")), 90 + SKIPPED);
            assert_eq!(number(&to, &keys::counter("fee")), SKIPPED, "it may have been begun since");
            assert_eq!(number(&to, &keys::lease(101)), 3 + SKIPPED);
            assert_eq!(number(&to, &keys::feed_end()), 1 + SKIPPED);
            for location in [101, 102] {
                assert!(to.get(&keys::restored(location)).unwrap().is_some(), "{location}");
            }
            assert_eq!(to.get(&keys::restored(103)).unwrap(), None);
            // Beside those: the counter that was not there, and two locations.
            assert_eq!(contents(&to, |_| {}).unwrap().values, contents(&store, |_| {}).unwrap().values + 3);
        }
    }

    /// As many values in each commit as the one before: a backup that saw parts of several would have another number.
    #[tokio::test(flavor = "multi_thread")]
    async fn it_is_one_state_while_commits_go_on() {
        for engine in EngineKind::ALL {
            let dir = tempfile::tempdir().unwrap();
            let store = std::sync::Arc::new(filled(engine, &dir.path().join("store")).await);
            let busy = store.clone();
            let going_on = tokio::spawn(async move {
                for round in 1..=200u64 {
                    let mut batch = Batch::new();
                    for n in 0..50 {
                        batch.put(keys::record(1, 1, n * 20), round.to_be_bytes().to_vec());
                        batch.delete(keys::record(2, 1, (round - 1) * 50 + n));
                        batch.put(keys::record(2, 1, round * 50 + n), round.to_be_bytes().to_vec());
                    }
                    busy.commit(batch).await.unwrap();
                }
            });
            let mut states = BTreeSet::new();
            while !going_on.is_finished() {
                let (store, file) = (store.clone(), dir.path().join("some.backup"));
                let made = tokio::task::spawn_blocking(move || {
                    store.back_up(&file, &mut |_| {}).unwrap();
                    file
                });
                let to = MemoryStore::new();
                restore(&made.await.unwrap(), &key(), &[], &to, |_| {}).await.unwrap();
                let of = |n: u64| to.get(&keys::record(1, 1, n * 20)).unwrap().unwrap();
                let begun = of(0).len() == 8;
                assert!(!begun || (1..50).all(|n| of(n) == of(0)), "parts of several commits");
                let moving = to.scan(KeyRange::prefix(&[Space::Record as u8, 2]), Direction::Forward, 1_000).unwrap();
                assert!(moving.is_empty() || moving.len() == 50 && moving.iter().all(|(_, value)| *value == of(0)));
                states.insert(of(0));
            }
            going_on.await.unwrap();
            assert!(states.len() > 1, "none was made while commits went on");
        }
    }

    #[tokio::test]
    #[ignore = "a measurement"]
    async fn measure_a_backup() {
        const VALUES: u64 = 500_000;
        for engine in EngineKind::ALL {
            let dir = tempfile::tempdir().unwrap();
            let store = EmbeddedStore::open(testing::config(engine, &dir.path().join("store"))).unwrap();
            for from in (0..VALUES).step_by(1_000) {
                let mut batch = Batch::new();
                for n in from..from + 1_000 {
                    batch.put(keys::record(1, 1, n), vec![n as u8; 260]);
                }
                store.commit(batch).await.unwrap();
            }
            let (file, began) = (dir.path().join("one.backup"), std::time::Instant::now());
            let made = store.back_up(&file, &mut |_| {}).unwrap();
            let (took, began) = (began.elapsed(), std::time::Instant::now());
            check(&file, &key(), |_| {}).unwrap();
            let (checked, began) = (began.elapsed(), std::time::Instant::now());
            let to = EmbeddedStore::open(testing::config(engine, &dir.path().join("to"))).unwrap();
            restore(&file, &key(), &[], &to, |_| {}).await.unwrap();
            eprintln!("{engine}: {made:?} in {took:?}, checked in {checked:?}, restored in {:?}", began.elapsed());
        }
    }

    #[tokio::test]
    async fn what_is_not_whole_or_of_another_key_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let store = filled(EngineKind::Sled, &dir.path().join("store")).await;
        let file = dir.path().join("one.backup");
        store.back_up(&file, &mut |_| {}).unwrap();
        let whole = fs::read(&file).unwrap();
        let told = |bytes: &[u8], key: &StoreKeys| {
            fs::write(&file, bytes).unwrap();
            check(&file, key, |_| {}).unwrap_err().to_string()
        };
        assert!(told(&whole, &StoreKey::new([9; 32]).into()).contains("another key 00000000"));
        assert!(told(&whole[..whole.len() - 1], &key()).contains("cut short"));
        assert!(told(&whole[..whole.len() / 2], &key()).contains("cut short"));
        assert!(told(&[&whole[..], &[0]].concat(), &key()).contains("longer"));
        assert!(told(b"PSBACK2\nand more", &key()).contains("not a backup"));
        assert!(told(b"", &key()).contains("cut short"));
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 1;
        let damaged = told(&flipped, &key());
        assert!(damaged.contains("damaged") || damaged.contains("cut short"), "{damaged}");
        // Without its first value, which is as long as its lengths say.
        let length = |at: usize| u32::from_be_bytes(whole[at..at + 4].try_into().unwrap()) as usize;
        let first = 8 + length(8) + length(12);
        assert!(told(&[&whole[..8], &whole[8 + first..]].concat(), &key()).contains("values are missing"));
        fs::write(&file, &whole).unwrap();
        assert!(check(&file, &key(), |_| {}).is_ok());
        let full = StoreConfig { floor_bytes: u64::MAX, ..testing::config(EngineKind::Sled, &dir.path().join("full")) };
        let full =
            EmbeddedStore::open(full).unwrap().back_up(&dir.path().join("full.backup"), &mut |_| {}).unwrap_err();
        assert!(full.to_string().contains("MiB left") && !dir.path().join("full.part").exists(), "{full}");
        let nowhere = store.back_up(&dir.path().join("no").join("one.backup"), &mut |_| {}).unwrap_err().to_string();
        assert!(nowhere.contains("no/one.part"), "{nowhere}");
    }
}

//! Backups: the values of one consistent state in one file, sealed as in the store and read while the store
//! is in use. The state is consistent across the store: it contains all of a commit or nothing of it.
//!
//! The file format is `MAGIC`, followed by a record per value and a final record. A record consists of the
//! lengths of the key and of the sealed value (4 bytes each, big-endian), the key, and the sealed value. The
//! final record has the key of the watermark and contains the sealed number of values and sum of their
//! versions. A file with missing, old or altered values is therefore detected.
//!
//! A restored store is older than the EHRs and clients around it. `restore` therefore skips all numbers that
//! may have been handed out since the backup. It also marks every location, so that its pending writes are
//! checked before they are repeated.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{BufReader, BufWriter, Read, Write as _},
    path::Path,
    thread,
    time::Duration,
};

use super::{
    BackedUp, Batch, Direction, Key, KeyId, KeyRange, MAX_KEY_BYTES, MAX_VALUE_BYTES, Store, StoreError, StoreKeys,
    Version, copy,
    counters::Counter,
    envelope::{Envelope, sealed_with},
    files,
    keys::{self, Space},
    shared::StoreState,
    watermark::{WATERMARK_KEY, WatermarkRecord},
};

/// The beginning of a file. Earlier versions refuse it, because they cannot read compressed values. No flipped bit
/// turns it into that of an earlier version.
const MAGIC: &[u8; 8] = b"PSBACK7\n";
/// The beginnings of files of earlier versions. Those of the first one have values of envelope format 1 only.
const EARLIER_MAGIC: [&[u8; 8]; 3] = [b"PSBACK1\n", b"PSBACK2\n", b"PSBACK4\n"];
/// Values read between pauses: few enough that even the largest values fit into memory.
const AT_ONCE: usize = 100;
/// Number of pages between checks of the free disk space.
const LOOK_EVERY: u64 = 20;
/// Pause between pages, because commits use the same disk.
const PAUSE: Duration = Duration::from_millis(1);
/// Size of the values per commit of a restore.
const COMMIT_BYTES: usize = 4 << 20;
/// Number of ids and feed numbers skipped by a restore: more than were handed out since the backup was made.
const SKIPPED: u64 = 10_000_000;
/// Maximum overhead of sealing, with a margin.
const SEAL_BYTES: usize = 1_024;

/// Limits above which a backup fails.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Minimum free bytes of the backup's disk, which may be the store's disk.
    pub floor: u64,
    /// Maximum bytes that the store keeps in memory for the backup.
    pub kept: u64,
}

/// Writes the backup under a temporary name and renames it when it is complete. Reports the number of values
/// written by each step.
pub(super) fn write(
    shared: &StoreState,
    to: &Path,
    limits: Limits,
    mut written: impl FnMut(u64),
) -> Result<BackedUp, StoreError> {
    let draft = to.with_extension("part");
    let done = write_draft(shared, &draft, limits, &mut written);
    let io = |error| StoreError::io(format!("the backup {}", to.display()))(error);
    match done {
        Ok(done) => {
            fs::rename(&draft, to).and_then(|()| files::sync_parent(to)).map_err(io)?;
            Ok(done)
        }
        Err(error) => {
            // Frees the space of the incomplete file.
            let _ = fs::remove_file(&draft);
            Err(error)
        }
    }
}

fn write_draft(
    shared: &StoreState,
    draft: &Path,
    Limits { floor, kept }: Limits,
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
        if view.kept_bytes() > kept {
            return Err(StoreError::BackupKept { file: draft.display().to_string(), kept: view.kept_bytes() >> 20 });
        }
        let page = view.scan(rest.clone(), Direction::Forward, AT_ONCE)?;
        let Some((last, _)) = page.last() else { break };
        rest = rest.after(last);
        for (key, sealed) in &page {
            found.replace(None, Some(Version::from_sealed(sealed)));
            bytes += put(&mut file, key, sealed).map_err(io)?;
            // A value that cannot be opened here could not be restored from the backup either.
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

/// Reads and verifies a whole backup. Reports the number of values read by each step.
pub fn check(file: &Path, keys: &StoreKeys, mut read: impl FnMut(u64)) -> Result<BackedUp, StoreError> {
    let mut backup = Backup::open(file, keys)?;
    while backup.next()?.is_some() {
        read(1);
    }
    Ok(BackedUp { values: backup.found.values(), bytes: backup.records.bytes })
}

/// Returns the ids of the keys required to read a backup. Opens no value and detects no damage.
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

/// Restores a checked backup into a new store and skips numbers handed out since. `ids` lists all counters.
/// Reports the number of values written by each step.
pub async fn restore(
    file: &Path,
    keys: &StoreKeys,
    ids: &[Counter<'_>],
    to: &dyn Store,
    mut written: impl FnMut(u64),
) -> Result<(), StoreError> {
    let mut backup = Backup::open(file, keys)?;
    let (mut batch, mut bytes, mut adjustments) = (Batch::new(), 0, Adjustments::default());
    while let Some((key, value)) = backup.next()? {
        bytes += value.len();
        let value = adjustments.value(&key, value, ids)?;
        batch.put(key, value);
        if bytes >= COMMIT_BYTES || batch.writes().len() >= AT_ONCE * 10 {
            bytes = 0;
            written(copy::write(to, std::mem::take(&mut batch)).await?);
        }
    }
    write_all(to, batch, adjustments.additions(ids), written).await
}

/// Adjusts a store that has lost values like a restored one, because it is older than the EHRs and clients around it.
/// `ids` lists all counters. The last number of the feed stays. The store must have no other writer.
pub async fn adjust_after_loss(store: &dyn Store, ids: &[Counter<'_>]) -> Result<(), StoreError> {
    let mut adjustments = Adjustments { feed: true, ..Adjustments::default() };
    let mut adjusted = Vec::new();
    for space in [Space::Counter, Space::Lease] {
        for (key, value) in store.scan(space.range(), Direction::Forward, usize::MAX)? {
            let value = adjustments.value(&key, value, ids)?;
            adjusted.push((key, value));
        }
    }
    // A location that lost its whole journal would number its writes from the beginning again.
    for space in [Space::Snapshot, Space::AuditPosition, Space::Active, Space::Asleep] {
        let found = store.scan_keys(space.range(), Direction::Forward, usize::MAX)?;
        adjustments.locations.extend(found.iter().filter_map(|key| {
            let loaded = || keys::parse_active(key).or_else(|| keys::parse_asleep(key));
            keys::parse_snapshot(key).or_else(|| keys::parse_audit_position(key)).or_else(loaded)
        }));
    }
    let mut journals = Space::Journal.range();
    while let Some(first) = store.scan_keys(journals.clone(), Direction::Forward, 1)?.pop() {
        let location = keys::parse_journal(&first).map(|(location, _)| location);
        adjustments.locations.extend(location);
        journals = journals.after(&location.map_or(first, |location| keys::journal(location, u64::MAX)));
    }
    adjusted.extend(adjustments.additions(ids));
    write_all(store, Batch::new(), adjusted, |_| {}).await
}

/// Writes a batch and further values, in commits of a limited number of keys.
async fn write_all(
    to: &dyn Store,
    mut batch: Batch,
    values: Vec<(Key, Vec<u8>)>,
    mut written: impl FnMut(u64),
) -> Result<(), StoreError> {
    for (key, value) in values {
        batch.put(key, value);
        if batch.writes().len() >= AT_ONCE * 10 {
            written(copy::write(to, std::mem::take(&mut batch)).await?);
        }
    }
    written(copy::write(to, batch).await?);
    Ok(())
}

/// The changes that a restore makes to the values of a backup, or to a store that has lost values.
#[derive(Default)]
struct Adjustments {
    locations: BTreeSet<u32>,
    counters: BTreeSet<String>,
    feed: bool,
}

impl Adjustments {
    fn value(&mut self, key: &[u8], value: Vec<u8>, ids: &[Counter<'_>]) -> Result<Vec<u8>, StoreError> {
        self.locations.extend(keys::parse_snapshot(key).or_else(|| Some(keys::parse_journal(key)?.0)));
        let last = match Space::from_key(key) {
            Some(Space::Counter) => {
                let name = keys::parse_counter(key).unwrap_or_default();
                self.counters.insert(name.to_owned());
                ids.iter().find(|known| known.name == name).map_or(u64::MAX, |known| known.last)
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

    fn additions(self, ids: &[Counter<'_>]) -> Vec<(Key, Vec<u8>)> {
        let since = ids.iter().filter(|known| !self.counters.contains(known.name));
        let counters = since.map(|known| (keys::counter(known.name), skipped(0, known.last)));
        let feed = (!self.feed).then(|| (keys::feed_end(), skipped(0, u64::MAX)));
        let restored = self.locations.iter().map(|location| (keys::restored(*location), Vec::new()));
        counters.chain(feed).chain(restored).collect()
    }
}

fn skipped(number: u64, last: u64) -> Vec<u8> {
    number.saturating_add(SKIPPED).min(last).to_be_bytes().to_vec()
}

/// A backup being read, with the sum of the versions so far.
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

    /// Returns the next value, opened, or `None` after the verified end.
    fn next(&mut self) -> Result<Option<(Key, Vec<u8>)>, StoreError> {
        let (key, sealed) = self.records.next()?;
        let (version, id) = (Version::from_sealed(&sealed), sealed_with(&sealed));
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

/// The sealed records of a backup file.
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
        let magic = records.bytes(MAGIC.len())?;
        if !EARLIER_MAGIC.iter().chain([&MAGIC]).any(|known| magic == **known) {
            return Err(records.is("not a backup of practice-sync, or of a later version"));
        }
        Ok(records)
    }

    fn end(&mut self) -> Result<(), StoreError> {
        let mut more = [0];
        let more = self.file.read(&mut more).map_err(StoreError::io(format!("the backup {}", self.name)))?;
        if more > 0 { Err(self.is("longer than it was made")) } else { Ok(()) }
    }

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
mod tests;

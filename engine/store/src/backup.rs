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
    key_id::KeyId,
    keys::{self, Space},
    range::{Direction, Key, KeyRange},
    shared::Shared,
    store_keys::StoreKeys,
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

/// What a backup ends at before it is whole.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Free bytes of its disk, which may be that of the store.
    pub floor: u64,
    /// Bytes that the store keeps in memory for it.
    pub kept: u64,
}

/// Writes it under another name until it is whole. Tells how many values each step wrote.
pub(super) fn write(
    shared: &Shared,
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
            // A disk that is full has room again.
            let _ = fs::remove_file(&draft);
            Err(error)
        }
    }
}

fn write_draft(
    shared: &Shared,
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
mod tests;

//! How the store knows that it is whole. Every commit group moves a record on that says which group it is, how many values there are and
//! the sum of their fingerprints; a mark outside of sled remembers the highest group that was durable.

use std::{
    fs::File,
    io::{self, ErrorKind, Read, Seek, Write},
    path::Path,
};

use sled::IVec;

use super::{
    Direction, FIRST_RESERVED, KeyRange, StoreError,
    directory::Directory,
    disk::Disk,
    envelope::{Envelope, fingerprint},
    sled_store::{Shared, guarded, sled_error},
};

/// The store's own record, written with every group: which group it is, how many values there are, and the sum of their fingerprints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TideRecord {
    pub group: u64,
    values: u64,
    sum: u128,
}

pub(super) const TIDE_KEY: &[u8] = &[FIRST_RESERVED];
const FORMAT: u8 = 1;

impl TideRecord {
    pub fn group(self) -> u64 {
        self.group
    }

    pub fn replace(&mut self, old: Option<u128>, new: Option<u128>) {
        if let Some(old) = old {
            self.values = self.values.wrapping_sub(1);
            self.sum = self.sum.wrapping_sub(old);
        }
        if let Some(new) = new {
            self.values = self.values.wrapping_add(1);
            self.sum = self.sum.wrapping_add(new);
        }
    }

    /// These values, counted one by one, must be those the last group left.
    pub fn is_all_of(self, last: Self) -> Result<(), StoreError> {
        if (self.values, self.sum) == (last.values, last.sum) {
            return Ok(());
        }
        let what = format!("{} values were written, {} are there, or some are old", last.values, self.values);
        Err(StoreError::damaged(TIDE_KEY, what))
    }

    pub fn seal(self, envelope: &Envelope) -> Result<IVec, StoreError> {
        let value =
            [&[FORMAT][..], &self.group.to_be_bytes(), &self.values.to_be_bytes(), &self.sum.to_be_bytes()].concat();
        Ok(envelope.sealer()?.seal(TIDE_KEY, &value)?.head)
    }

    fn parse(value: &[u8]) -> Option<Self> {
        let (format, value) = value.split_first()?;
        let (group, value) = value.split_first_chunk()?;
        let (values, value) = value.split_first_chunk()?;
        let record = Self {
            group: u64::from_be_bytes(*group),
            values: u64::from_be_bytes(*values),
            sum: u128::from_be_bytes(value.try_into().ok()?),
        };
        (*format == FORMAT).then_some(record)
    }
}

/// Reads the tide record, or writes the first one of a new store. Never takes a store that lost something for a new one.
pub(super) fn last_group(
    shared: &Shared,
    directory: &Directory,
    disk: &dyn Disk,
    mark: u64,
) -> Result<TideRecord, StoreError> {
    let Some(last) = read_record(shared).map_err(|error| match error {
        StoreError::WrongKey { .. } => StoreError::WrongKey { dir: directory.name() },
        other => other,
    })?
    else {
        if mark > 0 {
            return Err(StoreError::LostCommits { dir: directory.name(), found: 0, expected: mark });
        }
        if guarded(|| shared.db.first()).map_err(|error| sled_error(TIDE_KEY, error))?.is_some() {
            return Err(StoreError::damaged(
                TIDE_KEY,
                "the directory holds a database that is not ours, or its first record is lost",
            ));
        }
        return begin(shared, disk);
    };
    if last.group < mark {
        return Err(StoreError::LostCommits { dir: directory.name(), found: last.group, expected: mark });
    }
    Ok(last)
}

/// The record of the last group; none in a new store.
pub(super) fn read_record(shared: &Shared) -> Result<Option<TideRecord>, StoreError> {
    let Some(raw) = shared.read(TIDE_KEY)? else { return Ok(None) };
    let opened = shared.envelope.open(TIDE_KEY, &raw.head, &raw.pieces);
    let value = opened.map_err(|_| StoreError::WrongKey { dir: String::new() })?;
    let record = TideRecord::parse(&value);
    let format = || StoreError::damaged(TIDE_KEY, "the store was written by a version with another format");
    record.map(Some).ok_or_else(format)
}

/// The highest group that was reported as durable, as far as the mark can be read.
pub(super) fn read_mark(path: &Path) -> u64 {
    let mark = std::fs::read(path).ok().and_then(|bytes| bytes.try_into().ok()).and_then(parse_mark);
    mark.unwrap_or(0)
}

fn begin(shared: &Shared, disk: &dyn Disk) -> Result<TideRecord, StoreError> {
    let first = TideRecord::default();
    let sealed = first.seal(&shared.envelope)?;
    guarded(|| shared.db.insert(TIDE_KEY, sealed).and_then(|_| shared.db.flush()))
        .map_err(|error| sled_error(TIDE_KEY, error))?;
    disk.sync().map_err(StoreError::io("the first sync of the store"))?;
    Ok(first)
}

/// A damaged stretch of sled's log can take single records with it, or bring back older ones; each of them is sound by itself.
pub(super) fn verify(shared: &Shared, last: TideRecord) -> Result<(), StoreError> {
    let mut found = TideRecord { group: last.group, ..TideRecord::default() };
    let mut rest = KeyRange::prefix(&[]);
    loop {
        let page =
            shared.walk(rest.clone(), Direction::Forward, 10_000, |_, key, head, _| Ok((key, fingerprint(&head))))?;
        page.iter().for_each(|(_, print)| found.replace(None, Some(*print)));
        match page.last() {
            Some((key, _)) => rest = rest.after(key),
            None => break,
        }
    }
    found.is_all_of(last)
}

/// The number of the last commit group known to be durable, written after each sync without a sync of its own. After a crash it may be
/// too low, never too high; a store that ends below it has lost commits.
pub(super) struct TideMark {
    file: File,
}

impl TideMark {
    pub fn open(dir: &Path) -> io::Result<(Self, u64)> {
        let mut file = File::options().create(true).truncate(false).read(true).write(true).open(dir.join("tide"))?;
        let mut mark = [0; 16];
        let group = match file.read_exact(&mut mark) {
            Ok(()) => parse_mark(mark),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => None,
            Err(error) => return Err(error),
        };
        if group.is_none() && file.metadata()?.len() > 0 {
            tracing::error!(dir = %dir.display(), "the tide mark is damaged: lost commits cannot be seen at this start");
        }
        Ok((Self { file }, group.unwrap_or(0)))
    }

    pub fn mark(&mut self, group: u64) -> io::Result<()> {
        let mut mark = [0; 16];
        mark[..8].copy_from_slice(&group.to_be_bytes());
        mark[8..].copy_from_slice(&(!group).to_be_bytes());
        self.file.rewind()?;
        self.file.write_all(&mark)
    }
}

fn parse_mark(mark: [u8; 16]) -> Option<u64> {
    let mark = u128::from_be_bytes(mark);
    let (group, check) = ((mark >> 64) as u64, mark as u64);
    (group == !check).then_some(group)
}

//! Detection of lost values. Every commit group updates a record that contains the number of the group, the
//! number of values and the sum of their versions. A file outside of the engine stores the number of the last
//! durable group.

use std::{
    fs::File,
    io::{self, ErrorKind, Read, Seek, Write},
    path::Path,
};

use super::{FIRST_RESERVED, StoreError, Version, envelope::Envelope};

/// The store's own record, written with every group: the number of the group, the number of values, and the
/// sum of their versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WatermarkRecord {
    pub group: u64,
    values: u64,
    sum: u128,
}

pub(super) const WATERMARK_KEY: &[u8] = &[FIRST_RESERVED];
const FORMAT: u8 = 1;

impl WatermarkRecord {
    /// Returns the record of a group with no values counted yet.
    pub(crate) fn before_counting(group: u64) -> Self {
        Self { group, ..Self::default() }
    }

    pub(crate) fn values(self) -> u64 {
        self.values
    }

    pub(crate) fn replace(&mut self, old: Option<Version>, new: Option<Version>) {
        if let Some(old) = old {
            self.values = self.values.wrapping_sub(1);
            self.sum = self.sum.wrapping_sub(old.0);
        }
        if let Some(new) = new {
            self.values = self.values.wrapping_add(1);
            self.sum = self.sum.wrapping_add(new.0);
        }
    }

    /// Checks that this record, counted value by value, matches the record of the last group.
    pub(crate) fn is_all_of(self, last: Self) -> Result<(), StoreError> {
        if (self.values, self.sum) == (last.values, last.sum) {
            return Ok(());
        }
        let what = format!("{} values were written, {} are there, or some are old", last.values, self.values);
        Err(StoreError::damaged(WATERMARK_KEY, what))
    }

    pub(crate) fn seal(self, envelope: &Envelope) -> Result<Vec<u8>, StoreError> {
        let value =
            [&[FORMAT][..], &self.group.to_be_bytes(), &self.values.to_be_bytes(), &self.sum.to_be_bytes()].concat();
        envelope.sealer()?.seal(WATERMARK_KEY, &value)
    }

    pub(crate) fn parse(value: &[u8]) -> Option<Self> {
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

/// Returns the last group that was reported as durable, or 0 if the file cannot be read.
pub(super) fn read_mark(path: &Path) -> u64 {
    let mark = std::fs::read(path).ok().and_then(|bytes| bytes.try_into().ok()).and_then(parse_mark);
    mark.unwrap_or(0)
}

/// The file with the number of the last durable commit group. It is written after each sync, but not synced
/// itself. After a crash the number may be too low, but never too high. A store that ends below it has lost
/// commits.
pub(super) struct WatermarkFile {
    file: File,
}

impl WatermarkFile {
    pub(crate) fn open(dir: &Path) -> io::Result<(Self, u64)> {
        let mut file = File::options().create(true).truncate(false).read(true).write(true).open(dir.join("tide"))?;
        let mut mark = [0; 16];
        let group = match file.read_exact(&mut mark) {
            Ok(()) => parse_mark(mark),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => None,
            Err(error) => return Err(error),
        };
        if group.is_none() && file.metadata()?.len() > 0 {
            tracing::error!(dir = %dir.display(), "the watermark is damaged: this start cannot detect lost commits");
        }
        Ok((Self { file }, group.unwrap_or(0)))
    }

    pub(crate) fn mark(&mut self, group: u64) -> io::Result<()> {
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

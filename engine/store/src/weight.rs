//! How much of sled's log is live, known without reading it: the values and their bytes as they were added up when the whole store was
//! read last, beside the work or at a start, and how large the files were when they were last made anew. It says no more than whether
//! that is worth doing again (`compact`): nothing else rests on it, and where it cannot be read, nothing is done.

use std::{fs, io, path::Path};

use crate::files;

const FILE: &str = "live";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Weight {
    pub values: u64,
    /// Of keys and sealed values.
    pub bytes: u64,
    /// Of all files, when they were made anew; 0 if they never were.
    pub compacted: u64,
}

impl Weight {
    pub(crate) fn read(dir: &Path) -> Option<Self> {
        let text = fs::read_to_string(dir.join(FILE)).ok()?;
        let mut numbers = ["values ", "bytes ", "compacted "].into_iter().zip(text.lines());
        let mut number = || numbers.next().and_then(|(name, line)| line.strip_prefix(name)?.parse().ok());
        Some(Self { values: number()?, bytes: number()?, compacted: number()? })
    }

    pub(crate) fn write(self, dir: &Path) -> io::Result<()> {
        let Self { values, bytes, compacted } = self;
        files::replace(&dir.join(FILE), &format!("values {values}\nbytes {bytes}\ncompacted {compacted}"))
    }

    /// What this many values weigh, if they are like those that were added up.
    pub(crate) fn of(self, values: u64) -> u64 {
        let bytes = u128::from(self.bytes) * u128::from(values) / u128::from(self.values.max(1));
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Files of so many bytes hold too much that is not live. What small values cost beside their bytes is in the files made anew too: who
    /// has not doubled since then has nothing to give back.
    pub(crate) fn is_too_little(self, values: u64, files: u64, ratio: u32) -> bool {
        files > self.of(values).saturating_mul(ratio.into()) && files >= self.compacted.saturating_mul(2)
    }
}

/// Added up just now.
pub(super) fn note(dir: &Path, values: u64, bytes: u64) -> io::Result<()> {
    let compacted = Weight::read(dir).map_or(0, |earlier| earlier.compacted);
    Weight { values, bytes, compacted }.write(dir)
}

/// The bytes of all files of the store; sled has no folders with files, and replaces and removes files beside whoever looks: one that is
/// gone holds nothing.
pub(super) fn files_bytes(dir: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        bytes += match entry?.metadata() {
            Ok(meta) if meta.is_file() => meta.len(),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(_) | Err(_) => 0,
        };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn files_are_made_anew_when_they_hold_too_little() {
        let weight = Weight { values: 10, bytes: 1_000, compacted: 0 };
        assert!(weight.is_too_little(10, 3_001, 3) && !weight.is_too_little(10, 3_000, 3));
        assert!(!weight.is_too_little(20, 6_000, 3), "twice as many values");
        assert!(weight.is_too_little(0, 1, 3), "nothing is left");
        let small_values = Weight { compacted: 5_000, ..weight };
        assert!(!small_values.is_too_little(10, 9_999, 3) && small_values.is_too_little(10, 10_000, 3));
    }

    #[test]
    fn what_was_noted_is_read_and_nothing_is_made_up() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Weight::read(dir.path()), None);
        Weight { values: 1, bytes: 2, compacted: 3 }.write(dir.path()).unwrap();
        note(dir.path(), 4, 5).unwrap();
        assert_eq!(Weight::read(dir.path()), Some(Weight { values: 4, bytes: 5, compacted: 3 }));
        assert_eq!(files_bytes(dir.path()).unwrap(), fs::metadata(dir.path().join(FILE)).unwrap().len());
        for text in ["", "values 1\nbytes 2\n", "values 1\nbytes x\ncompacted 3\n", "values 1\nbits 2\ncompacted 3\n"] {
            fs::write(dir.path().join(FILE), text).unwrap();
            assert_eq!(Weight::read(dir.path()), None, "{text:?}");
        }
    }
}

//! The file `live`, which estimates the live part of sled's log without reading the log. It contains the
//! number and size of the values at the last full read, and the file size after the last compaction. It only
//! decides whether compaction is worthwhile; without it, no compaction takes place.

use std::{fs, io, path::Path};

use crate::files;

const FILE: &str = "live";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Weight {
    pub values: u64,
    /// Size of the keys and sealed values.
    pub bytes: u64,
    /// Size of all files after the last compaction; 0 before the first.
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

    /// Estimates the size of this number of values from the last full read.
    pub(crate) fn estimate_bytes(self, values: u64) -> u64 {
        let bytes = u128::from(self.bytes) * u128::from(values) / u128::from(self.values.max(1));
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Returns whether files of this size contain too little live data. Small values have overhead that remains
    /// after a compaction, so the files must also have doubled since then.
    pub(crate) fn is_too_little(self, values: u64, files: u64, ratio: u32) -> bool {
        files > self.estimate_bytes(values).saturating_mul(ratio.into()) && files >= self.compacted.saturating_mul(2)
    }
}

/// Records the result of a full read.
pub(super) fn note(dir: &Path, values: u64, bytes: u64) -> io::Result<()> {
    let compacted = Weight::read(dir).map_or(0, |earlier| earlier.compacted);
    Weight { values, bytes, compacted }.write(dir)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn files_with_little_live_data_are_compacted() {
        let weight = Weight { values: 10, bytes: 1_000, compacted: 0 };
        assert!(weight.is_too_little(10, 3_001, 3) && !weight.is_too_little(10, 3_000, 3));
        assert!(!weight.is_too_little(20, 6_000, 3), "twice as many values");
        assert!(weight.is_too_little(0, 1, 3), "nothing is left");
        let small_values = Weight { compacted: 5_000, ..weight };
        assert!(!small_values.is_too_little(10, 9_999, 3) && small_values.is_too_little(10, 10_000, 3));
    }

    #[test]
    fn a_written_weight_is_read_and_an_invalid_one_is_none() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Weight::read(dir.path()), None);
        Weight { values: 1, bytes: 2, compacted: 3 }.write(dir.path()).unwrap();
        note(dir.path(), 4, 5).unwrap();
        assert_eq!(Weight::read(dir.path()), Some(Weight { values: 4, bytes: 5, compacted: 3 }));
        assert_eq!(files::bytes_below(dir.path()).unwrap(), fs::metadata(dir.path().join(FILE)).unwrap().len());
        for text in ["", "values 1\nbytes 2\n", "values 1\nbytes x\ncompacted 3\n", "values 1\nbits 2\ncompacted 3\n"] {
            fs::write(dir.path().join(FILE), text).unwrap();
            assert_eq!(Weight::read(dir.path()), None, "{text:?}");
        }
    }
}

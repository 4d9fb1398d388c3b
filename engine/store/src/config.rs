//! The options for opening a store.

use std::path::PathBuf;

use super::{EngineKind, StoreKeys};

#[derive(Clone, Debug)]
pub struct StoreConfig {
    pub engine: EngineKind,
    pub dir: PathBuf,
    pub keys: StoreKeys,
    /// Size of the engine's page cache.
    pub cache_bytes: u64,
    /// Commits are refused while less than this is free on the disk.
    pub floor_bytes: u64,
    /// Number of batches that may wait before commits are refused as `Busy`.
    pub queue: usize,
    /// Makes opening read every record and compare the result with the watermark. Of bits flipped in a log of
    /// several segments that sled has to recover, about one in six silently loses records or restores old ones.
    /// Only this check detects them. It costs 1 to 2 s per million records.
    pub verify: bool,
    /// Runs the same check in the background after opening. `Health::damage` and the log report its
    /// findings.
    pub audit: bool,
    /// Limit of memory for values replaced during a backup. The backup fails above it.
    pub backup_kept_bytes: u64,
    /// Ratio of file size to live data above which opening compacts sled's files. 0 disables compaction.
    pub compact_ratio: u32,
    /// Smaller files are not compacted.
    pub compact_above_bytes: u64,
}

impl StoreConfig {
    /// Returns the default options, with the engine sled.
    pub fn new(dir: impl Into<PathBuf>, keys: impl Into<StoreKeys>) -> Self {
        Self {
            engine: EngineKind::default(),
            dir: dir.into(),
            keys: keys.into(),
            cache_bytes: 256 << 20,
            floor_bytes: 512 << 20,
            queue: 16_384,
            verify: false,
            audit: false,
            backup_kept_bytes: 512 << 20,
            compact_ratio: 3,
            compact_above_bytes: 64 << 20,
        }
    }
}

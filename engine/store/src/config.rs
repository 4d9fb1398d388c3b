//! How a store is opened.

use std::path::PathBuf;

use super::{engine_kind::EngineKind, store_keys::StoreKeys};

#[derive(Clone, Debug)]
pub struct StoreConfig {
    pub engine: EngineKind,
    pub dir: PathBuf,
    pub keys: StoreKeys,
    /// What the engine keeps of its pages in memory.
    pub cache_bytes: u64,
    /// Commits are refused while less than this is free on the disk.
    pub floor_bytes: u64,
    /// Batches that may wait before commits are refused as `Busy`.
    pub queue: usize,
    /// Read through every record at the start and compare with what was written. Of bits flipped in a log of several segments that sled
    /// has to recover, about one in six loses records or brings old ones back without a trace; only this finds them. Costs 1 to 2 s per
    /// million records.
    pub verify: bool,
    /// The same beside the work, after the start: what is not there is reported by `Health::damage`, in the log too.
    pub audit: bool,
    /// A backup ends when more of what is replaced meanwhile would have to be kept in memory for it.
    pub backup_kept_bytes: u64,
    /// A start makes sled's files anew when they are so many times as large as what is live in them. 0: never.
    pub compact_ratio: u32,
    /// Smaller files are left alone.
    pub compact_above_bytes: u64,
}

impl StoreConfig {
    /// On sled.
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

//! Salvage of the undamaged values of a store into a new one. It works on a copy of the files, because sled
//! changes the files it opens.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    path::Path,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use super::{
    chunks::version,
    faults::sled_error,
    log::open_log,
    repair::{self, Repaired},
    view::Log,
};
use crate::{
    Batch, CommitError, Direction, EmbeddedStore, EngineKind, FIRST_RESERVED, Key, KeyRange, LayoutProblem, Store,
    StoreConfig, StoreError, StoreKeys, Version,
    envelope::Envelope,
    guard::{guarded, quiet_panics},
    integrity, keys, layout,
    shared::StoreState,
    watermark::{self, WatermarkRecord},
};

/// Number and size of the values per commit of the new store.
const AT_ONCE: usize = 1_000;
const AT_ONCE_BYTES: usize = 4 << 20;
/// Read timeout: sled may loop on a damaged page.
const PATIENCE: Duration = Duration::from_secs(60);

/// The result for one key space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Salvaged {
    pub sound: u64,
    /// Keys with damaged values.
    pub lost: Vec<Key>,
    /// `true` if part of the key space was unreadable, including its keys.
    pub unreadable: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub spaces: BTreeMap<&'static str, Salvaged>,
    pub repaired: Repaired,
    /// The last commit group found, and the last one reported as durable.
    pub groups: (u64, u64),
    /// `true` if all values of the last group were found in their latest version.
    pub complete: bool,
}

impl Report {
    pub fn is_whole(&self) -> bool {
        self.complete && self.groups.0 >= self.groups.1
    }
}

/// Salvages the store in `from` into a new store in `to`, which must not exist. Creates and removes the
/// folder `scratch`.
pub async fn salvage(from: &Path, keys: &StoreKeys, to: &Path, scratch: &Path) -> Result<Report, StoreError> {
    quiet_panics();
    let _lock = lock(from)?;
    match layout::engine_of(from) {
        Ok(Some(found @ EngineKind::Fjall)) => {
            let problem = LayoutProblem::OtherEngine { found, wanted: EngineKind::Sled };
            return Err(StoreError::Layout { dir: from.display().to_string(), problem });
        }
        Err(other @ StoreError::Layout { problem: LayoutProblem::Old | LayoutProblem::New { .. }, .. }) => {
            return Err(other);
        }
        // An unreadable file `format` is part of the damage.
        Ok(_) | Err(_) => {}
    }
    let config = StoreConfig { cache_bytes: 64 << 20, floor_bytes: 0, ..StoreConfig::new(to, keys.clone()) };
    let mark = watermark::read_mark(&from.join("tide"));
    let RepairedCopy { repaired, log, last } = repaired_copy(from, scratch, &config, mark)?;
    let damaged = Arc::new(Damaged { envelope: Envelope::new(keys), log });
    let sound = EmbeddedStore::open(config)?;
    let mut copier = Copier { to: &sound, batch: Batch::new(), bytes: 0, found: WatermarkRecord::default() };
    let mut report = Report { repaired, groups: (last.map_or(0, |last| last.group), mark), ..Report::default() };
    for tag in 0..FIRST_RESERVED {
        let salvaged = copier.space(&damaged, tag).await?;
        if salvaged != Salvaged::default() {
            let of_space = report.spaces.entry(keys::space_name(&[tag])).or_default();
            of_space.sound += salvaged.sound;
            of_space.lost.extend(salvaged.lost);
            of_space.unreadable |= salvaged.unreadable;
        }
    }
    copier.flush().await?;
    report.complete = last.is_some_and(|last| copier.found.is_all_of(last).is_ok())
        && report.spaces.values().all(|space| space.lost.is_empty() && !space.unreadable);
    drop(sound);
    // sled's threads may still write to the copy, which is no longer needed. It is leaked to avoid waiting for
    // them.
    std::mem::forget(damaged);
    fs::remove_dir_all(scratch).map_err(StoreError::io(format!("removing {}", scratch.display())))?;
    Ok(report)
}

/// Locks the store against writers.
fn lock(from: &Path) -> Result<Option<File>, StoreError> {
    let Ok(lock) = File::open(from.join("lock")) else { return Ok(None) };
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(fs::TryLockError::WouldBlock) => Err(StoreError::Locked { dir: from.display().to_string() }),
        Err(fs::TryLockError::Error(error)) => Err(StoreError::io("locking the store")(error)),
    }
}

struct RepairedCopy {
    repaired: Repaired,
    log: Arc<Log>,
    /// The watermark record. Without it, the expected values are unknown.
    last: Option<WatermarkRecord>,
}

impl RepairedCopy {
    fn group(&self) -> u64 {
        self.last.map_or(0, |last| last.group)
    }
}

/// Opens the repaired copy of the log. Without snapshots, sled rebuilds the page table and recovers more of a
/// damaged log. If the log ends corrected with a segment, however, sled finds nothing without a snapshot. A
/// result that ends before the mark is therefore compared with an attempt that includes the snapshots.
fn repaired_copy(from: &Path, scratch: &Path, config: &StoreConfig, mark: u64) -> Result<RepairedCopy, StoreError> {
    let made_again = open_copy(from, &scratch.join("log"), false, config);
    if made_again.as_ref().is_ok_and(|copy| copy.last.is_some() && copy.group() >= mark) {
        return made_again;
    }
    let (worse, better) = match (made_again, open_copy(from, &scratch.join("log-and-table"), true, config)) {
        (Ok(made_again), Ok(with_table)) if with_table.group() > made_again.group() => (made_again, with_table),
        (Ok(made_again), Ok(with_table)) => (with_table, made_again),
        (Err(_), Ok(with_table)) => return Ok(with_table),
        (made_again, Err(_)) => return made_again,
    };
    // Leaked, because closing it would make sled write to it.
    std::mem::forget(worse);
    Ok(better)
}

fn open_copy(from: &Path, to: &Path, snapshots: bool, config: &StoreConfig) -> Result<RepairedCopy, StoreError> {
    copy(from, to, snapshots).map_err(StoreError::io(format!("copying {} to {}", from.display(), to.display())))?;
    let repaired = repair::repair(&to.join("db")).map_err(StoreError::io("repairing the copy of the log"))?;
    let log = Arc::new(open_log(to, config.cache_bytes)?);
    let last = integrity::read_record(&StoreState::new(log.clone(), Envelope::new(&config.keys)), "").ok().flatten();
    Ok(RepairedCopy { repaired, log, last })
}

fn copy(from: &Path, to: &Path, snapshots: bool) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_snapshot = name.to_string_lossy().starts_with("snap.");
        if name == "db" || name == "conf" || snapshots && is_snapshot {
            fs::copy(entry.path(), to.join(name))?;
        }
    }
    Ok(())
}

struct Copier<'a> {
    to: &'a EmbeddedStore,
    batch: Batch,
    bytes: usize,
    found: WatermarkRecord,
}

/// The damaged store, opened from its repaired copy.
struct Damaged {
    log: Arc<Log>,
    envelope: Envelope,
}

type SalvagedValue = (Key, Version, Result<Vec<u8>, StoreError>);

impl Copier<'_> {
    /// Reads a key space from its beginning, and the unread rest from its end, because an outdated page may look
    /// like the last one.
    async fn space(&mut self, damaged: &Arc<Damaged>, tag: u8) -> Result<Salvaged, StoreError> {
        let (mut salvaged, mut rest) = (Salvaged::default(), KeyRange::prefix(&[tag]));
        for direction in [Direction::Forward, Direction::Backward] {
            let pages = read(damaged.clone(), rest.clone(), direction)?;
            loop {
                match pages.recv_timeout(PATIENCE) {
                    Ok(Ok(page)) if page.is_empty() => break,
                    Ok(Ok(page)) => {
                        if let Some((last, ..)) = page.last() {
                            rest = rest.continued(direction, last);
                        }
                        self.page(page, &mut salvaged).await?;
                    }
                    Ok(Err(_)) | Err(_) => {
                        salvaged.unreadable = true;
                        break;
                    }
                }
            }
        }
        Ok(salvaged)
    }

    async fn page(&mut self, page: Vec<SalvagedValue>, salvaged: &mut Salvaged) -> Result<(), StoreError> {
        for (key, version, value) in page {
            match value {
                Ok(value) => {
                    self.found.replace(None, Some(version));
                    salvaged.sound += 1;
                    self.bytes += value.len();
                    self.batch.put(key, value);
                    if self.bytes >= AT_ONCE_BYTES || self.batch.writes().len() >= AT_ONCE {
                        self.flush().await?;
                    }
                }
                Err(_) => salvaged.lost.push(key),
            }
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), StoreError> {
        self.bytes = 0;
        match self.to.commit(std::mem::take(&mut self.batch)).await {
            Ok(()) => Ok(()),
            Err(CommitError::Store(error)) => Err(error),
            Err(other) => Err(StoreError::Unknown { why: other.to_string() }),
        }
    }
}

/// Returns the pages of a range; the last one is empty. Reads them on a thread, which may hang.
fn read(
    damaged: Arc<Damaged>,
    mut rest: KeyRange,
    direction: Direction,
) -> Result<mpsc::Receiver<Result<Vec<SalvagedValue>, StoreError>>, StoreError> {
    let (pages, received) = mpsc::sync_channel(2);
    let run = move || {
        loop {
            let state = damaged.log.state();
            let open = |key: Key, head: sled::IVec| {
                let value = state.whole(&key, &head).and_then(|sealed| damaged.envelope.open(&key, sealed));
                Ok((key, version(&head), value))
            };
            let page = guarded(|| Ok::<_, sled::Error>(state.walk(rest.clone(), direction, 200, open)));
            let page = page.unwrap_or_else(|error| Err(sled_error(&rest.start, error)));
            let last =
                page.as_ref().ok().and_then(|page: &Vec<SalvagedValue>| page.last()).map(|(key, ..)| key.clone());
            if pages.send(page).is_err() {
                return;
            }
            let Some(last) = last else { return };
            rest = rest.continued(direction, &last);
        }
    };
    thread::Builder::new().name("salvage".into()).spawn(run).map_err(StoreError::io("starting to read"))?;
    Ok(received)
}

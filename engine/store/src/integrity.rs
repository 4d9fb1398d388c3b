//! Whether everything that was written is there: the watermark is read at the start, and the values are added up, at the start (`verify`)
//! or beside the work (`start_audit`).

use std::{
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use super::{
    directory::Directory,
    disk::Disk,
    envelope::fingerprint,
    error::StoreError,
    range::{Direction, Key, KeyRange},
    shared::Shared,
    sled_guard::{guarded, sled_error},
    watermark::{WATERMARK_KEY, WatermarkRecord},
};

/// Values looked at while commits wait, and the pause after them: some 20,000 values a second, a fraction of what a disk reads.
const AT_ONCE: usize = 200;
const PAUSE: Duration = Duration::from_millis(10);
/// It stays an alarm: said again as often.
const SAID_EVERY: Duration = Duration::from_secs(3_600);

/// Reads the watermark record, or writes the first one of a new store. Never takes a store that lost something for a new one.
pub(super) fn last_group(
    shared: &Shared,
    directory: &Directory,
    disk: &dyn Disk,
    mark: u64,
) -> Result<WatermarkRecord, StoreError> {
    let Some(last) = read_record(shared).map_err(|error| match error {
        StoreError::WrongKey { .. } => StoreError::WrongKey { dir: directory.name() },
        other => other,
    })?
    else {
        if mark > 0 {
            return Err(StoreError::LostCommits { dir: directory.name(), found: 0, expected: mark });
        }
        if guarded(|| shared.db.first()).map_err(|error| sled_error(WATERMARK_KEY, error))?.is_some() {
            return Err(StoreError::damaged(
                WATERMARK_KEY,
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
pub(super) fn read_record(shared: &Shared) -> Result<Option<WatermarkRecord>, StoreError> {
    let Some(raw) = shared.read(WATERMARK_KEY)? else { return Ok(None) };
    let opened = shared.envelope.open(WATERMARK_KEY, &raw.head, &raw.pieces);
    let value = opened.map_err(|_| StoreError::WrongKey { dir: String::new() })?;
    let record = WatermarkRecord::parse(&value);
    let format = || StoreError::damaged(WATERMARK_KEY, "the store was written by a version with another format");
    record.map(Some).ok_or_else(format)
}

fn begin(shared: &Shared, disk: &dyn Disk) -> Result<WatermarkRecord, StoreError> {
    let first = WatermarkRecord::default();
    let sealed = first.seal(&shared.envelope)?;
    guarded(|| shared.db.insert(WATERMARK_KEY, sealed).and_then(|_| shared.db.flush()))
        .map_err(|error| sled_error(WATERMARK_KEY, error))?;
    disk.sync().map_err(StoreError::io("the first sync of the store"))?;
    Ok(first)
}

/// A damaged stretch of sled's log can take single records with it, or bring back older ones; each of them is sound by itself.
pub(super) fn verify(shared: &Shared, last: WatermarkRecord) -> Result<(), StoreError> {
    let mut found = WatermarkRecord::before_counting(last.group);
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

/// `Ok(true)`: there is more.
fn step(shared: &Shared) -> Result<bool, StoreError> {
    let mut guard = shared.audit.progress();
    let Some(progress) = &mut *guard else { return Ok(false) };
    let rest = KeyRange { start: progress.passed.clone(), ..KeyRange::prefix(&[]) };
    let look = |shared: &Shared, key: Key, head, hidden: &_| {
        let (key, raw) = shared.with_pieces(key, head, hidden)?;
        shared.envelope.open(&key, &raw.head, &raw.pieces)?;
        Ok((key, fingerprint(&raw.head)))
    };
    let page = shared.walk(rest, Direction::Forward, AT_ONCE, look)?;
    page.iter().for_each(|(_, print)| progress.found.replace(None, Some(*print)));
    if let Some((key, _)) = page.last() {
        progress.passed = [key.as_slice(), &[0]].concat();
        return Ok(true);
    }
    let done = guard.take();
    done.map_or(Ok(()), |progress| progress.found.is_all_of(progress.last)).map(|()| false)
}

/// Runs until everything has been looked at, or the store is closed.
pub(super) fn start_audit(shared: Arc<Shared>) -> Result<JoinHandle<()>, StoreError> {
    let run = move || {
        let found = loop {
            if shared.audit.stopped() {
                return;
            }
            match step(&shared) {
                Ok(true) => thread::sleep(PAUSE),
                Ok(false) => {
                    return tracing::info!("the store was looked through: everything that was written is there");
                }
                Err(error) => break error,
            }
        };
        shared.audit.progress().take();
        let damage = shared.damage.get_or_init(|| found.to_string());
        let mut said: Option<std::time::Instant> = None;
        while !shared.audit.stopped() {
            if said.is_none_or(|said| said.elapsed() >= SAID_EVERY) {
                tracing::error!(
                    damage,
                    "the store is damaged: restore it from a backup, or copy the intact values with `practice-sync store salvage`"
                );
                said = Some(std::time::Instant::now());
            }
            thread::sleep(Duration::from_millis(100));
        }
    };
    thread::Builder::new().name("store-audit".into()).spawn(run).map_err(StoreError::io("starting the store's audit"))
}

//! Detection of missing values. The watermark is read on opening. The versions of all values are added up on
//! opening (`verify`) or in the background (`start_audit`).

use std::{
    io,
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use super::{
    Direction, DirectoryLock, KeyRange, StoreError, Version,
    engine::{Outline, Writer},
    envelope::sealed_with,
    shared::StoreState,
    watermark::{WATERMARK_KEY, WatermarkRecord},
};

/// Number of values checked between pauses: about 20,000 values per second, a fraction of the disk's read
/// rate.
const AT_ONCE: usize = 200;
const PAUSE: Duration = Duration::from_millis(10);
/// Interval at which known damage is logged again.
const LOG_EVERY: Duration = Duration::from_secs(3_600);

/// Reads the watermark record, or writes the first one of a new store. A store that lost its record is never
/// treated as new.
pub(super) fn last_group(
    shared: &StoreState,
    writer: &mut dyn Writer,
    directory: &DirectoryLock,
    sync: impl FnOnce() -> io::Result<()>,
    mark: u64,
) -> Result<WatermarkRecord, StoreError> {
    let Some(last) = read_record(shared, &directory.name())? else {
        if mark > 0 {
            return Err(StoreError::LostCommits { dir: directory.name(), found: 0, expected: mark });
        }
        if !shared.medium.view().scan_keys(KeyRange::prefix(&[]), Direction::Forward, 1)?.is_empty() {
            return Err(StoreError::damaged(
                WATERMARK_KEY,
                "the directory contains another database, or its first record is lost",
            ));
        }
        return begin(shared, writer, sync);
    };
    if last.group < mark {
        return Err(StoreError::LostCommits { dir: directory.name(), found: last.group, expected: mark });
    }
    Ok(last)
}

/// Returns the record of the last group, or `None` for a new store.
pub(super) fn read_record(shared: &StoreState, dir: &str) -> Result<Option<WatermarkRecord>, StoreError> {
    let Some(sealed) = shared.medium.view().sealed(WATERMARK_KEY)? else { return Ok(None) };
    let id = sealed_with(&sealed);
    let opened = shared.envelope.open(WATERMARK_KEY, sealed);
    let value = opened.map_err(|_| StoreError::WrongKey { dir: dir.to_owned(), id, held: shared.envelope.held() })?;
    let record = WatermarkRecord::parse(&value);
    let format = || StoreError::damaged(WATERMARK_KEY, "the store was written by a version with another format");
    record.map(Some).ok_or_else(format)
}

fn begin(
    shared: &StoreState,
    writer: &mut dyn Writer,
    sync: impl FnOnce() -> io::Result<()>,
) -> Result<WatermarkRecord, StoreError> {
    let first = WatermarkRecord::default();
    let sealed = first.seal(&shared.envelope)?;
    writer.fresh(WATERMARK_KEY);
    writer.apply(&[(WATERMARK_KEY, Some(&sealed))]).map_err(|why| StoreError::Unknown { why })?;
    sync().map_err(StoreError::io("the first sync of the store"))?;
    writer.show();
    Ok(first)
}

/// Checks that the versions of all values match the watermark record, and returns the size of all values.
/// Damage to a log can remove single records or restore older ones, each of which is valid by itself.
pub(super) fn verify(shared: &StoreState, last: WatermarkRecord) -> Result<u64, StoreError> {
    let mut bytes = 0;
    let mut found = WatermarkRecord::before_counting(last.group);
    let mut rest = KeyRange::prefix(&[]);
    let view = shared.medium.view();
    loop {
        let page = view.outlines(rest.clone(), 10_000)?;
        for Outline { version, bytes: its, .. } in &page {
            found.replace(None, Some(*version));
            bytes += its;
        }
        match page.last() {
            Some(Outline { key, .. }) => rest = rest.after(key),
            None => break,
        }
    }
    found.is_all_of(last).map(|()| bytes)
}

/// The result of a step: the size of the values of a page, or the total number of values after the last page.
enum IntegrityStep {
    Bytes(u64),
    Through { values: u64 },
}

fn step(shared: &StoreState) -> Result<IntegrityStep, StoreError> {
    let Some((rest, view)) = shared.audit.next_page(|| shared.medium.view()) else {
        return Ok(IntegrityStep::Through { values: 0 });
    };
    let mut bytes = 0;
    let mut page = Vec::with_capacity(AT_ONCE);
    for (key, sealed) in view.scan(rest, Direction::Forward, AT_ONCE)? {
        page.push((key.clone(), Version::from_sealed(&sealed)));
        bytes += (key.len() + sealed.len()) as u64;
        shared.envelope.open(&key, sealed)?;
    }
    match shared.audit.add(&page) {
        Some(sums) => sums.found.is_all_of(sums.last).map(|()| IntegrityStep::Through { values: sums.last.values() }),
        None => Ok(IntegrityStep::Bytes(bytes)),
    }
}

/// Checks all values in a background thread, until the end or until the store is closed. `whole` receives the
/// number and size of the values if none is missing.
pub(super) fn start_audit(
    shared: Arc<StoreState>,
    whole: impl FnOnce(u64, u64) + Send + 'static,
) -> Result<JoinHandle<()>, StoreError> {
    let run = move || {
        let mut all = 0;
        let found = loop {
            if shared.audit.stopped() {
                return;
            }
            match step(&shared) {
                Ok(IntegrityStep::Bytes(bytes)) => {
                    all += bytes;
                    thread::sleep(PAUSE);
                }
                Ok(IntegrityStep::Through { values }) => {
                    whole(values, all);
                    return tracing::info!("the integrity check of the store is complete: no value is missing");
                }
                Err(error) => break error,
            }
        };
        shared.audit.end();
        let damage = shared.damage.get_or_init(|| found);
        let mut logged_at: Option<Instant> = None;
        while !shared.audit.stopped() {
            if logged_at.is_none_or(|logged_at| logged_at.elapsed() >= LOG_EVERY) {
                tracing::error!(
                    %damage,
                    "the store is damaged and refuses writes: stop the server, copy its data directory now, and give the copy to \
                     `practice-sync store salvage`; or restore a backup"
                );
                logged_at = Some(Instant::now());
            }
            thread::sleep(Duration::from_millis(100));
        }
    };
    thread::Builder::new().name("store-audit".into()).spawn(run).map_err(StoreError::io("starting the store's audit"))
}

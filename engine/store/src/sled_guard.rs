//! Calls into sled: its panics become errors, and its errors ours.

use std::{
    cell::Cell,
    fmt::Display,
    panic::{self, AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Once,
    thread,
    time::{Duration, Instant},
};

use super::{error::StoreError, watermark::WATERMARK_KEY};

pub(super) fn open_sled(dir: &Path, cache_bytes: u64) -> Result<sled::Db, StoreError> {
    let sled = sled::Config::new()
        .path(dir)
        .cache_capacity(cache_bytes)
        .mode(sled::Mode::HighThroughput)
        .use_compression(false)
        .flush_every_ms(None);
    // sled's threads may hold its files a moment longer than the store that was closed here just before.
    let patience = Instant::now() + Duration::from_secs(2);
    loop {
        match guarded(|| sled.open()) {
            Ok(db) => return Ok(db),
            Err(error) if error.to_string().contains("could not acquire lock") => {
                if Instant::now() > patience {
                    return Err(StoreError::Locked { dir: dir.display().to_string() });
                }
                thread::sleep(Duration::from_millis(10));
            }
            Err(error) => return Err(sled_error(WATERMARK_KEY, error)),
        }
    }
}

thread_local! {
    /// This thread is inside sled, and a panic there becomes an error.
    static INSIDE_SLED: Cell<bool> = const { Cell::new(false) };
}

/// Whoever starts on a damaged log is told so in one sentence, not by a backtrace. Other panics are shown as before.
pub(super) fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let shown = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            let own = thread::current().name().is_some_and(|name| name.starts_with("sled-"));
            match (INSIDE_SLED.get(), own) {
                (true, _) => {}
                (false, true) => tracing::error!(location = ?panic.location(), "sled panicked on its own thread"),
                (false, false) => shown(panic),
            }
        }));
    });
}

/// sled panics on some kinds of damage: an error like any other here.
pub(super) fn guarded<T, E: Into<SledFault>>(work: impl FnOnce() -> Result<T, E>) -> Result<T, SledFault> {
    let outside = INSIDE_SLED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    INSIDE_SLED.set(outside);
    match done {
        Ok(done) => done.map_err(Into::into),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
            Err(SledFault::Panicked(text.unwrap_or_else(|| "no message".into())))
        }
    }
}

pub(super) enum SledFault {
    Sled(sled::Error),
    Panicked(String),
}

impl From<sled::Error> for SledFault {
    fn from(error: sled::Error) -> Self {
        Self::Sled(error)
    }
}

impl Display for SledFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sled(error) => error.fmt(f),
            Self::Panicked(text) => write!(f, "sled panicked: {text}"),
        }
    }
}

pub(super) fn sled_error(key: &[u8], error: SledFault) -> StoreError {
    match error {
        SledFault::Sled(sled::Error::Io(source)) => StoreError::io("sled")(source),
        other => StoreError::damaged(key, other.to_string()),
    }
}

//! Conversion of panics in an engine to errors.

use std::{
    cell::Cell,
    fmt,
    panic::{self, AssertUnwindSafe, catch_unwind},
    sync::Once,
    thread,
};

thread_local! {
    /// `true` while this thread is inside an engine call, in which a panic becomes an error.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Name prefixes of threads created by engines.
const OF_ENGINES: [&str; 2] = ["sled-", "fjall:worker"];

/// Replaces the panic hook, so that a damaged log is reported by one error message instead of a backtrace.
/// Other panics are shown as before.
pub(super) fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let shown = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            let own = thread::current().name().is_some_and(|name| OF_ENGINES.iter().any(|of| name.starts_with(of)));
            match (INSIDE.get(), own) {
                (true, _) => {}
                (false, true) => {
                    tracing::error!(location = ?panic.location(), "the store's engine panicked on its own thread")
                }
                (false, false) => shown(panic),
            }
        }));
    });
}

/// Runs a call into an engine and returns a panic as an error, because engines panic on some kinds of damage.
pub(super) fn guarded<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<T, GuardError<E>> {
    let outside = INSIDE.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    INSIDE.set(outside);
    match done {
        Ok(done) => done.map_err(GuardError::Failed),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
            Err(GuardError::Panicked(text.unwrap_or_else(|| "no message".into())))
        }
    }
}

pub(super) enum GuardError<E> {
    Failed(E),
    Panicked(String),
}

impl<E: fmt::Display> fmt::Display for GuardError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(f),
            Self::Panicked(text) => write!(f, "the engine panicked: {text}"),
        }
    }
}

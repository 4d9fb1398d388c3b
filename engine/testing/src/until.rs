//! Waiting for a condition.

use std::{
    fmt::Debug,
    thread,
    time::{Duration, Instant},
};

/// Time limit of a wait. A condition that holds at all takes far less, even on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(120);
const CHECK_EVERY: Duration = Duration::from_millis(10);

/// The result of one check: `bool`, `Option`, or a `Result` whose error describes the state for the panic message.
pub trait Check {
    type Found;

    fn found(self) -> Result<Self::Found, String>;
}

impl Check for bool {
    type Found = ();

    fn found(self) -> Result<(), String> {
        if self { Ok(()) } else { Err(String::new()) }
    }
}

impl<T> Check for Option<T> {
    type Found = T;

    fn found(self) -> Result<T, String> {
        self.ok_or_else(String::new)
    }
}

impl<T, E: Debug> Check for Result<T, E> {
    type Found = T;

    fn found(self) -> Result<T, String> {
        self.map_err(|state| format!(": {state:#?}"))
    }
}

/// Checks repeatedly until the condition holds, and returns the result of the last check.
///
/// # Panics
///
/// If the condition does not hold within [`PATIENCE`].
pub async fn until<C: Check>(what: &str, mut check: impl AsyncFnMut() -> C) -> C::Found {
    let since = Instant::now();
    loop {
        match check().await.found() {
            Ok(found) => return found,
            Err(state) => assert!(since.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}{state}"),
        }
        tokio::time::sleep(CHECK_EVERY).await;
    }
}

/// Does the same as [`until`], for code that is not async.
pub fn until_blocking<C: Check>(what: &str, mut check: impl FnMut() -> C) -> C::Found {
    let since = Instant::now();
    loop {
        match check().found() {
            Ok(found) => return found,
            Err(state) => assert!(since.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}{state}"),
        }
        thread::sleep(CHECK_EVERY);
    }
}

//! Waiting for a condition.

use std::{
    fmt::Debug,
    thread,
    time::{Duration, Instant},
};

/// Time limit of a wait. A condition that holds at all takes far less, even on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// The shortest and the longest pause between two checks. A check may call a server in another process.
const PAUSES: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(40)];

/// The result of one check: `bool`, `Option`, or a `Result` whose error describes the state for the panic message.
pub trait Check {
    type Found;

    /// Returns the found value, or a function that describes the state.
    fn found(self) -> Result<Self::Found, impl FnOnce() -> String>;
}

impl Check for bool {
    type Found = ();

    fn found(self) -> Result<(), impl FnOnce() -> String> {
        if self { Ok(()) } else { Err(String::new) }
    }
}

impl<T> Check for Option<T> {
    type Found = T;

    fn found(self) -> Result<T, impl FnOnce() -> String> {
        self.ok_or(String::new)
    }
}

impl<T, E: Debug> Check for Result<T, E> {
    type Found = T;

    fn found(self) -> Result<T, impl FnOnce() -> String> {
        self.map_err(|state| move || format!(": {state:#?}"))
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
            Err(state) => assert!(since.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}{}", state()),
        }
        tokio::time::sleep(pause(since)).await;
    }
}

/// Does the same as [`until`], for code that is not async.
pub fn until_blocking<C: Check>(what: &str, mut check: impl FnMut() -> C) -> C::Found {
    let since = Instant::now();
    loop {
        match check().found() {
            Ok(found) => return found,
            Err(state) => assert!(since.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}{}", state()),
        }
        thread::sleep(pause(since));
    }
}

/// Returns a twentieth of the waited time, within limits.
fn pause(since: Instant) -> Duration {
    (since.elapsed() / 20).clamp(PAUSES[0], PAUSES[1])
}

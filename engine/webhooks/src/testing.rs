//! Waiting for a condition in tests.

use std::time::Duration;

/// Looks again and again, for at most ten seconds of real time.
pub(crate) async fn eventually<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    for _ in 0..2_000 {
        if let Some(found) = look() {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("never came to: {what}");
}

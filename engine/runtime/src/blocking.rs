//! Work on blocking threads.

use std::{future::pending, panic::resume_unwind};

/// Runs work on a blocking thread. Its panics resume in the caller.
pub async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(ended) => match ended.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime shuts down, and the caller with it.
            Err(_) => pending().await,
        },
    }
}

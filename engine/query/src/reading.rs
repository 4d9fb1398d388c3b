//! Reads on blocking threads.

use std::sync::Arc;

use store::{Store, StoreError};

/// Runs a read on a blocking thread, so that it does not block the async runtime.
pub(crate) async fn reading<T: Send + 'static>(
    store: &Arc<dyn Store>,
    read: impl FnOnce(&dyn Store) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let store = store.clone();
    match tokio::task::spawn_blocking(move || read(&*store)).await {
        Ok(answer) => answer,
        Err(ended) => match ended.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down, so no caller waits for the result.
            Err(_) => Err(StoreError::Busy),
        },
    }
}

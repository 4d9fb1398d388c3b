//! Reads beside the requests.

use std::sync::Arc;

use store::{Store, StoreError};

/// Reads on a thread that may wait, so that nothing else stands still meanwhile.
pub(crate) async fn reading<T: Send + 'static>(
    store: &Arc<dyn Store>,
    read: impl FnOnce(&dyn Store) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let store = store.clone();
    match tokio::task::spawn_blocking(move || read(&*store)).await {
        Ok(answer) => answer,
        Err(ended) => match ended.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime ends: nobody waits for the answer.
            Err(_) => Err(StoreError::Busy),
        },
    }
}

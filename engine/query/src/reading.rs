//! Reads on blocking threads.

use std::sync::Arc;

use runtime::run_blocking;
use store::{Store, StoreError};

/// Runs a read on a blocking thread, so that it does not block the async runtime.
pub(crate) async fn reading<T: Send + 'static>(
    store: &Arc<dyn Store>,
    read: impl FnOnce(&dyn Store) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let store = store.clone();
    run_blocking(move || read(&*store)).await
}

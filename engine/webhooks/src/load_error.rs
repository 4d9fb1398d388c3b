//! Errors of loading the webhook state at the start.

use store::StoreError;

/// A webhook record could not be read at the start.
#[derive(Debug, thiserror::Error)]
pub enum WebhookLoadError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("a webhook endpoint or subscription in the store cannot be read: {0}")]
    Record(#[from] serde_json::Error),
}

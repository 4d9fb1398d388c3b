//! Operations of the API on the store's keys, on threads that may wait for a disk.

use store::{KeyId, StoreError};

use crate::{Engine, KeyError, KeysNow};

impl Engine {
    /// Adds a key to the store, which seals new values from now on.
    pub async fn rotate_store_key(&self) -> Result<KeysNow, KeyError> {
        let rotation = self.rotation.clone();
        waited(move || rotation.rotate().and_then(|_| rotation.now())).await
    }

    /// Drops a key, after a check that no value and no backup in the folder needs it.
    pub async fn drop_store_key(&self, id: KeyId) -> Result<KeysNow, KeyError> {
        let rotation = self.rotation.clone();
        waited(move || rotation.drop_key(id).and_then(|()| rotation.now())).await
    }

    pub async fn store_keys(&self) -> Result<KeysNow, KeyError> {
        let rotation = self.rotation.clone();
        waited(move || rotation.now()).await
    }

    /// Returns the number of values not sealed with the newest key, once they are counted.
    pub fn values_to_reseal(&self) -> Option<u64> {
        self.rotation.remaining()
    }
}

async fn waited<T: Send + 'static>(work: impl FnOnce() -> Result<T, KeyError> + Send + 'static) -> Result<T, KeyError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| StoreError::Unknown { why: error.to_string() })?
}

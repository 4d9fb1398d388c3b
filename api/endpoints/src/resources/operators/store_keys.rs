//! GET, POST and DELETE /store/keys: the keys that encrypt the store, for operators (our addition).

use engine::{KeysNow, store::KeyId};

use framework::access::arguments::StoreKeyName;

use crate::prelude::*;

/// The keys that seal the values of the server's store.
#[derive(Serialize, JsonSchema)]
pub struct StoreKeysView {
    /// Keys in `store.key`, newest first.
    keys: Vec<StoreKeyView>,
    /// Number of values that are not sealed with the newest key yet; null while they are counted, at the beginning and
    /// at the end.
    values_left: Option<u64>,
    /// Reason why values are not being sealed with the newest key; null if there is no problem.
    failed: Option<String>,
}

/// A key of the store. The key itself is never shown.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StoreKeyView {
    /// Id of the key. Each value that the key seals contains this id.
    id: String,
    /// `true` if the key seals new values; the other keys only open values that they sealed.
    seals: bool,
}

impl From<KeysNow> for StoreKeysView {
    fn from(KeysNow { keys, left, failed }: KeysNow) -> StoreKeysView {
        let newest = keys.last().copied();
        let view = |id: KeyId| StoreKeyView { id: id.to_string(), seals: Some(id) == newest };
        StoreKeysView { keys: keys.into_iter().rev().map(view).collect(), values_left: left, failed }
    }
}

pub async fn list(call: ApiCall, Anywhere(()): Anywhere<()>) -> Answer<One<StoreKeysView>> {
    Ok(call.show(StoreKeysView::from(call.api.engine.store_keys().await?)))
}

pub async fn rotate(call: ApiCall, Anywhere(()): Anywhere<()>) -> Answer<One<StoreKeysView>> {
    let keys = call.api.engine.rotate_store_key().await?;
    call.audit_action("rotate store key", "store");
    tracing::info!(key = %call.key.name, "new store key requested");
    Ok(call.show(StoreKeysView::from(keys)))
}

pub async fn forget(call: ApiCall, StoreKeyName(id): StoreKeyName) -> Answer<One<StoreKeysView>> {
    let id: KeyId = id.parse().map_err(|_| ApiError::not_found("Key of the store"))?;
    let keys = call.api.engine.drop_store_key(id).await?;
    call.audit_action("drop store key", "store");
    tracing::info!(key = %call.key.name, dropped = %id, "store key removed on request");
    Ok(call.show(StoreKeysView::from(keys)))
}

//! Periodic storage of the last use of operator tokens, which keeps it across restarts without a write per call.

use std::{sync::Weak, time::Duration};

use super::api::Api;

/// Interval between writes, the longest period that a crash loses.
const EVERY: Duration = Duration::from_secs(60);

/// Runs until the service ends.
pub async fn run(api: Weak<Api>) {
    while let Some(api) = api.upgrade() {
        note(&api).await;
        drop(api);
        tokio::time::sleep(EVERY).await;
    }
}

pub async fn note(api: &Api) {
    let operators = api.operators();
    let used: Vec<_> = operators.all().filter_map(|operator| Some((operator, operator.unstored_use()?))).collect();
    if used.is_empty() {
        return;
    }
    let uses: Vec<_> = used.iter().map(|(operator, at)| (operator.hash, *at)).collect();
    match api.engine.note_token_uses(&uses).await {
        Ok(()) => used.iter().for_each(|(operator, at)| operator.mark_stored(*at)),
        Err(error) => tracing::warn!(%error, "the last uses of operator tokens could not be stored"),
    }
}

//! Waiting for what happens by itself.

use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Looks until `check` finds something; fails the test when it does not within 30 s.
pub async fn until<T>(what: &str, mut check: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(found) = check().await {
                return found;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    match tokio::time::timeout(LIMIT, looking).await {
        Ok(found) => found,
        Err(_) => panic!("{what} did not happen within {LIMIT:?}"),
    }
}

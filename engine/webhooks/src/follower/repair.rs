//! Repair of the numbers of changes in a store that has lost values.

use std::collections::BTreeSet;

use query::feed;
use store::{
    Batch, CommitError, Direction, Store,
    keys::{self, Space},
};

use super::position::Position;
use crate::model::Subscription;

/// Numbers that are skipped if values were lost: more than were given after the highest number that is left. Clients
/// that read the feed may know them.
const SKIPPED: u64 = 10_000_000;

/// Makes the numbers of changes continue above all numbers in the store. Otherwise, keys of changes would collide, and
/// followers would pass over the changes. If values were lost, an institution without a position is followed from the
/// end: its changes of thirty days may be sent already. The store must have no other writer. It must be opened again,
/// because it reads its last number when it is opened.
pub async fn repair_numbers(store: &dyn Store, is_whole: bool) -> Result<(), CommitError> {
    let (mut end, mut subscribed) = (feed::highest(store)?, BTreeSet::new());
    for (_, value) in store.scan(Space::Subscription.range(), Direction::Forward, usize::MAX)? {
        // A start reports values that cannot be decoded.
        let Ok(subscription) = serde_json::from_slice::<Subscription>(&value) else { continue };
        end = end.max(subscription.starts_after);
        subscribed.insert(subscription.institution_id);
    }
    for (_, value) in store.scan(Space::WebhookPosition.range(), Direction::Forward, usize::MAX)? {
        end = end.max(serde_json::from_slice::<Position>(&value).map_or(0, |position| position.after));
    }
    let mut batch = Batch::new();
    if !is_whole {
        end = end.saturating_add(SKIPPED);
        for institution in subscribed {
            if Position::read(store, institution)?.1.is_none() {
                Position { after: end, ..Position::default() }.put(institution, None, &mut batch);
            }
        }
    }
    if end > store.feed_end(None)? {
        batch.put(keys::feed_end(), end.to_be_bytes().to_vec());
    }
    store.commit(batch).await
}

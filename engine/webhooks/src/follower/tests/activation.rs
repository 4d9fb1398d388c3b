//! Endpoints that their owner switches off and on.

use super::*;
use crate::{model::EndpointId, registry::SubscriptionChange};

/// Creates a registry with one endpoint, switches the endpoint off, and writes a change.
async fn changed_while_inactive(store: &Arc<MemoryStore>, log: &LogWriter) -> (Arc<EndpointRegistry>, EndpointId) {
    subscribe(store.clone()).await;
    let (registry, owner) = (registry(store.clone()), Owner("org".into()));
    let endpoint = registry.endpoints(&owner)[0].id;
    registry.update_endpoint(&owner, endpoint, None, Some(false), T0).await.unwrap();
    log.write(1, &[Write::new(Resource::Charges, 1, ChangeKind::Created)]);
    (registry, endpoint)
}

/// Follows all changes, and one more, in a process without a stored position. Returns the records of the messages.
fn records_sent_by_a_new_process(store: &Arc<MemoryStore>, log: &LogWriter) -> Vec<RecordId> {
    let follower = start(store.clone(), &setup_of(1), Sizes::default());
    follow(&follower, store);
    log.write(1, &[Write::new(Resource::Charges, 2, ChangeKind::Created)]);
    follow(&follower, store);
    sent(store).into_keys().collect()
}

#[tokio::test]
async fn activated_endpoint_is_not_sent_changes_of_the_inactive_time() {
    let store = Arc::new(MemoryStore::new());
    let log = LogWriter::new(store.clone());
    let (registry, endpoint) = changed_while_inactive(&store, &log).await;
    registry.update_endpoint(&Owner("org".into()), endpoint, None, Some(true), T0).await.unwrap();
    assert_eq!(records_sent_by_a_new_process(&store, &log), [(Resource::Charges, 2)]);
}

#[tokio::test]
async fn subscription_moved_from_an_inactive_endpoint_is_sent_later_changes_only() {
    let store = Arc::new(MemoryStore::new());
    let log = LogWriter::new(store.clone());
    let (registry, inactive) = changed_while_inactive(&store, &log).await;
    let (owner, secret) = (Owner("org".into()), SecretKey::from_entropy([8; 32]));
    let active = registry.create_endpoint(&owner, "https://hooks.example.com/other", true, secret, None, T0).await;
    let active = active.unwrap().record.id;
    for subscription in registry.subscriptions_of(&owner, inactive).unwrap() {
        let moved = (inactive, subscription.id);
        let change = SubscriptionChange { new_endpoint: Some(active), ..SubscriptionChange::default() };
        registry.update_subscription(&owner, moved, change, T0).await.unwrap();
    }
    assert_eq!(records_sent_by_a_new_process(&store, &log), [(Resource::Charges, 2)]);
}

//! A store of the version that sent messages in the commit of a change.

use records::schema::rules;
use testing::{Counter, HookedStore, earlier_change};

use super::*;
use crate::{
    keys,
    model::{EndpointId, SubscriptionId},
};

/// Stores an endpoint and its subscriptions as the earlier version did, without the number at which they begin.
fn subscribe_earlier(store: &MemoryStore) {
    let (at, secret_key) = (T0.minus(1), SecretKey::from_entropy([9; 32]));
    let endpoint = json!({
        "id": 1, "owner": "org", "target_url": "https://hooks.example.com/in", "secret_key": secret_key,
        "active": true, "created_at": at, "updated_at": at, "failing_since": null,
    });
    let mut batch = Batch::new();
    batch.put(keys::endpoint(EndpointId(1)), endpoint.to_string().into_bytes());
    for (id, event) in [(1, "charge_created"), (2, "charge_updated"), (3, "charge_deleted"), (4, "patient_created")] {
        let subscription = json!({
            "id": id, "webhook_endpoint_id": 1, "institution_id": 1, "event": event, "active": true,
            "api_version": "v3.0.0", "created_at": at, "updated_at": at,
        });
        batch.put(keys::subscription(EndpointId(1), SubscriptionId(id)), subscription.to_string().into_bytes());
    }
    store.commit_now(batch).unwrap();
}

/// Stream, resource and readers of earlier changes.
const EARLIER: [(Stream, Resource, &[u8]); 4] = [
    (Stream::Institution(1), Resource::Patients, &[0, 1]),
    (Stream::Source(1), Resource::Charges, &[0, 1]),
    (Stream::Location(1), Resource::WorkingHours, &[1, 1]),
    (Stream::Source(1), Resource::Charges, &[2]),
];

/// Appends changes of all kinds to the streams of all kinds.
fn append_earlier(store: &MemoryStore, values: usize) {
    let mut batch = Batch::new();
    for number in 0..values {
        let (stream, resource, readers) = EARLIER[number % EARLIER.len()];
        let change = |id, change| earlier_change(rules(resource).tag, id, change, readers, [&[], &[]]);
        batch.append_many(stream.number(), 4, [change(7, 0), change(7, 1), change(8, 0), change(8, 2)].concat());
    }
    store.commit_now(batch).unwrap();
}

#[tokio::test]
async fn changes_before_the_upgrade_are_not_sent_again_and_later_ones_are_all_sent() {
    let (store, setup) = (Arc::new(MemoryStore::new()), setup_of(2));
    subscribe_earlier(&store);
    append_earlier(&store, 400);
    let (mut batch, charge) = (Batch::new(), record_at(7, 0));
    batch.put(Stream::Source(SOURCE).record_key(Resource::Charges, 7), charge.to_string().into_bytes());
    store.commit_now(batch).unwrap();
    let log = LogWriter::new(store.clone());
    let charge = |id, change| Write::new(Resource::Charges, id, change);
    // The first change is committed before the follower looks for the first time.
    log.write(2, &[charge(7, ChangeKind::Updated), Write::new(Resource::Patients, 9, ChangeKind::Created)]);
    // A node with the earlier version sends its messages itself.
    append_earlier(&store, 8);
    let follower = start(store.clone(), &setup, Sizes::default());
    follow(&follower, &store);
    assert_eq!(sent(&store), log.expected());
    log.write(1, &[charge(7, ChangeKind::Deleted), charge(10, ChangeKind::Created)]);
    follow(&start(store.clone(), &setup, Sizes::default()), &store);
    assert_eq!(sent(&store), log.expected());
}

#[tokio::test]
async fn changes_before_the_upgrade_are_read_once() {
    for values in [100, 3_000] {
        let (store, setup) = (Arc::new(MemoryStore::new()), setup_of(1));
        subscribe_earlier(&store);
        append_earlier(&store, values);
        let scans = Arc::new(Counter::default());
        let counted = scans.clone();
        let hooked: Arc<dyn Store> = Arc::new(HookedStore::over(store.clone()).before_read(move |key| {
            counted.add(usize::from(key.first() == Some(&(Space::Feed as u8))));
            Ok(())
        }));
        let follower = start(hooked.clone(), &setup, Sizes::default());
        follow(&follower, &store);
        let first = scans.get();
        assert!(first > 0);
        follow(&follower, &store);
        assert_eq!(scans.get(), first, "{values} values: the process remembers what it has passed");
        follow(&start(hooked, &setup, Sizes::default()), &store);
        // Few changes are not worth a commit of the position.
        assert_eq!(scans.get() > first, values == 100, "{values} values: the position is stored");
        assert_eq!(deliveries(&store).len(), 0);
    }
}

//! Deliveries of an earlier version. Each is stored in a value with all fields, apart from the data of its event. Each
//! ended delivery has its own entry.

use location::time::{DAY, HOUR, SECOND};
use testing::{Answer, Receiver};

use super::*;
use crate::{delivery_id::nth_of, delivery_log::DeliveryLog};

/// The data of all events.
const DATA: &[u8] = br#"{"appointment":{"id":42}}"#;

impl World {
    /// Stores an event with a delivery to each endpoint, in the given state. Returns the id of the first delivery.
    async fn enqueued_earlier(&self, endpoints: &[EndpointId], state: State) -> Uuid {
        let first = self.registry.subscriptions().delivery_ids.next(T0, Uuid::new_v4());
        let backlogs = &self.registry.subscriptions().backlogs;
        let (mut batch, mut count) = (Batch::new(), backlogs.change());
        batch.put(keys::event(first), DATA.to_vec());
        for (number, endpoint) in endpoints.iter().enumerate() {
            let id = nth_of(first, number);
            let subscription = self.registry.subscriptions_of(&owner(), *endpoint).unwrap()[0].id;
            let delivery = json!({
                "id": id, "endpoint_id": endpoint, "subscription_id": subscription, "institution_id": SMILE,
                "subdomain": "smile", "location_id": null, "resource_type": "Appointment",
                "event_name": "appointment_insertion.complete", "event_time": T0, "record": "appointment 42",
                "attempts": 0, "attempted_at": null, "delivery_errors": [], "first_attempt_at": null, "state": state,
            });
            batch.put(keys::earlier_delivery(id), delivery.to_string().into_bytes());
            batch.put(keys::logged(*endpoint, id), Vec::new());
            match state {
                State::Pending { next_attempt_at } => {
                    count.add(*endpoint, 1);
                    batch.put(keys::due(*endpoint, next_attempt_at, id), b"appointment 42".to_vec());
                }
                _ => drop(batch.put(keys::finished(T0, id), endpoint.0.to_be_bytes().to_vec())),
            }
        }
        count.put(&mut batch);
        self.store.commit(batch).await.unwrap();
        backlogs.changed(&count);
        first
    }

    fn earlier(&self, endpoint: EndpointId, id: Uuid) -> Delivery {
        Delivery::read(&*self.store, endpoint, id).unwrap().unwrap()
    }
}

const PENDING: State = State::Pending { next_attempt_at: T0 };

#[tokio::test]
async fn a_delivery_of_an_earlier_version_is_retried_shown_redelivered_and_pruned() {
    let receiver = Receiver::start(|n| Answer::Status(if n == 0 { 500 } else { 200 })).await;
    let world = World::new();
    let endpoint = world.subscribed(&receiver.url()).await;
    let id = world.enqueued_earlier(&[endpoint], PENDING).await;
    let world = World::on(world.store.clone(), world.clock.clone()).sending();
    until("the failure", async || (world.earlier(endpoint, id).attempts == 1).then_some(())).await;
    let retry = T0.plus(30 * SECOND);
    assert_eq!(world.earlier(endpoint, id).state, State::Pending { next_attempt_at: retry });
    world.set_clock(retry);
    let delivered = State::Delivered { at: retry, status: 200 };
    until("its delivery", async || (world.earlier(endpoint, id).state == delivered).then_some(())).await;
    let messages = receiver.received();
    assert!(messages.iter().all(|message| message.headers["delivery-id"] == id.to_string()));
    assert_eq!(messages[1].json()["data"], serde_json::from_slice::<serde_json::Value>(DATA).unwrap());
    assert_eq!(messages[1].json()["delivery_errors"][0]["code"], "500");
    until("nothing waits", async || (world.waiting(endpoint) == 0 && world.due() == 0).then_some(())).await;

    world.inserted(SMILE).await;
    world.wait_until_delivered(1).await;
    let log =
        DeliveryLog { store: world.store.clone(), registry: world.registry.clone(), outbox: world.outbox.clone() };
    let shown = log.page(endpoint, None, Direction::Backward, 10).unwrap();
    assert_eq!((shown.len(), shown[1].id, shown[1].attempts), (2, id, 2));
    assert!(shown[0].id > id, "ids continue above those of the earlier version");
    let forward = log.page(endpoint, Some(id), Direction::Forward, 10).unwrap();
    assert_eq!(forward.iter().map(|it| it.id).collect::<Vec<_>>(), [shown[0].id]);

    world.set_clock(T0.plus(HOUR));
    log.redeliver(&owner(), endpoint, id, world.clock.now()).await.unwrap();
    receiver.wait_for(4).await;
    until("it is recorded", async || (world.earlier(endpoint, id).attempts == 3).then_some(())).await;
    world.forget();
    until("nothing left", async || (world.values_of_deliveries() == 0).then_some(())).await;
}

#[tokio::test]
async fn data_of_an_earlier_version_is_pruned_with_its_last_delivery() {
    let receiver = Receiver::start(|_| Answer::Status(200)).await;
    let world = World::new();
    let endpoints = [world.subscribed(&receiver.url()).await, world.subscribed(&receiver.url()).await];
    let id = world.enqueued_earlier(&endpoints, State::Delivered { at: T0, status: 200 }).await;
    world.clock.set(T0.plus(2 * DAY));
    let log =
        DeliveryLog { store: world.store.clone(), registry: world.registry.clone(), outbox: world.outbox.clone() };
    log.redeliver(&owner(), endpoints[1], nth_of(id, 1), world.clock.now()).await.unwrap();
    let world = World::on(world.store.clone(), world.clock.clone()).sending();
    receiver.wait_for(1).await;
    until("its outcome", async || (world.due() == 0).then_some(())).await;
    world.set_clock(T0.plus(WebhookRules::default().keep + 2 * limits::PRUNE_EVERY));
    let other = || Delivery::read(&*world.store, endpoints[0], id).unwrap();
    until("the other is gone", async || other().is_none().then_some(())).await;
    assert_eq!(world.earlier(endpoints[1], nth_of(id, 1)).attempts, 1);
    assert_eq!(world.store.get(&keys::event(id)).unwrap().unwrap(), DATA);
    world.set_clock(T0.plus(2 * DAY + WebhookRules::default().keep + 2 * limits::PRUNE_EVERY));
    until("nothing left", async || (world.values_of_deliveries() == 0).then_some(())).await;
}

/// A message without its data can never be sent: it fails, reports it, and is pruned.
#[tokio::test]
async fn a_delivery_of_an_earlier_version_without_data_fails() {
    let receiver = Receiver::start(|_| Answer::Status(200)).await;
    let world = World::new();
    let endpoint = world.subscribed(&receiver.url()).await;
    let id = world.enqueued_earlier(&[endpoint], PENDING).await;
    let mut batch = Batch::new();
    batch.delete(keys::event(id));
    world.store.commit(batch).await.unwrap();
    let world = World::on(world.store.clone(), world.clock.clone()).sending();
    until("the end", async || (world.earlier(endpoint, id).state == State::Failed { at: T0 }).then_some(())).await;
    until("nothing waits", async || (world.waiting(endpoint) == 0 && world.due() == 0).then_some(())).await;
    assert!(receiver.received().is_empty());
    assert_eq!(world.registry.endpoint(&owner(), endpoint).unwrap().failing_since, None, "not the endpoint's fault");
    world.forget();
    until("nothing left", async || (world.values_of_deliveries() == 0).then_some(())).await;
}

//! A webhook subscriber that verifies every message and expects one message per change.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::client::{Client, text};
use crate::harness::webhook_receiver::WebhookReceiver;
use testing::{PATIENCE, until};

const EVENTS: [(&str, &str); 5] = [
    ("Appointment", "appointment_insertion"),
    ("Appointment", "appointment_created"),
    ("Appointment", "appointment_updated"),
    ("Patient", "patient_created"),
    ("Patient", "patient_updated"),
];

/// A record in a message: kind and id.
pub type RecordKey = (&'static str, u64);

pub struct Subscriber {
    receiver: WebhookReceiver,
    endpoint: u64,
    secret: String,
    /// Number of verified messages.
    verified: usize,
    /// Messages by delivery and record, so that a repeated message counts once.
    events_by_key: BTreeMap<(String, RecordKey), ReceivedEvent>,
    expected: BTreeMap<RecordKey, Vec<String>>,
}

#[derive(Clone, Debug, PartialEq)]
struct ReceivedEvent {
    event: String,
    shape: Value,
    /// Previous values of changed attributes.
    previous: Value,
}

impl Subscriber {
    pub async fn begin(client: &mut Client) -> Subscriber {
        let receiver = WebhookReceiver::start().expect("loopback has a free port");
        let made = client.post("/webhook_endpoints", &json!({"target_url": receiver.url})).await["data"].clone();
        let endpoint = made["id"].as_u64().expect("an id");
        for (kind, event) in EVENTS {
            let path = format!("/webhook_endpoints/{endpoint}/webhook_subscriptions");
            client.post(&path, &json!({"resource_type": kind, "event": event})).await;
        }
        let secret = text(&made["secret_key"]);
        Subscriber {
            receiver,
            endpoint,
            secret,
            verified: 0,
            events_by_key: BTreeMap::new(),
            expected: BTreeMap::new(),
        }
    }

    /// Reads the new messages.
    fn listen(&mut self) {
        for message in self.receiver.messages().into_iter().skip(self.verified) {
            self.verified += 1;
            assert!(message.is_signed_with(&self.secret), "{message:?}");
            let body: Value = serde_json::from_slice(&message.body).expect("a message is JSON");
            let event = text(&body["event_name"]);
            for (record, shape) in records(&body["data"]) {
                let previous = body["data"]["previous_attributes"].clone();
                let received = ReceivedEvent { event: event.clone(), shape, previous };
                let key = (message.headers["delivery-id"].clone(), record);
                let before = self.events_by_key.insert(key, received.clone());
                assert!(before.is_none_or(|before| before == received), "one delivery, and two messages");
            }
        }
    }

    fn events(&self, record: RecordKey) -> Vec<String> {
        let mut events: Vec<_> = self
            .events_by_key
            .iter()
            .filter(|((_, of), _)| *of == record)
            .map(|(_, received)| received.event.clone())
            .collect();
        events.sort();
        events
    }

    /// Describes the messages of a record, for error messages.
    fn story_of(&self, record: RecordKey) -> String {
        let of = self.events_by_key.iter().filter(|((_, of), _)| *of == record);
        let mut received: Vec<String> = of
            .map(|((id, _), received)| {
                format!("{} {} {} {}", received.shape["updated_at"], received.event, received.previous, id)
            })
            .collect();
        received.sort();
        received.join("\n")
    }

    /// Returns the records with messages.
    pub fn known(&self) -> Vec<RecordKey> {
        self.expected.keys().copied().collect()
    }

    /// Waits for these events of a record in addition to the earlier ones, and accepts no others.
    pub async fn expect_events(&mut self, kind: &'static str, id: u64, events: &[&str]) {
        let record = (kind, id);
        let expected = self.expected.entry(record).or_default();
        expected.extend(events.iter().map(|event| (*event).to_owned()));
        expected.sort();
        let expected = expected.clone();
        let since = Instant::now();
        loop {
            self.listen();
            let seen = self.events(record);
            if seen == expected {
                return;
            }
            let hope = seen.len() < expected.len() && since.elapsed() < PATIENCE;
            assert!(hope, "{record:?}: {seen:?} were received, {expected:?} expected\n{}", self.story_of(record));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Checks that everything was delivered, and that no change had an unexpected or second message.
    pub async fn expect_no_other_events(&mut self, client: &mut Client) {
        let path = format!("/webhook_endpoints/{}/deliveries?status=pending", self.endpoint);
        until("every delivery", async || client.get(&path).await.as_array().filter(|all| all.is_empty()).map(drop))
            .await;
        self.listen();
        let records: BTreeSet<RecordKey> = self.events_by_key.keys().map(|(_, record)| *record).collect();
        for record in records {
            let expected = self.expected.get(&record).cloned().unwrap_or_default();
            assert_eq!(self.events(record), expected, "{record:?}\n{}", self.story_of(record));
        }
    }
}

/// Returns the records in the data of a message.
fn records(data: &Value) -> Vec<(RecordKey, Value)> {
    let mut records = Vec::new();
    for (kind, many) in [("appointment", "appointments"), ("patient", "patients")] {
        let several = data[many].as_array().cloned().unwrap_or_default();
        let one = data.get(kind).cloned();
        for shape in several.into_iter().chain(one) {
            records.push(((kind, shape["id"].as_u64().expect("an id")), shape));
        }
    }
    assert!(!records.is_empty(), "a message about nothing: {data}");
    records
}

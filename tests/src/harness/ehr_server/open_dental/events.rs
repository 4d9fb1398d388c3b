//! API events: a workstation polls the database, and sends the changed rows of a watched table to the subscriber. UI
//! events are not supported.

use std::{
    sync::Weak,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{
    database::{Database, number},
    rules::text,
    table::OpenDentalRow,
};

/// Pause between two looks at the subscriptions.
const PAUSE: Duration = Duration::from_millis(100);
const LIMIT: Duration = Duration::from_secs(15);

/// An event to be sent.
struct TableEvent {
    subscription: u64,
    endpoint: String,
    customer_key: String,
    workstation: String,
    watched: String,
    rows: Value,
    /// The office's time at which the rows were read.
    polled: String,
}

/// Sends the events of all subscriptions, until the server ends.
pub async fn send(database: Weak<Mutex<Database>>) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().timeout(LIMIT).build().expect("a client");
    loop {
        let Some(held) = database.upgrade() else { return };
        // A test on this thread may hold the lock.
        let events = held.try_lock().map(|mut database| database.due_events()).unwrap_or_default();
        drop(held);
        for event in events {
            let is_sent = event.send(&client).await;
            // An event that was not accepted is sent again, with the rows that changed since.
            let held = database.upgrade().filter(|_| is_sent);
            if let Some(mut database) = held.as_ref().and_then(|held| held.try_lock()) {
                let start = json!({"DateTimeStart": event.polled});
                database.change("subscriptions", event.subscription, start);
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

impl TableEvent {
    /// Returns `true` if the subscriber accepts the event.
    async fn send(&self, client: &reqwest::Client) -> bool {
        let request = client
            .post(&self.endpoint)
            .header("authorization", &self.customer_key)
            .header("workstation", &self.workstation)
            .header("event-type", format!("WatchTable: {}", self.watched))
            .header("content-type", "application/json")
            .body(self.rows.to_string());
        request.send().await.is_ok_and(|answer| answer.status().is_success())
    }
}

impl Database {
    /// Returns the customer's key, without the developer's.
    pub(super) fn customer_key(&self) -> &str {
        self.keys.split_once('/').map_or("", |(_, customer)| customer)
    }

    fn due_events(&mut self) -> Vec<TableEvent> {
        let now = Instant::now();
        let subscriptions: Vec<OpenDentalRow> = self.rows("subscriptions").cloned().collect();
        subscriptions.iter().filter_map(|subscription| self.due_event(subscription, now)).collect()
    }

    /// Polls the table of a subscription if it is time. Returns `None` if no row has changed.
    fn due_event(&mut self, subscription: &OpenDentalRow, now: Instant) -> Option<TableEvent> {
        let key = number(&subscription["SubscriptionNum"])?;
        let pause = Duration::from_secs(number(&subscription["PollingSeconds"])?);
        if self.polled.get(&key).is_some_and(|last| now.duration_since(*last) < pause) {
            return None;
        }
        self.polled.insert(key, now);
        let (watched, since) = (text(subscription, "WatchTable"), text(subscription, "DateTimeStart"));
        let table = self.table(polled_table(&watched)?);
        let stamp = table.stamp?;
        let changed = self.rows(table.path).filter(|row| text(row, stamp) >= since);
        let rows: Vec<Value> = changed.map(|row| self.show(table, row)).collect();
        (!rows.is_empty()).then(|| TableEvent {
            subscription: key,
            endpoint: text(subscription, "EndPointUrl"),
            customer_key: text(subscription, "CustomerKey"),
            workstation: text(subscription, "Workstation"),
            watched,
            rows: rows.into(),
            polled: self.now(),
        })
    }
}

/// Returns the path of a watched table. Returns `None` for tables that have no events here: the fake keeps no deleted
/// rows, and some tables have no modification times.
fn polled_table(watched: &str) -> Option<&'static str> {
    match watched {
        "Appointment" => Some("appointments"),
        "Patient" => Some("patients"),
        "Schedule" => Some("schedules"),
        _ => None,
    }
}

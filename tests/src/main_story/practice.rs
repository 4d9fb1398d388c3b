//! The setting of the main story.

use std::{collections::BTreeSet, future::Future, net::SocketAddr};

use chrono::{DateTime, NaiveDate, Utc};

use crate::harness::process::ServedEhr;

/// The story's location.
pub const LOCATION: u32 = 7;
/// Calls in flight when the product is killed have an unknown outcome once their deadline has passed.
pub const RULES: &str = r#"
[defaults.write]
call_deadline = "6s"
backoff_base = "100ms"
backoff_cap = "1s"
settle = "100ms"
breaker_threshold = 100
breaker_pause = "1s"
breaker_pause_cap = "1s"
[defaults.pull]
every = "1h"
retry_base = "100ms"
retry_cap = "1s"
confirm_after = "1s"
[defaults.quota]
per_minute = 100000
burst = 10000
"#;

/// A practice with its EHR as used by its own staff: through the EHR's API and never through the product.
pub trait StoryPractice {
    /// Returns the EHR's address.
    fn address(&self) -> SocketAddr;

    /// Returns the product's configuration for the EHR at this address.
    fn served(&self, at: SocketAddr) -> ServedEhr;

    /// Returns the first day with bookable times.
    fn first_day(&self) -> NaiveDate;

    fn patients(&self) -> impl Future<Output = BTreeSet<Person>>;

    /// Returns the patients' appointments from the first day on, including past and cancelled ones, without other
    /// calendar entries.
    fn visits(&self) -> impl Future<Output = Vec<StoryVisit>>;

    /// Returns the entries of a patient's communication log.
    fn log(&self, patient: &str) -> impl Future<Output = Vec<String>>;

    /// Creates a patient and returns their id.
    fn admit(&self, first_name: &str, last_name: &str) -> impl Future<Output = String>;

    /// Books half an hour with the same provider and at the same place as an appointment, and returns the id.
    fn book_next_to(&self, visit: &str, patient: &str, start: DateTime<Utc>) -> impl Future<Output = String>;

    fn move_visit(&self, visit: &str, start: DateTime<Utc>) -> impl Future<Output = ()>;

    fn cancel_visit(&self, visit: &str) -> impl Future<Output = ()>;
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Person {
    pub id: String,
    pub last_name: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoryVisit {
    pub id: String,
    pub patient: String,
    pub start: DateTime<Utc>,
    pub confirmed: bool,
    pub cancelled: bool,
}

//! Where the story is told.

use std::{collections::BTreeSet, future::Future, net::SocketAddr};

use chrono::{DateTime, NaiveDate, Utc};

use crate::harness::process::ServedEhr;

/// The location all of it happens at.
pub const LOCATION: u32 = 7;

/// A practice with its health record system, as its own staff have it: by the system's own API, never through the product.
pub trait Practice {
    /// Where the system listens.
    fn address(&self) -> SocketAddr;

    /// What the product's configuration says of it, when it is reached at this address.
    fn served(&self, at: SocketAddr) -> ServedEhr;

    /// The first day with times that can be booked.
    fn first_day(&self) -> NaiveDate;

    fn patients(&self) -> impl Future<Output = BTreeSet<Person>>;

    /// What patients have, or had, from the first day on; nothing else that stands in the calendar.
    fn visits(&self) -> impl Future<Output = Vec<Visit>>;

    /// The entries of a patient's communication log.
    fn log(&self, patient: &str) -> impl Future<Output = Vec<String>>;

    /// A new patient; their id.
    fn admit(&self, first_name: &str, last_name: &str) -> impl Future<Output = String>;

    /// Half an hour at this time with whoever has that visit, where they have it; its id.
    fn book_beside(&self, visit: &str, patient: &str, start: DateTime<Utc>) -> impl Future<Output = String>;

    fn move_visit(&self, visit: &str, start: DateTime<Utc>) -> impl Future<Output = ()>;

    fn cancel_visit(&self, visit: &str) -> impl Future<Output = ()>;
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Person {
    pub id: String,
    pub last_name: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    pub id: String,
    pub patient: String,
    pub start: DateTime<Utc>,
    pub confirmed: bool,
    pub cancelled: bool,
}

//! Webhooks: events of committed changes become signed messages that are sent until they are received.
//!
//! ```text
//! a commit ──► outbox ──► deliveries (in the same batch) ──► dispatcher ──► attempt ──► egress ──► https
//!                │                                               ▲             │
//!         subscriptions ◄── registry ◄── the owner's calls    endpoint_queues  ▼
//!       backlog, counts                                                     schedule: retry, or given up
//!                             delivery_log ◄── outcomes: what became of each delivery, many in one commit
//! ```
//!
//! Dispatcher, attempts and outcomes run on threads of their own: locations and clients wait for none of them.
//! `catalogue` lists the events, `payload` builds a message's `data` from the views the API hands in (`views`), `sign` signs it;
//! `keys` says where all of it lies in the store.

#![warn(unreachable_pub)]

mod address;
pub mod attempt;
mod backlog;
pub mod catalogue;
mod clock_set_back;
mod counts;
pub mod delivery;
pub mod delivery_id;
pub mod delivery_log;
pub mod dispatcher;
pub mod egress;
mod endpoint_queues;
mod keys;
pub mod limits;
pub mod load_error;
pub mod model;
pub mod outbox;
mod outcomes;
pub mod payload;
pub mod registry;
pub mod schedule;
mod shown;
pub mod sign;
pub mod subscriptions;
pub mod views;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

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
//!
//! Several processes may share the store, the nodes of a cluster; `placement` says which endpoints are this one's. One that is alone has all,
//! and nothing of what follows costs it anything.
//!
//! - An endpoint is sent to by one node at a time: nothing begins for one that is not here, and what is under way ends before its node says
//!   that it has let go. A node that loses touch with the others begins nothing more; an attempt it had begun may still be under way, for as
//!   long as attempts take, when the endpoint is sent to by another. Once a second a node looks for what others left for its endpoints.
//! - Endpoints and subscriptions are on every node as the store has them: `shared` counts changes, and `decided` makes a commit conflict
//!   that was decided by subscriptions of before.
//! - Each node counts what waits in stripes of its own (`counts`), and once a second sees what the others count: a queue may exceed its limit
//!   by what comes within a second. So may the number of events told of as left out fall short, where two nodes left some out.
//! - Ids of deliveries go on above those of the node that had a record before, and a new message is not due before those that wait. Clocks
//!   may be apart by `limits::MOST_CLOCKS_APART` for that, and what is sent is late by as much at most.
//! - Finished deliveries are forgotten by one node.
//!
//! `catalogue` lists the events, `payload` builds a message's `data` from the views the API hands in (`views`), `sign` signs it;
//! `keys` says where all of it lies in the store.

#![warn(unreachable_pub)]

mod address;
pub mod attempt;
mod backlog;
pub mod catalogue;
mod clock_set_back;
mod counts;
mod decided;
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
pub mod moves;
pub mod outbox;
mod outcomes;
pub mod payload;
pub mod placement;
pub mod registry;
pub mod schedule;
mod shared;
mod shown;
pub mod sign;
pub mod subscriptions;
mod upkeep;
pub mod views;

#[cfg(test)]
mod tests;

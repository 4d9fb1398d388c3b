//! Webhooks: events of committed changes become signed messages that are sent until they are received.
//!
//! ```text
//! log of changes ──► follower ──► outbox ──► doorbell ──► dispatcher ──► attempt ──► egress ──► https
//!                                   │                         ▲             │
//!         subscriptions ◄───────────┘                      endpoint_queues  ▼
//!       backlog, counts ◄── registry ◄── the owner's calls               schedule: retry, or given up
//!                             delivery_log ◄── outcomes: results of attempts, in group commits
//! ```
//!
//! The follower reads committed changes and enqueues their messages. A message is durable after its change, never lost,
//! and sent at least once. The log has the records before the changes only while the institution has subscriptions
//! (`Subscriptions::without_images`). Dispatcher, attempts and outcomes run on separate threads: locations and clients
//! wait for none of them.
//!
//! Several processes, the nodes of a cluster, may share the store. `placement` assigns endpoints to nodes. A single
//! process has all endpoints, and none of the following costs it anything.
//!
//! - One node at a time sends to an endpoint. A node begins no attempt for an endpoint of another node, and releases an
//!   endpoint only after its attempts in flight have ended. A node that loses contact with the others begins no attempt
//!   either. An attempt it began before may overlap with those of the new node, for at most the duration of an attempt.
//!   Once a second a node looks for deliveries that others left for its endpoints.
//! - The node that hosts an institution follows its changes. The version of its position makes the batch of any other
//!   follower conflict.
//! - Every node holds all endpoints and subscriptions in memory. `shared` counts their changes, and `Outbox::begin`
//!   makes a commit conflict that was based on outdated subscriptions.
//! - Each node counts waiting deliveries in its own stripes (`counts`) and reads those of the others once a second. So
//!   a queue may exceed its limit by the events of a second. The reported overflow may be too low if two nodes dropped
//!   events.
//! - Delivery ids are higher than those of the node that followed an institution before. First attempts are in the
//!   order of ids, so a new message follows the waiting ones.
//! - One node prunes finished deliveries.
//!
//! An event is stored once, with its recipients and its data (`event`). A delivery is an entry in the queue of its
//! endpoint. Its first attempt replaces the entry by the state in the log of the endpoint, and retries change the state
//! (`delivery`). So a message that is delivered at once costs a share of its event and two small values.
//!
//! New deliveries and their events reach the dispatcher of the same process in memory, within limits (`doorbell`,
//! `event_cache`). The store is read after a start, for longer queues, and for retries. On a remote store, all
//! deliveries are read from it, because of other nodes and of commits with an unknown outcome. Events are in memory.
//!
//! `catalogue` lists the events, `payload` builds the `data` of a message from the views of the API (`views`), and
//! `sign` signs it. `keys` defines the keys in the store.

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
pub mod doorbell;
pub mod egress;
mod endpoint_queues;
pub mod event;
mod event_cache;
pub mod follower;
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
pub mod sign;
pub mod subscriptions;
mod target;
mod upkeep;
pub mod views;

#[cfg(test)]
mod tests;

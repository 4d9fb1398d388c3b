//! Webhooks: events of committed changes become signed messages that are sent until they are received.
//! An actor puts deliveries into its own batch (`outbox`), the `dispatcher` sends what the due index holds, `registry` keeps who
//! gets what.

pub mod address;
pub mod attempt;
pub mod backlog;
pub mod catalogue;
pub mod delivery;
pub mod dispatcher;
pub mod egress;
mod keys;
mod lanes;
pub mod limits;
pub mod log;
pub mod model;
pub mod outbox;
pub mod payload;
pub mod registry;
pub mod schedule;
mod set_back;
pub mod shapes;
pub mod sign;
pub mod subscriptions;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

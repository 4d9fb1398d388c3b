//! Webhooks: events of committed changes become signed messages that are sent until they are received.
pub mod address;
pub mod catalogue;
pub mod egress;
pub mod limits;
pub mod schedule;
pub mod sign;

#[cfg(test)]
mod testing;

//! Records as the API shows them: one view for each, made from the record. No handlers, no calls, no errors. Doc comments of fields are
//! their descriptions in the API's documentation. What a handler adds on demand (`include[]`) is a public field that is absent until set.
//!
//! ```text
//!  parts ◄── people, catalogue, clinical, history, hours, ... ◄── patients, ledger, appointments ◄── published
//!  (money, state of a write, dates)                                     (any record for the feed and for webhooks)
//! ```

pub mod appointments;
pub mod catalogue;
pub mod clinical;
pub mod documents;
pub mod forms;
pub mod gate;
pub mod history;
pub mod hours;
pub mod insurance;
pub mod ledger;
pub mod locations;
pub mod operatories;
pub mod parts;
pub mod patients;
pub mod people;
pub mod published;
pub mod sync_status;
pub mod talk;
#[cfg(test)]
mod tests;

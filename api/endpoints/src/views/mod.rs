//! Records as the API shows them, one view per record. No handlers, calls or errors. Doc comments of fields are their
//! descriptions in the API's documentation. Data added on demand (`include[]`) is a public field that is absent until
//! set.
//!
//! ```text
//!  parts ◄── field, render ◄── v2, people, catalogue, ... ◄── patients, ledger, appointments ◄── record_views
//!  money,    fields; views                                                         any record for the feed and for
//!  dates     and includes                                                          webhooks
//! ```

pub mod appointments;
pub mod catalogue;
pub mod clinical;
pub mod communications;
pub mod documents;
pub mod field;
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
pub mod record_views;
pub mod render;
pub mod sync_status;
#[cfg(test)]
mod tests;
pub mod v2;

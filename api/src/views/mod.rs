//! Records as the API shows them, one view per record. No handlers, calls or errors. Doc comments of fields are their
//! descriptions in the API's documentation. Data added on demand (`include[]`) is a public field that is absent until
//! set.
//!
//! ```text
//!  parts ◄── field, render ◄── v2, people, catalogue, ... ◄── patients, ledger, appointments ◄── record_views
//!  money,    fields; views                                                         any record for the feed and for
//!  dates     and includes                                                          webhooks
//! ```

pub(crate) mod appointments;
pub(crate) mod catalogue;
pub(crate) mod clinical;
pub(crate) mod communications;
pub(crate) mod documents;
pub(crate) mod field;
pub(crate) mod forms;
pub(crate) mod gate;
pub(crate) mod history;
pub(crate) mod hours;
pub(crate) mod insurance;
pub(crate) mod ledger;
pub(crate) mod locations;
pub(crate) mod operatories;
pub(crate) mod parts;
pub(crate) mod patients;
pub(crate) mod people;
pub mod record_views;
pub(crate) mod render;
pub(crate) mod sync_status;
#[cfg(test)]
mod tests;
pub(crate) mod v2;

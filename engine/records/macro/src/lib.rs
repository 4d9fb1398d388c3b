//! `#[record(..)]` above the body of a record: generates its form in the EHR and everything else that depends on its
//! fields, so that a field is declared once.
//!
//! ```text
//! #[record(resource = Payments, tag = 46, id = u64, scope = Source, contract = "payment", name = "Payment")]
//!     resource, tag, id, scope   the resource, its byte in keys, the type of its ids, the owner of its records
//!     contract, name             the record's name in the contract, and in messages
//!     list = "fees"              the name of the list of records; without it, the resource in snake case
//!     writes(Create = "..")      supported operations, with the names of the writes in the contract
//!     found_with = function      adds index terms of the body
//!     named_with = function      returns the index terms of names, which a search by name checks on each record
//!     deleted_with = function    marks a record that the EHR has deleted
//!     local_extra                `extra` values of the EHR are not stored; local ones are sent to the EHR
//! #[record(..)] above a field
//!     refers(patient = Patients) our id of a record: the field of the EHR's form with the foreign id, and the resource
//!     omit_missing               with `refers`: left out of a write until the EHR has the record
//!     part                       a part of the record, or a list of parts
//!     local                      not part of the EHR's record
//!     in_extra                   an optional text that the contract has no field for: adapters exchange it as the
//!                                `extra` value of the field's name
//!     limit = Long               the `Limit` on a value of the EHR; without one, a short text
//!     find = Patient             the index field of the value
//!     find(charge_id = Charge)   with `part`: the index field of a value in each part of the list
//!     change                     clients change the field: part of `PatientChange`
//!     in_use                     flag: other records may refer to the record
//!     deleted                    flag set by a deletion in the EHR, instead of the frame's `deleted_at`, because other
//!                                records still refer to the record
//! #[record_part(contract = "split")] above a part of a record, whose fields may have `refers` and `limit`
//! #[record_form(of = Appointment, ..)] above the EHR's form of a record whose body and conversions are handwritten
//!     of                         the body; the other arguments are those of `record` up to `writes`
//!     refers = Patients          above a field: the foreign id of a record of the resource
//! ```
//!
//! A body also has `extra`, and a form in the EHR `id` and `extra`. Fields are stored in the order of the declaration.
//! Each attribute also defines a hidden macro with the name of the body. It passes the fields in the contract to
//! another macro, as `Payment EhrPayment { id(Id) patient(Id) description(Long) .. }`: the type in the contract, the
//! form in the EHR, and the `Limit` of each field.
//!
//! The errors are tested in `records` (`schema/tests/declarations.rs`).

mod arguments;
mod expand;

use proc_macro::TokenStream;

/// Generates the form in the EHR and the conversions of a record. The module documentation describes the arguments.
#[proc_macro_attribute]
pub fn record(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::record(arguments.into(), item.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Generates the form in the EHR and the conversions of a part of records.
#[proc_macro_attribute]
pub fn record_part(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::part(arguments.into(), item.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Completes the form in the EHR of a record with a handwritten body.
#[proc_macro_attribute]
pub fn record_form(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::form(arguments.into(), item.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}

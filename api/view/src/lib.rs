//! `#[view(of = Payment)]` above a struct of the API: generates its constructor from a record of the engine, its
//! `RecordView` with the records of `include[]`, and the documentation of the fields that many views share.
//!
//! ```text
//! #[view(of = Payment, named = "payment", args(kind: Option<&'a Record<PaymentType>>))]
//!     of      body of the record; the constructor is `from_record(entry: &Record<Payment>, ..)`
//!     named   the record in the documentation of `id`
//!     args    further arguments of the constructor, for `with`
//!     includes(claim, patient)
//!             the fields with related records, in the order of the documentation; by default that of the struct
//!     published
//!             the view of the record in the feed of changes and in webhook messages: implements `Published`
//!     render  an expression for the view, with `entry` and `reader`; by default a call of the constructor
//! #[view(..)] above a field, which otherwise has the value of the record's field of the same name
//!     from = field   the value of another field of the record
//!     with = expr    an expression with `entry`, the arguments, and `adapter`
//!     active         `true` if the record is in use and not deleted
//!     include        `None`, and absent from the response until a handler sets it; implied by the type `Included`
//!     include(claim_id)
//!                    a related record, which `include[]` requests by the name of the field: `claim_id` is the field of
//!                    the record with its id, and the field has the type `Included<ClaimView<'a>>`
//!     include = expr the same, with an expression for the view from `entry` and `related`
//!     none           `None`; implied by the type `Option<()>`
//! ```
//!
//! Values are converted by `ViewField`. A view with `foreign_id_type` takes the name of the adapter as its last
//! argument. A field without documentation has that of `documentation::for_field`; one that is unknown there is an
//! error. A view with other `args` than `adapter`, and without `render`, has no `RecordView`: its caller passes the
//! arguments to the constructor.

mod documentation;
mod expand;
mod record_view;

use proc_macro::TokenStream;

/// Generates the constructor of a view. The module documentation describes the arguments.
#[proc_macro_attribute]
pub fn view(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::view(arguments.into(), item.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}

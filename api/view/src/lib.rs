//! `#[view(of = Payment)]` above a struct of the API: generates its constructor from a record of the engine, its
//! `RecordView` with the records of `include[]`, the documentation of the fields that many views share, and `Serialize`
//! and `JsonSchema`.
//!
//! ```text
//! #[view(of = Payment, named = "payment", args(kind: Option<&'a Record<PaymentType>>))]
//!     of      body of the record; the constructor is `from_record(entry: &Record<Payment>, ..)`
//!     value   another type, instead of `of`; the constructor is `from_value(entry: &LocationSetup, ..)`. With neither,
//!             a handler builds the view
//!     named   the record in the documentation of `id`, `name` and `active`
//!     only    the API version that has the fields
//!     args    further arguments of the constructor, for `with`
//!     includes(claim, patient)
//!             the fields with related records, in the order of the documentation; by default that of the struct
//!     published
//!             the view of the record in the feed of changes and in webhook messages: implements `Published`
//!     render  an expression for the view, with `entry` and `reader`; by default a call of the constructor
//! #[view(..)] above a field, which otherwise has the value of the record's field of the same name
//!     from = field   the value of another field of the record
//!     with = expr    an expression with `entry`, the arguments, and `adapter`
//!     flatten = expr the same, for a view whose fields become those of this one
//!     active         `true` if the record is in use and not deleted
//!     include        `None`, and absent from the response until a handler sets it; implied by the types `Included` and
//!                    `IncludedList`
//!     include(claim_id)
//!                    a related record, which `include[]` requests by the name of the field: `claim_id` is the field of
//!                    the record with its id, and the field has the type `Included<ClaimView<'a>>`. Implied for a
//!                    field without documentation, with `_id` after its name
//!     include = expr the same, with an expression for the view from `entry` and `related`
//!     none           `None`; implied by the type `Option<()>`
//! ```
//!
//! The fields of a `WriteState` become those of the view. An `Omittable` is absent from the response if it is `None`.
//! Values are converted by `ViewField`. A view with `foreign_id_type` takes the name of the adapter as its last
//! argument. A field without documentation has that of `documentation::for_field`; one that is unknown there is an
//! error. A field with `YYYY-MM-DD` in its documentation has the format of a date. A view with other `args` than
//! `adapter`, and without `render`, has no `RecordView`: its caller passes the arguments to the constructor.
//!
//! `#[input]` above a struct declares the query parameters and body fields of an endpoint: it generates `FromInput`,
//! from which reading, the documents and the names of the body follow.
//!
//! ```text
//! #[input(object("patient", "The patient."), check = NewPatient::check)]
//!     object("path", "description")     an object around the fields, which must exist
//!     container("path", "description")  the same, if only its fields may be required
//!     alias = "name"  another name of the object, not documented
//!     builds = Type   the fields are those of this type, and the struct becomes a tuple struct around it
//!     rest = expr     the other fields of that type
//!     changes = Type  the fields are optional; `apply_to` sets those that are given in a value of this type
//!     check           called with the struct and `&mut Input`, for rules about several fields
//!     unknown         the error for a record that the body names and that does not exist
//! #[body(kind, ..)], #[query(kind, ..)] above a field, whose doc comment documents it
//!     name = "path"   the whole path; by default the name of the field, inside the object if there is only one
//!     default = json  the documented default
//!     or = expr       the value of a missing field, not documented
//!     required        a list with at least one value; with `Option`, `None` after a reported problem
//!     nonempty        an empty text is missing
//!     not_null        null is refused
//!     cleared         null is the empty text
//!     single          the kind reads the whole `Vec`
//! #[read(expr)]       an expression with `input`; by default the field is an input itself
//! ```
//!
//! The type decides the rest: `T` is required, `Option<T>` optional, and null clears `Option<Option<T>>`. `Vec<T>` is a
//! list, and `Option<Vec<T>>` a list that may be missing. Fields are read in their order. A kind is built once, unless
//! it mentions `input`.

mod documentation;
mod expand;
mod input;
mod record_view;

use proc_macro::TokenStream;

/// Generates the constructor of a view. The module documentation describes the arguments.
#[proc_macro_attribute]
pub fn view(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::view(arguments.into(), item.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Declares the input of an endpoint. The module documentation describes the arguments.
#[proc_macro_attribute]
pub fn input(arguments: TokenStream, item: TokenStream) -> TokenStream {
    input::input(arguments.into(), item.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}

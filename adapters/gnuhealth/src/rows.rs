//! Rows of the EHR. The fields to request are derived from the struct that is read. Fields of a referenced record are
//! nested under its name followed by a dot.

use crate::values::{Date, DateTime, Decimal, Flag};

pub trait RequestedFields {
    /// Adds the fields to request. A value is one field with its path; a record adds its own fields.
    fn add_fields(path: &str, into: &mut Vec<String>) {
        into.push(path.to_owned());
    }
}

impl RequestedFields for i64 {}
impl RequestedFields for String {}
impl RequestedFields for Flag {}
impl RequestedFields for Date {}
impl RequestedFields for DateTime {}
impl RequestedFields for Decimal {}

impl<T: RequestedFields> RequestedFields for Option<T> {
    fn add_fields(path: &str, into: &mut Vec<String>) {
        T::add_fields(path, into);
    }
}

impl<T: RequestedFields> RequestedFields for Vec<T> {
    fn add_fields(path: &str, into: &mut Vec<String>) {
        T::add_fields(path, into);
    }
}

pub fn fields<T: RequestedFields>() -> Vec<String> {
    let mut fields = Vec::new();
    T::add_fields("", &mut fields);
    fields
}

/// Defines structs of rows. Fields in brackets are not requested. A literal before a field is its name in the EHR, if
/// different.
macro_rules! rows {
    ($(
        $(#[$doc:meta])*
        $row:ident $([$($(#[$option:meta])* $unasked:ident: $kind:ty),*])? {
            $($(#[$attribute:meta])* $($name:literal)? $field:ident: $type:ty,)*
        }
    )*) => { $(
        $(#[$doc])*
        #[derive(Debug, Default, Deserialize)]
        pub struct $row {
            $($($(#[$option])* pub $unasked: $kind,)*)?
            $(#[serde(default $(, rename = $name)?)] $(#[$attribute])* pub $field: $type,)*
        }

        impl RequestedFields for $row {
            fn add_fields(path: &str, into: &mut Vec<String>) {
                $(<$type>::add_fields(&format!("{path}{}", rows!(@name $field $($name)?)), into);)*
            }
        }
    )* };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
}

pub(crate) use rows;

//! Rows of the EHR. The fields to request are derived from the struct that is read. Fields of a referenced record are
//! nested under its name followed by a dot.

use crate::values::{Date, DateTime, Decimal, Flag};

pub trait Asked {
    /// Adds the fields to request. A value is one field with its path; a record adds its own fields.
    fn ask(path: &str, into: &mut Vec<String>) {
        into.push(path.to_owned());
    }
}

impl Asked for i64 {}
impl Asked for String {}
impl Asked for Flag {}
impl Asked for Date {}
impl Asked for DateTime {}
impl Asked for Decimal {}

impl<T: Asked> Asked for Option<T> {
    fn ask(path: &str, into: &mut Vec<String>) {
        T::ask(path, into);
    }
}

impl<T: Asked> Asked for Vec<T> {
    fn ask(path: &str, into: &mut Vec<String>) {
        T::ask(path, into);
    }
}

pub fn fields<T: Asked>() -> Vec<String> {
    let mut fields = Vec::new();
    T::ask("", &mut fields);
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

        impl Asked for $row {
            fn ask(path: &str, into: &mut Vec<String>) {
                $(<$type>::ask(&format!("{path}{}", rows!(@name $field $($name)?)), into);)*
            }
        }
    )* };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
}

pub(crate) use rows;

//! Rows of the EHR: what is read of a record is what is asked for. Fields of a record that is referred to stand under its name and a dot.

use crate::values::{Date, DateTime, Decimal, Flag};

/// What can stand in a row.
pub trait Asked {
    /// Adds what has to be asked for. A value is one field, by its path; a record is the fields that are read of it.
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

/// The fields of a search whose rows are these.
pub fn fields<T: Asked>() -> Vec<String> {
    let mut fields = Vec::new();
    T::ask("", &mut fields);
    fields
}

/// Structs of rows. What stands in brackets is there unasked; before a field stands the EHR's name of it, where that is another.
macro_rules! rows {
    ($(
        $(#[$doc:meta])*
        $row:ident $([$($(#[$said:meta])* $unasked:ident: $kind:ty),*])? {
            $($(#[$attribute:meta])* $($name:literal)? $field:ident: $type:ty,)*
        }
    )*) => { $(
        $(#[$doc])*
        #[derive(Debug, Default, Deserialize)]
        pub struct $row {
            $($($(#[$said])* pub $unasked: $kind,)*)?
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

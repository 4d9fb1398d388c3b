//! Definition of a table: its rows, the filters of its list, and the writable fields.

use serde_json::{Map, Value};

pub type OpenDentalRow = Map<String, Value>;

pub const NEVER: &str = "0001-01-01";
pub const NO_TIME: &str = "0001-01-01 00:00:00";

/// A refusal: status and explanation.
pub type OpenDentalRefusal = (u16, String);

#[derive(Clone)]
pub struct Table {
    pub path: &'static str,
    pub key: &'static str,
    /// Default values of a new row.
    pub blank: OpenDentalRow,
    /// Query parameters that are fields of the row.
    pub filters: &'static [&'static str],
    /// The field that the database sets on each change.
    pub stamp: Option<&'static str>,
    /// Filter by the query parameter with the name of `stamp`: after its value, or from its value on.
    pub since: Since,
    /// Rows contain the server's time.
    pub server_time: bool,
    /// The list requires a patient.
    pub by_patient: bool,
    /// Additional fields from other tables: name, key field, table, field there.
    pub names: &'static [(&'static str, &'static str, &'static str, &'static str)],
    /// A single row can be read by its key.
    pub single: bool,
    pub post: Option<Post>,
    /// Fields that may be changed.
    pub put: &'static [&'static str],
    pub delete: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Since {
    None,
    After,
    OnOrAfter,
}

#[derive(Clone, Copy)]
pub struct Post {
    pub required: &'static [&'static str],
    pub optional: &'static [&'static str],
    /// Newer methods return the row; older methods return a `location` header or nothing.
    pub answers: Answers,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    Row,
    Location,
    Nothing,
}

/// Returns a read-only table without filters.
pub fn table(path: &'static str, key: &'static str, blank: Value) -> Table {
    let Value::Object(blank) = blank else { panic!("a row is an object") };
    Table {
        path,
        key,
        blank,
        filters: &[],
        stamp: None,
        since: Since::None,
        server_time: false,
        by_patient: false,
        names: &[],
        single: false,
        post: None,
        put: &[],
        delete: false,
    }
}

pub const fn post(
    required: &'static [&'static str],
    optional: &'static [&'static str],
    answers: Answers,
) -> Option<Post> {
    Some(Post { required, optional, answers })
}

//! What a table is: its rows, how it is searched, and what may be written to it.

use serde_json::{Map, Value};

pub type Row = Map<String, Value>;

pub const NEVER: &str = "0001-01-01";
pub const NO_TIME: &str = "0001-01-01 00:00:00";

/// Why the office refuses: status and explanation.
pub type Refusal = (u16, String);

#[derive(Clone)]
pub struct Table {
    pub path: &'static str,
    pub key: &'static str,
    /// A new row.
    pub blank: Row,
    /// Parameters that are fields of the row.
    pub filters: &'static [&'static str],
    /// Set by the database whenever the row changes.
    pub stamp: Option<&'static str>,
    /// The parameter of that name filters: by what came after it, or on it too.
    pub since: Since,
    /// Rows carry the server's time.
    pub server_time: bool,
    /// The list is one patient's.
    pub by_patient: bool,
    /// Fields shown beside those of the database: name, the key it is of, its table, its field there.
    pub names: &'static [(&'static str, &'static str, &'static str, &'static str)],
    /// One row can be asked for by its key.
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
    /// The answer holds the row; older methods answer with a `location` header, or with nothing at all.
    pub answers: Answers,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    Row,
    Location,
    Nothing,
}

/// A table that is read only, until it says more.
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

//! The changes that are the database.

use serde::{Deserialize, Serialize};

use super::records::{Record, Resource};

/// A change of the database. The log is append-only: the seed and all changes are the database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Saved { record: Box<Record>, write_key: Option<String> },
    Deleted { resource: Resource, id: String, revision: u64, write_key: Option<String> },
}

//! The location's zone as plain data, so that the machine needs no zone database: dates, and local time to UTC and back.

use serde::{Deserialize, Serialize};

/// A calendar date as days since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Date(pub i32);

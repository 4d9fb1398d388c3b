//! Finished writes to the EHR.

use location::{intent::WriteIntent, order::OrderingKey, time::Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    document::{Document, Kind},
    index::Indexed,
};

/// A finished write to the EHR; unfinished ones live in their location's machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    pub id: u64,
    pub location_id: u32,
    pub work: WriteIntent,
    /// The write key all attempts carried.
    pub key: String,
    pub attempts: u32,
    pub done: bool,
    pub timed_out: bool,
    pub reason: Option<String>,
    pub queued_at: Timestamp,
    pub finished_at: Timestamp,
    #[serde(default)]
    pub lane: Option<OrderingKey>,
    /// The write an operator had it tried again as.
    #[serde(default)]
    pub retried_as: Option<u64>,
    /// An operator gave it up.
    #[serde(default)]
    pub dropped: bool,
}

/// Found by its id alone.
impl Indexed for Write {
    const LISTED_BY_ID: bool = false;
}

impl Document for Write {
    const KIND: Kind = Kind::Write;
    const SHARED: bool = false;

    fn scope(&self) -> u32 {
        self.location_id
    }

    fn id(&self) -> u64 {
        self.id
    }
}

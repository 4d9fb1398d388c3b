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
    /// Counted within its location.
    pub id: u64,
    /// The location whose queue had it.
    pub location_id: u32,
    /// What it was to do.
    pub work: WriteIntent,
    /// The write key all attempts carried.
    pub key: String,
    /// Calls to the EHR, look-ups among them.
    pub attempts: u32,
    /// The EHR has it.
    pub done: bool,
    /// It failed because its deadline passed.
    pub timed_out: bool,
    /// Why it failed, without patient data.
    pub reason: Option<String>,
    /// When it was queued; a retry is queued anew.
    pub queued_at: Timestamp,
    /// When its outcome was known.
    pub finished_at: Timestamp,
    /// Which writes it must not overtake; none in records from before it was kept.
    #[serde(default)]
    pub lane: Option<OrderingKey>,
    /// The write an operator had it tried again as.
    #[serde(default)]
    pub retried_as: Option<u64>,
    /// An operator gave it up.
    #[serde(default)]
    pub dropped: bool,
    /// It was taken back, or its appointment is not in the EHR: nothing is left to do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withdrawn: bool,
    /// The id of the request that caused it; none in records from before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

impl Write {
    /// Returns `true` if the write failed and waits for an operator to retry or drop it.
    pub fn needs_operator(&self) -> bool {
        !self.done && !self.withdrawn && !self.dropped && self.retried_as.is_none()
    }
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

/// The id of a write in the API, the console and the log, such as `101-6`. Locations count their writes from 0, clients from 1.
pub fn public_id(location: u32, id: u64) -> String {
    format!("{location}-{}", id.saturating_add(1))
}

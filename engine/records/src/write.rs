//! Finished writes to the EHR.

use location::{OrderingKey, Timestamp, WriteIntent};
use serde::{Deserialize, Serialize};

use crate::{
    document::{Document, DocumentKind},
    index::Indexed,
};

/// A finished write to the EHR; unfinished ones are in the state of their location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedWrite {
    /// The id, unique within the location.
    pub id: u64,
    pub location_id: u32,
    /// The intended change.
    pub work: WriteIntent,
    /// The write key of all attempts.
    pub key: String,
    /// Number of calls to the EHR, look-ups included.
    pub attempts: u32,
    /// `true` if the EHR has the change.
    pub done: bool,
    /// `true` if the write failed because its deadline passed.
    pub timed_out: bool,
    /// The reason of a failure, without patient data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Time at which the write was queued. A retry is a separate write with its own time.
    pub queued_at: Timestamp,
    /// Time at which the outcome was known.
    pub finished_at: Timestamp,
    /// The ordering key; `None` in records from before the field existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<OrderingKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retried_as: Option<u64>,
    /// `true` if an operator dropped the write.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dropped: bool,
    /// `true` if the write was withdrawn, or its appointment is not in the EHR: nothing remains to do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withdrawn: bool,
    /// The id of the request that caused the write; `None` in records from before the field existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

impl FinishedWrite {
    /// Returns `true` if the write failed and waits for an operator to retry or drop it.
    pub fn needs_operator(&self) -> bool {
        !self.done && !self.withdrawn && !self.dropped && self.retried_as.is_none()
    }
}

/// No index terms: looked up by id only.
impl Indexed for FinishedWrite {
    const LISTED_BY_ID: bool = false;
}

impl Document for FinishedWrite {
    const KIND: DocumentKind = DocumentKind::Write;
    const SHARED: bool = false;

    fn scope(&self) -> u32 {
        self.location_id
    }

    fn id(&self) -> u64 {
        self.id
    }
}

/// Returns the id of a write in the API, the console and the log, such as `101-6`. Locations count their writes from 0,
/// clients from 1.
pub fn public_id(location: u32, id: u64) -> String {
    format!("{location}-{}", id.saturating_add(1))
}

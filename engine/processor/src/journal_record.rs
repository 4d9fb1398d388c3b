//! The journal record of a turn.

use std::borrow::Cow;

use location::{Event, InstitutionId, LocationId, Timestamp};
use runtime::Caller;
use serde::{Deserialize, Serialize};

use crate::LoadError;

#[derive(Serialize, Deserialize)]
pub(crate) struct JournalRecord<'e> {
    pub at: Timestamp,
    pub events: Cow<'e, [Event]>,
    /// The caller of a turn with changes for the audit trail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Cow<'e, Caller>>,
    /// The institution of the location at that time, together with the caller. Earlier versions did not store it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub institution: Option<InstitutionId>,
}

/// The time of a journal record.
#[derive(Deserialize)]
pub(crate) struct Dated {
    pub at: Timestamp,
}

impl JournalRecord<'static> {
    pub(crate) fn read(location: LocationId, bytes: &[u8]) -> Result<Self, LoadError> {
        serde_json::from_slice(bytes).map_err(|why| LoadError::Record { location, why: why.to_string() })
    }
}

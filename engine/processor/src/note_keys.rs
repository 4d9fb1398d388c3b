//! Keys of facts about a location that others read without its actor: the EHR's capabilities, the times of the last
//! read and turn, and the EHR of its records.

use location::{LocationId, Timestamp};
use records::document::DocumentKind;
use store::{Key, KeyRange, keys};

/// Returns the key of the time of the last successful read cycle.
pub fn last_sync_key(location: LocationId) -> Key {
    keys::record(DocumentKind::LastSync.byte(), 0, location.0.into())
}

pub fn last_sync_value(at: Timestamp) -> Vec<u8> {
    at.0.to_be_bytes().to_vec()
}

pub fn description_key(location: LocationId) -> Key {
    keys::record(DocumentKind::Description.byte(), 0, u64::from(location.0))
}

pub(crate) fn last_turn_key(location: LocationId) -> Key {
    keys::record(DocumentKind::LastTurn.byte(), 0, u64::from(location.0))
}

/// Returns the key of the EHR that a location's records come from.
pub(crate) fn ehr_site_key(location: LocationId) -> Key {
    keys::record(DocumentKind::EhrSite.byte(), 0, u64::from(location.0))
}

/// Returns the key that exists while a failed write waits for an operator to retry or drop it.
pub(crate) fn failed_write_key(location: u32, write: u64) -> Key {
    keys::record(DocumentKind::FailedWrite.byte(), location, write)
}

/// Returns the range of a location's failed writes that wait for an operator.
pub fn failed_writes_of(location: u32) -> KeyRange {
    keys::records(DocumentKind::FailedWrite.byte(), location)
}

/// Returns the range of all failed writes that wait for an operator, in the order of their locations.
pub fn failed_writes_everywhere() -> KeyRange {
    KeyRange::new(failed_write_key(0, 0), failed_writes_of(u32::MAX).end)
}

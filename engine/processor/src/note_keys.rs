//! Small facts of a location that others read without asking its actor: what its EHR can do, when it was read last, when its last turn was.

use location::{ids::LocationId, time::Timestamp};
use records::document::Kind;
use store::{Key, keys};

/// Written with each read cycle that ended well.
pub fn last_sync_key(location: LocationId) -> Key {
    keys::record(Kind::LastSync.byte(), 0, location.0.into())
}

pub fn last_sync_value(at: Timestamp) -> Vec<u8> {
    at.0.to_be_bytes().to_vec()
}

pub fn description_key(location: LocationId) -> Key {
    keys::record(Kind::Description.byte(), 0, u64::from(location.0))
}

pub(crate) fn last_turn_key(location: LocationId) -> Key {
    keys::record(Kind::LastTurn.byte(), 0, u64::from(location.0))
}

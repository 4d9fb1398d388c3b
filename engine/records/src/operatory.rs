//! What becomes of an operatory that is gone from the EHR.

use location::time::Timestamp;

use crate::{Operatory, record::Record};

/// Nothing is booked in it any more.
pub(crate) fn mark_deleted(record: &mut Record<Operatory>, now: Timestamp) {
    record.active = false;
    record.deleted_at.get_or_insert(now);
}

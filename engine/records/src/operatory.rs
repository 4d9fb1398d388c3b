//! The deletion of an operatory in the EHR.

use location::time::Timestamp;

use crate::{Operatory, record::Record};

/// Marks the operatory as deleted and inactive, so that it cannot be booked.
pub(crate) fn mark_deleted(record: &mut Record<Operatory>, now: Timestamp) {
    record.active = false;
    record.deleted_at.get_or_insert(now);
}

//! Operatories.

use location::Timestamp;
use record_macro::record;

use crate::Record;

/// A chair, column or room, for one appointment at a time.
#[record(
    resource = Operatories, tag = 2, id = u64, scope = Location, contract = "operatory", name = "Operatory",
    deleted_with = mark_deleted, local_extra
)]
#[derive(Default)]
pub struct Operatory {
    /// Appointment types it is meant for; empty means all.
    #[record(refers(appointment_types = AppointmentTypes))]
    #[serde(default)]
    pub appointment_type_ids: Vec<u32>,
    pub name: String,
    pub display_name: Option<String>,
    pub active: bool,
    pub bookable_online: bool,
}

/// Marks the operatory as deleted and inactive, so that it cannot be booked.
fn mark_deleted(record: &mut Record<Operatory>, now: Timestamp) {
    record.active = false;
    record.deleted_at.get_or_insert(now);
}

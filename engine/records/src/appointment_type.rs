//! Types of appointments.

use record_macro::record;

/// A type of appointment, for one location or, without location, for the whole institution.
#[record(
    resource = AppointmentTypes, tag = 3, id = u32, scope = Institution,
    contract = "appointment-type", name = "Appointment Type",
    local_extra
)]
#[derive(Default)]
pub struct AppointmentType {
    pub name: String,
    /// Length in minutes, 1 to 1440.
    #[record(limit = Between(1, 1_440, "must be 1 to 1440"))]
    pub minutes: u32,
    pub bookable_online: bool,
    /// Descriptors of the EHR that appointments of this type carry.
    #[record(local)]
    pub descriptor_ids: Vec<u32>,
}

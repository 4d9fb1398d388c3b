//! Descriptors of appointments.

use record_macro::record;

/// A descriptor that an EHR attaches to appointments or types (procedure code, reason, colour).
#[record(
    resource = AppointmentDescriptors, tag = 20, id = u32, scope = Source,
    contract = "appointment-descriptor", name = "Appointment Descriptor"
)]
pub struct AppointmentDescriptor {
    pub kind: String,
    pub name: String,
    pub code: Option<String>,
    #[record(in_use)]
    pub active: bool,
}

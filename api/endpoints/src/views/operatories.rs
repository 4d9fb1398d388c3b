//! Operatories.

use super::catalogue::AppointmentTypeView;
use crate::prelude::*;

/// A chair, column or room where providers see patients.
#[view(of = Operatory, named = "operatory", published)]
pub struct OperatoryView<'a> {
    id: u64,
    name: &'a str,
    foreign_id: Option<&'a str>,
    foreign_id_type: &'a str,
    /// Id of the location of the operatory.
    #[view(with = entry.location())]
    location_id: u32,
    last_sync_time: Option<At>,
    created_at: At,
    updated_at: At,
    display_name: Option<&'a str>,
    active: bool,
    /// `true` if patients may book the type themselves. If false, slot searches and bookings by slot token exclude the
    /// type; `POST /appointments` may use it.
    bookable_online: bool,
    static_image_url: Option<()>,
    profile_url: Option<()>,
    /// Appointment types that the operatory is intended for; an empty list means all types. Absent inside an
    /// appointment and in `GET /changes`.
    appointment_types: IncludedList<AppointmentTypeView>,
}

impl<'a> OperatoryView<'a> {
    pub(crate) fn with_types(
        self,
        record: &Record<Operatory>,
        types: &HashMap<u32, AppointmentTypeView>,
    ) -> OperatoryView<'a> {
        let own = record.appointment_type_ids.iter().filter_map(|id| types.get(id)).cloned().collect();
        OperatoryView { appointment_types: Some(own), ..self }
    }
}

//! Operatories.

use std::collections::HashMap;

use engine::records::{Operatory, record::Record};
use schemars::JsonSchema;
use serde::Serialize;

use super::{catalogue::AppointmentTypeView, parts::foreign_id_type};
use crate::values::times::At;

/// A chair, column or room where providers see patients.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OperatoryView<'a> {
    /// Id of the operatory.
    id: u64,
    /// Name of the operatory.
    name: &'a str,
    /// Opaque identifier in the health record system; null for a record that exists only in this service.
    foreign_id: Option<&'a str>,
    /// Name of the health record system's adapter; `nex` for a record that exists only in this service.
    foreign_id_type: &'a str,
    /// Id of the location of the operatory.
    location_id: u32,
    /// Time at which the health record system last reported a change of the record or accepted a write of it, in UTC;
    /// null before the first time.
    last_sync_time: Option<At>,
    /// Time at which this service first stored the record, in UTC.
    created_at: At,
    /// Time of the last change of the record in this service, in UTC.
    updated_at: At,
    /// Display name; null if the health record system has none.
    display_name: Option<&'a str>,
    /// `true` if the operatory is in use; `false` once it has been deleted in the health record system.
    active: bool,
    /// `true` if patients may book the type themselves. If false, slot searches and bookings by slot token exclude the
    /// type; `POST /appointments` may use it.
    bookable_online: bool,
    /// Always null: no health record system provides it.
    static_image_url: Option<()>,
    /// Always null: no health record system provides it.
    profile_url: Option<()>,
    /// Appointment types that the operatory is intended for; an empty list means all types. Absent inside an
    /// appointment and in `GET /changes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    appointment_types: Option<Vec<AppointmentTypeView>>,
}

impl<'a> OperatoryView<'a> {
    pub(crate) fn basic(record: &'a Record<Operatory>, adapter: Option<&'a str>) -> OperatoryView<'a> {
        OperatoryView {
            id: record.id,
            name: &record.name,
            foreign_id: record.foreign_id.as_deref(),
            foreign_id_type: foreign_id_type(record.foreign_id.as_deref(), adapter),
            location_id: record.location(),
            last_sync_time: record.last_sync_time.map(At),
            created_at: At(record.created_at),
            updated_at: At(record.updated_at),
            display_name: record.display_name.as_deref(),
            active: record.active,
            bookable_online: record.bookable_online,
            static_image_url: None,
            profile_url: None,
            appointment_types: None,
        }
    }

    pub(crate) fn with_types(
        self,
        record: &Record<Operatory>,
        types: &HashMap<u32, AppointmentTypeView>,
    ) -> OperatoryView<'a> {
        let own = record.appointment_type_ids.iter().filter_map(|id| types.get(id)).cloned().collect();
        OperatoryView { appointment_types: Some(own), ..self }
    }
}

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
    id: u64,
    name: &'a str,
    foreign_id: Option<&'a str>,
    foreign_id_type: &'a str,
    location_id: u32,
    last_sync_time: Option<At>,
    created_at: At,
    updated_at: At,
    display_name: Option<&'a str>,
    active: bool,
    bookable_online: bool,
    static_image_url: Option<()>,
    profile_url: Option<()>,
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

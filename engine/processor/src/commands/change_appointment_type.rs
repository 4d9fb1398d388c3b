//! Changes an appointment type created here.

use location::{command::DecisionContext, resource::Operation};
use records::{AppointmentType, record::Record};

use super::references::all_met;
use crate::{error::Prepared, processor::Processor, reply::Saved, request::Request, unit_of_work::UnitOfWork};

#[derive(Clone)]
pub struct ChangeAppointmentType {
    pub id: u32,
    pub change: AppointmentTypeChange,
}

/// Changes of an appointment type. Absent fields stay unchanged.
#[derive(Clone, Default)]
pub struct AppointmentTypeChange {
    /// `true` for this location only, `false` for its institution.
    pub of_location: Option<bool>,
    pub name: Option<String>,
    pub minutes: Option<u32>,
    pub bookable_online: Option<bool>,
    pub descriptor_ids: Option<Vec<u32>>,
}

impl Request for ChangeAppointmentType {
    type Reply = Saved<Record<AppointmentType>>;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        let change = &self.change;
        all_met(at.unknown_descriptors(change.descriptor_ids.as_deref().unwrap_or_default(), unit)?)?;
        let mut kind = at.own_type(self.id, unit)?;
        if let Some(of_location) = change.of_location {
            kind.location_id = of_location.then_some(at.setup.id.0);
        }
        if let Some(name) = &change.name {
            kind.name.clone_from(name);
        }
        kind.minutes = change.minutes.unwrap_or(kind.minutes);
        kind.bookable_online = change.bookable_online.unwrap_or(kind.bookable_online);
        if let Some(descriptors) = &change.descriptor_ids {
            kind.descriptor_ids.clone_from(descriptors);
        }
        kind.updated_at = cx.now;
        at.put_type(cx, Operation::Update, kind, unit)
    }
}

//! Creates an appointment type of an institution or of one of its locations.

use location::{command::DecisionContext, pull::Resource, resource::Operation};
use records::{AppointmentType, record::Record};

use super::references::all_met;
use crate::{
    error::Prepared, patients::narrow, processor::Processor, reply::Saved, request::Request, unit_of_work::UnitOfWork,
};

#[derive(Clone)]
pub struct CreateAppointmentType {
    pub name: String,
    pub minutes: u32,
    pub bookable_online: bool,
    pub descriptor_ids: Vec<u32>,
    /// `true` for this location only, `false` for its institution.
    pub of_location: bool,
}

impl Request for CreateAppointmentType {
    type Reply = Saved<Record<AppointmentType>>;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        all_met(at.unknown_descriptors(&self.descriptor_ids, unit)?)?;
        let id = narrow(unit.allot(Resource::AppointmentTypes)?)?;
        let body = AppointmentType {
            name: self.name.clone(),
            minutes: self.minutes,
            bookable_online: self.bookable_online,
            descriptor_ids: self.descriptor_ids.clone(),
            ..AppointmentType::default()
        };
        let kind = Record {
            location_id: self.of_location.then_some(at.setup.id.0),
            ..Record::new(id, at.institution.id.0, cx.now, body)
        };
        at.put_type(cx, Operation::Create, kind, unit)
    }
}

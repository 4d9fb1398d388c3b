//! Creates, changes and removes appointment types. They define how long a visit takes and who may book it; the EHR does
//! not get them.

use records::AppointmentType;

use super::{prelude::*, references::all_met};

#[derive(Clone)]
pub enum WriteAppointmentType {
    Create {
        body: AppointmentType,
        /// `true` for this location only, `false` for its institution.
        of_location: bool,
    },
    Change(u32, AppointmentTypeChange),
    Remove(u32),
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

impl Request for WriteAppointmentType {
    type Reply = Saved<Record<AppointmentType>>;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        let (operation, kind) = match self {
            WriteAppointmentType::Create { body, of_location } => {
                all_met(at.unknown_descriptors(&body.descriptor_ids, unit)?)?;
                let id = narrow(unit.allot(Resource::AppointmentTypes)?)?;
                let location_id = of_location.then_some(at.setup.id.0);
                let kind = Record { location_id, ..Record::new(id, at.institution.id.0, cx.now, body.clone()) };
                (Operation::Create, kind)
            }
            WriteAppointmentType::Change(id, change) => {
                all_met(at.unknown_descriptors(change.descriptor_ids.as_deref().unwrap_or_default(), unit)?)?;
                let mut kind = at.own_record::<AppointmentType>(u64::from(*id), unit)?;
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
                (Operation::Update, kind)
            }
            WriteAppointmentType::Remove(id) => {
                let mut kind = at.own_record::<AppointmentType>(u64::from(*id), unit)?;
                kind.delete(cx.now);
                (Operation::Delete, kind)
            }
        };
        let (resource, id) = (Resource::AppointmentTypes, u64::from(kind.id));
        let decision = at.decide_save(cx, resource, id, operation, OrderingKey::Record { resource, id }, true)?;
        unit.put(&kind)?;
        Ok((decision, Saved::new(kind)))
    }
}

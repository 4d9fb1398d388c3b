//! Appointment types made here. They say how long a visit takes and who may book it; the EHR does not hear of them.

use location::{
    command::Cx,
    ids::Lane,
    pull::{Resource, Verb},
};
use records::AppointmentType;

use crate::saving::{Prepared, refused, saved, unmet};
use crate::{
    book::narrow,
    requests::{AppointmentTypeChange, NewAppointmentType, Unmet},
    turn::Processor,
    unit_of_work::UnitOfWork,
};

impl Processor {
    pub(super) fn new_type(&self, cx: Cx, new: &NewAppointmentType, unit: &mut UnitOfWork<'_>) -> Prepared {
        if let Some(missing) = Unmet::of(self.unknown_descriptors(&new.descriptor_ids, unit)?) {
            return unmet(missing);
        }
        let id = narrow(unit.allot(Resource::AppointmentTypes)?)?;
        let kind = AppointmentType {
            id,
            institution_id: self.institution.id.0,
            source_id: None,
            location_id: new.of_location.then_some(self.setup.id.0),
            foreign_id: None,
            name: new.name.clone(),
            minutes: new.minutes,
            bookable_online: new.bookable_online,
            descriptor_ids: new.descriptor_ids.clone(),
            created_at: cx.now,
            updated_at: cx.now,
            deleted_at: None,
        };
        self.put_type(cx, Verb::Create, &kind, unit)
    }

    pub(super) fn change_type(
        &self,
        cx: Cx,
        id: u32,
        change: &AppointmentTypeChange,
        unit: &mut UnitOfWork<'_>,
    ) -> Prepared {
        let unknown = self.unknown_descriptors(change.descriptor_ids.as_deref().unwrap_or_default(), unit)?;
        if let Some(missing) = Unmet::of(unknown) {
            return unmet(missing);
        }
        self.with_type(id, unit, |kind, unit| {
            if let Some(of_location) = change.of_location {
                kind.location_id = of_location.then_some(self.setup.id.0);
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
            self.put_type(cx, Verb::Update, kind, unit)
        })
    }

    pub(super) fn remove_type(&self, cx: Cx, id: u32, unit: &mut UnitOfWork<'_>) -> Prepared {
        self.with_type(id, unit, |kind, unit| {
            kind.deleted_at = Some(cx.now);
            kind.updated_at = cx.now;
            self.put_type(cx, Verb::Delete, kind, unit)
        })
    }

    /// One that was made here: those of the EHR are changed there.
    fn with_type(
        &self,
        id: u32,
        unit: &mut UnitOfWork<'_>,
        change: impl FnOnce(&mut AppointmentType, &mut UnitOfWork<'_>) -> Prepared,
    ) -> Prepared {
        let (resource, id) = (Resource::AppointmentTypes, u64::from(id));
        match unit.get::<AppointmentType>(self.institution.id.0, id)?.filter(|kind| kind.deleted_at.is_none()) {
            None => unmet(Unmet::NotFound { resource, id }),
            Some(kind) if kind.source_id.is_some() => unmet(Unmet::NotUsable { resource, id }),
            Some(mut kind) => change(&mut kind, unit),
        }
    }

    fn put_type(&self, cx: Cx, verb: Verb, kind: &AppointmentType, unit: &mut UnitOfWork<'_>) -> Prepared {
        let (resource, id) = (Resource::AppointmentTypes, u64::from(kind.id));
        let decision = self.decide_save(cx, resource, id, verb, Lane::Record { resource, id }, true);
        if !refused(&decision) {
            unit.put(kind)?;
        }
        saved(decision, kind)
    }
}

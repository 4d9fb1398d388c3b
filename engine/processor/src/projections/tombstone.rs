//! What becomes of the document of a record that is gone from the EHR: it stays, and says so.

use location::{command::Cx, pull::Resource, time::Timestamp};
use records::{
    self,
    document::Link,
    entries::{self, Visitor},
    entry::{Body, Entry},
};

use crate::{error::Reject, processor::Processor, unit_of_work::UnitOfWork};

impl Processor {
    /// Should the record come back as it was, it is news again; and it is not missed in every pass.
    pub fn forget_shown(&self, resource: Resource, id: u64, unit: &mut UnitOfWork<'_>) -> Result<(), Reject> {
        let (Some(source), Ok(foreign_id)) = (self.source(), self.foreign_id(resource, id)?) else { return Ok(()) };
        if resource == Resource::Appointments && self.is_elsewhere(id, unit)? {
            return Ok(());
        }
        if unit.link(source, resource, &foreign_id)?.is_some_and(|link| link.id == id) {
            unit.put_link(source, resource, &foreign_id, Link::gone(id));
        }
        Ok(())
    }

    /// Staff moved an appointment to another location of the data source, which has read it since: it is that location's now, and what
    /// becomes of it here is that it left.
    pub fn is_elsewhere(&self, id: u64, unit: &mut UnitOfWork<'_>) -> Result<bool, Reject> {
        let record = unit.get::<records::Appointment>(0, id)?;
        Ok(record.is_some_and(|record| record.location_id != self.setup.id.0))
    }

    /// Changes the document of an appointment of this location.
    pub fn change_here(
        &self,
        id: u64,
        unit: &mut UnitOfWork<'_>,
        change: impl FnOnce(&mut records::Appointment),
    ) -> Result<Option<records::Appointment>, Reject> {
        if self.is_elsewhere(id, unit)? { Ok(None) } else { unit.change(0, id, change) }
    }

    pub fn gone(&self, cx: Cx, resource: Resource, id: u64, unit: &mut UnitOfWork<'_>) -> Result<(), Reject> {
        let (institution, location) = (self.institution.id.0, self.setup.id.0);
        match resource {
            Resource::Providers => {
                unit.change::<records::Provider>(institution, id, |record| {
                    record.inactive = true;
                    record.updated_at = cx.now;
                })?;
            }
            Resource::Patients => {
                unit.change::<records::Patient>(institution, id, |record| {
                    record.inactive = true;
                    record.updated_at = cx.now;
                })?;
            }
            Resource::AppointmentTypes => {
                unit.change::<records::AppointmentType>(institution, id, |record| {
                    record.deleted_at.get_or_insert(cx.now);
                    record.updated_at = cx.now;
                })?;
            }
            Resource::Operatories => {
                unit.change::<records::Operatory>(location, id, |record| {
                    record.active = false;
                    record.deleted_at.get_or_insert(cx.now);
                    record.updated_at = cx.now;
                })?;
            }
            Resource::WorkingHours => {
                unit.change::<records::WorkingHour>(location, id, |record| {
                    record.active = false;
                    record.deleted_at.get_or_insert(cx.now);
                    record.updated_at = cx.now;
                })?;
            }
            // `Cancelled` says it.
            Resource::Appointments => {}
            resource => {
                let source = self.source().unwrap_or(0);
                entries::on(resource, Gone { now: cx.now, source, id, unit }).transpose()?;
            }
        }
        Ok(())
    }
}

struct Gone<'d, 'p> {
    now: Timestamp,
    source: u32,
    id: u64,
    unit: &'d mut UnitOfWork<'p>,
}

impl Visitor for Gone<'_, '_> {
    type Output = Result<(), Reject>;

    fn visit<T: Body>(self) -> Self::Output {
        let Gone { now, source, id, unit } = self;
        unit.change::<Entry<T>>(source, id, |entry| {
            entry.deleted_at.get_or_insert(now);
            entry.updated_at = now;
        })?;
        Ok(())
    }
}

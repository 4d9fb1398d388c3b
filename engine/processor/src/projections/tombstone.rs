//! Documents of records that were deleted in the EHR. They are kept and marked as deleted.

use location::Resource;
use records::{
    self, Body, Record, RecordWrite,
    document::Link,
    schema::{self, Visitor},
};

use super::Projection;
use crate::{Processor, Reject, UnitOfWork};

impl Processor {
    /// Returns `true` if staff moved an appointment created here to another location of the data source before its
    /// write was answered. That location has read it as a new appointment, which keeps the link: only that location can
    /// release its place. A tombstone does not count, because the place is released: staff may have moved the
    /// appointment back, or the EHR has used the identifier again.
    pub fn was_read_elsewhere(&self, foreign_id: &str, id: u64, unit: &mut UnitOfWork<'_>) -> Result<bool, Reject> {
        let Some(source) = self.source() else { return Ok(false) };
        let link = unit.link(source, Resource::Appointments, foreign_id)?;
        let Some(duplicate) = link.filter(|link| link.id != id && !link.is_gone()) else { return Ok(false) };
        let created_at = unit.get_ref::<Record<records::Appointment>>(0, id)?.map(|local| local.created_at);
        let duplicate = unit.get_ref::<Record<records::Appointment>>(0, duplicate.id)?;
        // An older appointment is another one: the EHR has used its identifier again.
        Ok(duplicate.is_some_and(|duplicate| {
            duplicate.location() != self.setup.id.0 && Some(duplicate.created_at) >= created_at
        }))
    }
}

impl Projection<'_, '_> {
    /// Replaces a record's link by a tombstone. The record then counts as changed if it returns, and passes do not miss
    /// it. The mark of an unanswered cancellation stays.
    pub(super) fn put_tombstone(&mut self, resource: Resource, tombstone: Link) -> Result<(), Reject> {
        if resource == Resource::Appointments && self.is_elsewhere(tombstone.id)? {
            return Ok(());
        }
        self.replace_link(resource, tombstone, |link| !link.is_gone_unanswered())
    }

    /// Replaces a record's link by a tombstone if the link is outdated.
    pub(super) fn replace_link(
        &mut self,
        resource: Resource,
        tombstone: Link,
        is_outdated: impl Fn(Link) -> bool,
    ) -> Result<(), Reject> {
        let (source, foreign_id) = (self.processor.source(), self.processor.foreign_id(resource, tombstone.id)?);
        let (Some(source), Ok(foreign_id)) = (source, foreign_id) else { return Ok(()) };
        let link = self.unit.link(source, resource, &foreign_id)?;
        if link.is_some_and(|link| link.id == tombstone.id && is_outdated(link)) {
            self.unit.put_link(source, resource, &foreign_id, tombstone);
        }
        Ok(())
    }

    /// Returns `true` if staff moved an appointment to another location of the data source that has read it since. The
    /// document then belongs to that location.
    pub(super) fn is_elsewhere(&mut self, id: u64) -> Result<bool, Reject> {
        let here = self.processor.setup.id.0;
        let record = self.unit.get_ref::<Record<records::Appointment>>(0, id)?;
        Ok(record.is_some_and(|record| record.location() != here))
    }

    /// Changes the document of an appointment that belongs to this location.
    pub(super) fn change_if_local(
        &mut self,
        id: u64,
        change: impl FnOnce(&mut Record<records::Appointment>),
    ) -> Result<(), Reject> {
        if !self.is_elsewhere(id)? {
            self.unit.change::<Record<records::Appointment>>(0, id, change)?;
        }
        Ok(())
    }

    pub(super) fn delete_record(&mut self, resource: Resource, id: u64) -> Result<(), Reject> {
        // `Cancelled` changes the document.
        if resource == Resource::Appointments {
            return Ok(());
        }
        schema::on(resource, DeleteRecord { projection: self, id })
    }
}

struct DeleteRecord<'m, 'a, 'p> {
    projection: &'m mut Projection<'a, 'p>,
    id: u64,
}

impl Visitor for DeleteRecord<'_, '_, '_> {
    type Output = Result<(), Reject>;

    fn visit<T: Body>(self) -> Self::Output {
        let Projection { processor, cx, unit } = self.projection;
        let scope = processor.scope::<T>();
        let changed = unit.change::<Record<T>>(scope, self.id, |record| record.delete(cx.now))?;
        // The EHR's version of a record with a pending change is deleted, too.
        if changed.is_some_and(|record| record.write == Some(RecordWrite::pending()))
            && let Some(mut before) = unit.merge_base::<Record<T>>(scope, self.id)?
        {
            before.delete(cx.now);
            unit.set_merge_base(&before)?;
        }
        Ok(())
    }
}

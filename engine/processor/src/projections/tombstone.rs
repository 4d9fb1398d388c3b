//! Documents of records that were deleted in the EHR. They are kept and marked as deleted.

use location::{DecisionContext, Resource};
use records::{
    self, Body, Record,
    document::Link,
    schema::{self, Visitor},
};

use crate::{Processor, Reject, UnitOfWork};

impl Processor {
    /// Replaces a record's link by a tombstone. The record then counts as changed if it returns, and passes do not miss
    /// it.
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

    /// Returns `true` if staff moved an appointment to another location of the data source that has read it since. The
    /// document then belongs to that location.
    pub fn is_elsewhere(&self, id: u64, unit: &mut UnitOfWork<'_>) -> Result<bool, Reject> {
        let record = unit.get_ref::<Record<records::Appointment>>(0, id)?;
        Ok(record.is_some_and(|record| record.location() != self.setup.id.0))
    }

    /// Changes the document of an appointment that belongs to this location.
    pub fn change_here(
        &self,
        id: u64,
        unit: &mut UnitOfWork<'_>,
        change: impl FnOnce(&mut Record<records::Appointment>),
    ) -> Result<Option<Record<records::Appointment>>, Reject> {
        if self.is_elsewhere(id, unit)? { Ok(None) } else { unit.change(0, id, change) }
    }

    pub fn gone(
        &self,
        cx: DecisionContext,
        resource: Resource,
        id: u64,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(), Reject> {
        // `Cancelled` changes the document.
        if resource == Resource::Appointments {
            return Ok(());
        }
        schema::on(resource, Gone { processor: self, cx, id, unit })
    }
}

struct Gone<'s, 'd, 'p> {
    processor: &'s Processor,
    cx: DecisionContext,
    id: u64,
    unit: &'d mut UnitOfWork<'p>,
}

impl Visitor for Gone<'_, '_, '_> {
    type Output = Result<(), Reject>;

    fn visit<T: Body>(self) -> Self::Output {
        let Gone { processor, cx, id, unit } = self;
        unit.change::<Record<T>>(processor.scope::<T>(), id, |record| record.delete(cx.now))?;
        Ok(())
    }
}

//! What becomes of the records of a write that is tried again or given up.

use location::{command::Cx, ids::WriteId, intent::WriteIntent, pull::Resource};
use records::{
    Appointment, Patient, WorkingHour, Write, Writeback,
    entries::{self, Visitor},
    entry::{Body, Entry, EntryWrite},
};

use crate::{error::Reject, processor::Processor, unit_of_work::UnitOfWork};

impl Processor {
    /// The documents of a write that is tried again: it waits once more.
    pub fn retried(
        &self,
        cx: Cx,
        write: WriteId,
        of: WriteId,
        work: WriteIntent,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(), Reject> {
        unit.change::<Write>(self.setup.id.0, of.0, |record| record.retried_as = Some(write.0))?;
        let pending = Some(EntryWrite::pending());
        match work {
            WriteIntent::CreatePatient(id) => {
                unit.change::<Patient>(self.institution.id.0, u64::from(id.0), |record| {
                    record.write_error = None;
                    record.write.clone_from(&pending);
                    record.updated_at = cx.now;
                })?;
            }
            WriteIntent::CreateAppointment(id) => {
                unit.change::<Appointment>(0, id.0, |record| {
                    record.updated_at = cx.now;
                    if let Some(booking) = &mut record.booking {
                        booking.writeback = Writeback::Pending;
                        booking.failure_reason = None;
                    }
                })?;
            }
            WriteIntent::Record { resource: Resource::WorkingHours, id, .. } => {
                unit.change::<WorkingHour>(self.setup.id.0, id, |record| {
                    record.write = pending;
                    record.updated_at = cx.now;
                })?;
            }
            WriteIntent::Record { resource, id, .. } => {
                let source = self.source().unwrap_or(0);
                entries::on(resource, Again { cx, source, id, pending, unit }).transpose()?;
            }
            _ => {}
        }
        Ok(())
    }

    pub fn dropped(&self, write: WriteId, unit: &mut UnitOfWork<'_>) -> Result<(), Reject> {
        unit.change::<Write>(self.setup.id.0, write.0, |record| record.dropped = true)?;
        Ok(())
    }
}

struct Again<'d, 'p> {
    cx: Cx,
    source: u32,
    id: u64,
    pending: Option<EntryWrite>,
    unit: &'d mut UnitOfWork<'p>,
}

impl Visitor for Again<'_, '_> {
    type Output = Result<(), Reject>;

    fn visit<T: Body>(self) -> Self::Output {
        let Again { cx, source, id, pending, unit } = self;
        unit.change::<Entry<T>>(source, id, |entry| {
            entry.write = pending;
            entry.updated_at = cx.now;
        })?;
        Ok(())
    }
}

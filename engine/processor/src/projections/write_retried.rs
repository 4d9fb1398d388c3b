//! Changes of documents by a retried or dropped write.

use location::{DecisionContext, Resource, WriteId, WriteIntent};
use records::{
    Appointment, Body, FinishedWrite, Record, RecordWrite, Writeback,
    schema::{self, Visitor},
};

use super::reschedule;
use crate::{Processor, Reject, UnitOfWork, note_keys::failed_write_key};

impl Processor {
    /// Marks the documents of a retried write as pending.
    pub fn retried(
        &self,
        cx: DecisionContext,
        write: WriteId,
        of: WriteId,
        work: WriteIntent,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(), Reject> {
        unit.change::<FinishedWrite>(self.setup.id.0, of.0, |record| record.retried_as = Some(write.0))?;
        unit.delete(failed_write_key(self.setup.id.0, of.0));
        match work {
            WriteIntent::CreatePatient(id) => {
                schema::on(Resource::Patients, Again { processor: self, cx, id: id.0.into(), unit })
            }
            WriteIntent::CreateAppointment(id) => {
                unit.change::<Record<Appointment>>(0, id.0, |record| {
                    record.updated_at = cx.now;
                    reschedule::resume(record);
                    if let Some(booking) = &mut record.booking {
                        booking.writeback = Writeback::Pending;
                        booking.failure_reason = None;
                    }
                })?;
                Ok(())
            }
            WriteIntent::CancelReplaced { appointment, .. } => {
                self.change_here(appointment.0, unit, |record| {
                    record.updated_at = cx.now;
                    record.write = Some(RecordWrite::pending());
                })?;
                Ok(())
            }
            WriteIntent::Record { resource, id, .. } => schema::on(resource, Again { processor: self, cx, id, unit }),
            _ => Ok(()),
        }
    }

    pub fn dropped(&self, write: WriteId, unit: &mut UnitOfWork<'_>) -> Result<(), Reject> {
        unit.change::<FinishedWrite>(self.setup.id.0, write.0, |record| record.dropped = true)?;
        unit.delete(failed_write_key(self.setup.id.0, write.0));
        Ok(())
    }
}

struct Again<'s, 'd, 'p> {
    processor: &'s Processor,
    cx: DecisionContext,
    id: u64,
    unit: &'d mut UnitOfWork<'p>,
}

impl Visitor for Again<'_, '_, '_> {
    type Output = Result<(), Reject>;

    fn visit<T: Body>(self) -> Self::Output {
        let Again { processor, cx, id, unit } = self;
        unit.change::<Record<T>>(processor.scope::<T>(), id, |record| {
            record.write = Some(RecordWrite::pending());
            record.updated_at = cx.now;
        })?;
        Ok(())
    }
}

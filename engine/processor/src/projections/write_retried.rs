//! Changes of documents by a retried or dropped write.

use location::{Resource, WriteId, WriteIntent};
use records::{Appointment, FinishedWrite, Record, RecordWrite, Writeback};

use super::{Projection, reschedule};
use crate::{Reject, note_keys::failed_write_key};

impl Projection<'_, '_> {
    /// Marks the documents of a retried write as pending.
    pub(super) fn retried(&mut self, write: WriteId, of: WriteId, work: WriteIntent) -> Result<(), Reject> {
        let (here, now) = (self.processor.setup.id.0, self.cx.now);
        self.unit.change::<FinishedWrite>(here, of.0, |record| record.retried_as = Some(write.0))?;
        self.unit.delete(failed_write_key(here, of.0));
        match work {
            WriteIntent::CreatePatient(id) => self.set_write(Resource::Patients, id.0.into(), RecordWrite::pending()),
            WriteIntent::CreateAppointment(id) => {
                self.unit.change::<Record<Appointment>>(0, id.0, |record| {
                    record.updated_at = now;
                    reschedule::resume(record);
                    if let Some(booking) = &mut record.booking {
                        booking.writeback = Writeback::Pending;
                        booking.failure_reason = None;
                    }
                })?;
                Ok(())
            }
            WriteIntent::CancelReplaced { appointment, .. } => {
                self.change(appointment, |record| record.write = Some(RecordWrite::pending()))
            }
            WriteIntent::Record { resource, id, .. } => self.set_write(resource, id, RecordWrite::pending()),
            _ => Ok(()),
        }
    }

    pub(super) fn dropped(&mut self, write: WriteId) -> Result<(), Reject> {
        let here = self.processor.setup.id.0;
        self.unit.change::<FinishedWrite>(here, write.0, |record| record.dropped = true)?;
        self.unit.delete(failed_write_key(here, write.0));
        Ok(())
    }
}

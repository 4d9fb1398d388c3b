//! Changes of documents by finished writes.

use location::{Operation, Resource, WriteId, WriteIntent, command::Written, event::InsertFailure};
use records::{
    Appointment, Body, Patient, Record, RecordWrite,
    document::Link,
    schema::{self, Visitor},
};

use super::Projection;
use crate::{
    Reject,
    unit_of_work::merge_base::{changes_content, copy_written},
};

impl Projection<'_, '_> {
    /// Handles a successful write.
    pub(super) fn written(&mut self, write: WriteId, work: WriteIntent, written: &Written) -> Result<(), Reject> {
        let (institution, now) = (self.processor.institution.id.0, self.cx.now);
        self.overwritten(work, written)?;
        match work {
            WriteIntent::CreatePatient(patient) => {
                let id = u64::from(patient.0);
                let duplicate = self.find_duplicate(Resource::Patients, id, written)?;
                self.link(Resource::Patients, id, written)?;
                self.unit.change::<Record<Patient>>(institution, id, |record| {
                    record.foreign_id = Some(written.foreign_id.clone());
                    record.write = Some(RecordWrite::succeeded());
                    record.ssn = None;
                    record.last_sync_time = Some(now);
                    record.updated_at = now;
                })?;
                if let Some(duplicate) = duplicate {
                    // A pull showed the patient before the write was answered.
                    self.delete_record(Resource::Patients, duplicate)?;
                }
            }
            WriteIntent::Record { resource: Resource::Patients, id, .. } => {
                let last = self.last_of(write, Resource::Patients, id);
                if last {
                    self.unit.forget_merge_base::<Record<Patient>>(institution, id);
                }
                self.unit.change::<Record<Patient>>(institution, id, |record| {
                    record.last_sync_time = Some(now);
                    if last {
                        record.ssn = None;
                        record.write = Some(RecordWrite::succeeded());
                    }
                })?;
            }
            WriteIntent::Record { resource: Resource::WorkingHours, id, operation } => {
                self.hour_written(write, (id, operation), written)?;
            }
            WriteIntent::Record { resource, id, operation } => {
                let last = self.last_of(write, resource, id);
                schema::on(resource, CompletedWrite { projection: self, id, operation, last, written })?;
            }
            WriteIntent::Confirm(appointment) | WriteIntent::CheckIn(appointment) | WriteIntent::Note(appointment) => {
                self.content_written(write, work, appointment.0)?;
                self.set_version(appointment.0, written)?;
            }
            WriteIntent::Reschedule(appointment) => self.set_version(appointment.0, written)?,
            // The version of a cancelled record is not needed.
            WriteIntent::Cancel(appointment) => self.cancellation_answered_elsewhere(appointment, None)?,
            // `InsertDone` handles inserts.
            WriteIntent::CreateAppointment(_) => {}
            // `Replacement` handles both steps of a replacement.
            WriteIntent::Replace(_) | WriteIntent::CancelReplaced { .. } => {}
        }
        Ok(())
    }

    /// Handles a failed write by restoring the EHR's version.
    pub(super) fn not_written(
        &mut self,
        write: WriteId,
        work: WriteIntent,
        (how, reason): (InsertFailure, &str),
    ) -> Result<(), Reject> {
        let (processor, now) = (self.processor, self.cx.now);
        match work {
            WriteIntent::CreatePatient(patient) => {
                self.set_write(Resource::Patients, patient.0.into(), RecordWrite::failed(reason))?;
            }
            WriteIntent::Record { resource: Resource::Patients, id, .. } => {
                let institution = processor.institution.id.0;
                // A later change is kept until the EHR has answered that, too.
                if self.last_of(write, Resource::Patients, id)
                    && let Some(mut before) = self.unit.merge_base::<Record<Patient>>(institution, id)?
                {
                    let current = self.unit.get::<Record<Patient>>(institution, id)?;
                    before.updated_at = now;
                    before.write = Some(RecordWrite::failed(reason));
                    processor.index_patient(current.as_ref(), &before, self.unit)?;
                    self.unit.put(&before)?;
                    self.unit.forget_merge_base::<Record<Patient>>(institution, id);
                }
            }
            WriteIntent::Record { resource: Resource::WorkingHours, id, .. } => {
                self.hour_not_written(id, (how, reason))?;
            }
            WriteIntent::Record { resource, id, operation: Operation::Create } => {
                self.set_write(resource, id, RecordWrite::failed(reason))?;
            }
            WriteIntent::Record { resource, id, .. } => {
                let last = self.last_of(write, resource, id);
                schema::on(resource, RefusedChange { projection: self, id, last, reason })?;
            }
            WriteIntent::Confirm(appointment) | WriteIntent::CheckIn(appointment) | WriteIntent::Note(appointment) => {
                // If the appointment was removed, there is nothing to restore.
                if how != InsertFailure::Withdrawn
                    && let Some(before) = self.unit.merge_base::<Record<Appointment>>(0, appointment.0)?
                {
                    self.change(appointment, |record| copy_written(work, &before, record))?;
                }
                self.content_written(write, work, appointment.0)?;
            }
            WriteIntent::CreateAppointment(_)
            | WriteIntent::Reschedule(_)
            | WriteIntent::Replace(_)
            | WriteIntent::CancelReplaced { .. }
            | WriteIntent::Cancel(_) => {}
        }
        Ok(())
    }

    /// Links the foreign id of a written record, so that pulls find the record.
    pub(super) fn link(&mut self, resource: Resource, id: u64, written: &Written) -> Result<(), Reject> {
        let Some(source) = self.processor.source() else { return Ok(()) };
        let foreign_id = &written.foreign_id;
        let is_linked = self.unit.link(source, resource, foreign_id)?.is_some_and(|known| known.id == id);
        let is_appointment = resource == Resource::Appointments;
        if is_linked || (is_appointment && self.processor.was_read_elsewhere(foreign_id, id, self.unit)?) {
            return Ok(());
        }
        self.unit.put_link(source, resource, foreign_id, Link::new(id));
        Ok(())
    }

    /// Updates the link of a changed record. If staff restore the version shown before this write, that is a change.
    fn overwritten(&mut self, work: WriteIntent, written: &Written) -> Result<(), Reject> {
        let resource = match work {
            WriteIntent::CreatePatient(_) | WriteIntent::CreateAppointment(_) | WriteIntent::Replace(_) => {
                return Ok(());
            }
            // Its link must keep the mark of a replaced appointment.
            WriteIntent::CancelReplaced { .. } => return Ok(()),
            WriteIntent::Record { resource, .. } => resource,
            WriteIntent::Reschedule(_)
            | WriteIntent::Confirm(_)
            | WriteIntent::CheckIn(_)
            | WriteIntent::Note(_)
            | WriteIntent::Cancel(_) => Resource::Appointments,
        };
        let Some(source) = self.processor.source() else { return Ok(()) };
        if let Some(link) = self.unit.link(source, resource, &written.foreign_id)? {
            let gone = matches!(work, WriteIntent::Record { operation: Operation::Delete, .. });
            let link = if gone { Link::new(link.id) } else { link.overwritten() };
            self.unit.put_link(source, resource, &written.foreign_id, link);
        }
        Ok(())
    }

    /// Returns the record that a pull created under the foreign id before the id was linked.
    fn find_duplicate(&mut self, resource: Resource, id: u64, written: &Written) -> Result<Option<u64>, Reject> {
        let Some(source) = self.processor.source() else { return Ok(None) };
        Ok(self.unit.link(source, resource, &written.foreign_id)?.map(|link| link.id).filter(|known| *known != id))
    }

    /// Returns `true` if the record has no other pending write.
    fn last_of(&self, write: WriteId, resource: Resource, id: u64) -> bool {
        self.processor.machine.state.queue.for_record(resource, id).all(|(other, _)| other == write)
    }

    pub(super) fn set_write(&mut self, resource: Resource, id: u64, write: RecordWrite) -> Result<(), Reject> {
        schema::on(resource, SetWrite { projection: self, id, write })
    }

    /// Updates the merge base: the document and the EHR agree on the fields of this write.
    fn content_written(&mut self, write: WriteId, work: WriteIntent, id: u64) -> Result<(), Reject> {
        if self.is_elsewhere(id)? {
            return Ok(());
        }
        let mut others = self.processor.machine.state.queue.for_appointment(location::ids::AppointmentId(id));
        let last = others.all(|(other, pending)| other == write || !changes_content(pending.work));
        if last {
            self.unit.forget_merge_base::<Record<Appointment>>(0, id);
        } else if let (Some(mut before), Some(now)) =
            (self.unit.merge_base::<Record<Appointment>>(0, id)?, self.unit.get::<Record<Appointment>>(0, id)?)
        {
            copy_written(work, &now, &mut before);
            self.unit.set_merge_base(&before)?;
        }
        Ok(())
    }

    fn set_version(&mut self, appointment: u64, written: &Written) -> Result<(), Reject> {
        self.change_if_local(appointment, |record| record.version.clone_from(&written.version))
    }
}

struct CompletedWrite<'m, 'a, 'p> {
    projection: &'m mut Projection<'a, 'p>,
    id: u64,
    operation: Operation,
    last: bool,
    written: &'m Written,
}

impl Visitor for CompletedWrite<'_, '_, '_> {
    type Output = Result<(), Reject>;

    fn visit<T: Body>(self) -> Self::Output {
        let CompletedWrite { projection, id, operation, last, written } = self;
        let (scope, now) = (projection.processor.scope::<T>(), projection.cx.now);
        if operation == Operation::Create {
            if let Some(duplicate) = projection.find_duplicate(T::RESOURCE, id, written)? {
                projection.delete_record(T::RESOURCE, duplicate)?;
            }
            projection.link(T::RESOURCE, id, written)?;
        }
        projection.unit.change::<Record<T>>(scope, id, |entry| {
            if operation == Operation::Create {
                entry.foreign_id = Some(written.foreign_id.clone());
                entry.updated_at = now;
            }
            if last {
                entry.write = Some(RecordWrite::succeeded());
            }
            entry.last_sync_time = Some(now);
        })?;
        if last {
            projection.unit.forget_merge_base::<Record<T>>(scope, id);
        }
        Ok(())
    }
}

/// Restores the EHR's version of a record whose change was refused.
struct RefusedChange<'m, 'a, 'p> {
    projection: &'m mut Projection<'a, 'p>,
    id: u64,
    last: bool,
    reason: &'m str,
}

impl Visitor for RefusedChange<'_, '_, '_> {
    type Output = Result<(), Reject>;

    fn visit<T: Body>(self) -> Self::Output {
        let Projection { processor, cx, unit } = self.projection;
        let scope = processor.scope::<T>();
        if self.last
            && let Some(mut before) = unit.merge_base::<Record<T>>(scope, self.id)?
        {
            before.updated_at = cx.now;
            before.write = Some(RecordWrite::failed(self.reason));
            unit.put(&before)?;
            unit.forget_merge_base::<Record<T>>(scope, self.id);
        }
        Ok(())
    }
}

struct SetWrite<'m, 'a, 'p> {
    projection: &'m mut Projection<'a, 'p>,
    id: u64,
    write: RecordWrite,
}

impl Visitor for SetWrite<'_, '_, '_> {
    type Output = Result<(), Reject>;

    fn visit<T: Body>(self) -> Self::Output {
        let Projection { processor, cx, unit } = self.projection;
        unit.change::<Record<T>>(processor.scope::<T>(), self.id, |record| {
            record.write = Some(self.write);
            record.updated_at = cx.now;
        })?;
        Ok(())
    }
}

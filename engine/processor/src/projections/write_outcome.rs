//! Changes of documents by finished writes.

use location::{DecisionContext, Operation, Resource, WriteId, WriteIntent, command::Written, event::InsertFailure};
use records::{
    Appointment, Body, Patient, Record, RecordWrite,
    document::Link,
    schema::{self, Visitor},
};

use crate::{
    Processor, Reject, UnitOfWork,
    unit_of_work::merge_base::{changes_content, copy_written},
};

impl Processor {
    /// Handles a successful write.
    pub fn written(
        &self,
        cx: DecisionContext,
        write: WriteId,
        work: WriteIntent,
        written: &Written,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(), Reject> {
        self.overwritten(work, written, unit)?;
        match work {
            WriteIntent::CreatePatient(patient) => {
                let id = u64::from(patient.0);
                let twin = self.twin(Resource::Patients, id, written, unit)?;
                self.link(Resource::Patients, id, written, unit)?;
                unit.change::<Record<Patient>>(self.institution.id.0, id, |record| {
                    record.foreign_id = Some(written.foreign_id.clone());
                    record.write = Some(RecordWrite::succeeded());
                    record.ssn = None;
                    record.last_sync_time = Some(cx.now);
                    record.updated_at = cx.now;
                })?;
                if let Some(twin) = twin {
                    // A pull showed the patient before the write was answered.
                    self.gone(cx, Resource::Patients, twin, unit)?;
                }
            }
            WriteIntent::Record { resource: Resource::Patients, id, .. } => {
                let (scope, last) = (self.institution.id.0, self.last_of(write, Resource::Patients, id));
                if last {
                    unit.forget_merge_base::<Record<Patient>>(scope, id);
                }
                unit.change::<Record<Patient>>(scope, id, |record| {
                    record.ssn = None;
                    if last {
                        record.write = Some(RecordWrite::succeeded());
                    }
                })?;
            }
            WriteIntent::Record { resource: Resource::WorkingHours, id, operation } => {
                self.hour_written(cx, write, (id, operation), written, unit)?;
            }
            WriteIntent::Record { resource, id, operation } => {
                let last = self.last_of(write, resource, id);
                schema::on(resource, CompletedWrite { processor: self, cx, id, operation, last, written, unit })?;
            }
            WriteIntent::Confirm(appointment) | WriteIntent::CheckIn(appointment) | WriteIntent::Note(appointment) => {
                self.content_written(write, work, appointment.0, unit)?;
                self.set_version(appointment.0, written, unit)?;
            }
            WriteIntent::Reschedule(appointment) => self.set_version(appointment.0, written, unit)?,
            // `InsertDone` handles inserts. The version of a cancelled record is not needed.
            WriteIntent::CreateAppointment(_) | WriteIntent::Cancel(_) => {}
            // `Replacement` handles both steps of a replacement.
            WriteIntent::Replace(_) | WriteIntent::CancelReplaced { .. } => {}
        }
        Ok(())
    }

    /// Handles a failed write by restoring the EHR's version.
    pub fn not_written(
        &self,
        cx: DecisionContext,
        write: WriteId,
        work: WriteIntent,
        (how, reason): (InsertFailure, &str),
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(), Reject> {
        match work {
            WriteIntent::CreatePatient(patient) => {
                let (id, operation, last) = (patient.0.into(), Operation::Create, true);
                schema::on(Resource::Patients, NotDone { processor: self, cx, id, operation, last, reason, unit })?;
            }
            WriteIntent::Record { resource: Resource::Patients, id, .. } => {
                // A later change is kept until the EHR has answered that, too.
                if self.last_of(write, Resource::Patients, id)
                    && let Some(mut before) = unit.merge_base::<Record<Patient>>(self.institution.id.0, id)?
                {
                    let now = unit.get::<Record<Patient>>(self.institution.id.0, id)?;
                    before.updated_at = cx.now;
                    before.write = Some(RecordWrite::failed(reason));
                    self.index_patient(now.as_ref(), &before, unit)?;
                    unit.put(&before)?;
                    unit.forget_merge_base::<Record<Patient>>(self.institution.id.0, id);
                }
            }
            WriteIntent::Record { resource: Resource::WorkingHours, id, .. } => {
                self.hour_not_written(cx, id, (how, reason), unit)?;
            }
            WriteIntent::Record { resource, id, operation } => {
                let last = self.last_of(write, resource, id);
                schema::on(resource, NotDone { processor: self, cx, id, operation, last, reason, unit })?;
            }
            WriteIntent::Confirm(appointment) | WriteIntent::CheckIn(appointment) | WriteIntent::Note(appointment) => {
                // If the appointment was removed, there is nothing to restore.
                if how != InsertFailure::Withdrawn
                    && let Some(before) = unit.merge_base::<Record<Appointment>>(0, appointment.0)?
                {
                    self.change_here(appointment.0, unit, |record| {
                        copy_written(work, &before, record);
                        record.updated_at = cx.now;
                    })?;
                }
                self.content_written(write, work, appointment.0, unit)?;
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
    pub fn link(
        &self,
        resource: Resource,
        id: u64,
        written: &Written,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(), Reject> {
        let Some(source) = self.source() else { return Ok(()) };
        let is_linked = unit.link(source, resource, &written.foreign_id)?.is_some_and(|known| known.id == id);
        let is_appointment = resource == Resource::Appointments;
        if !is_linked && !(is_appointment && self.was_read_elsewhere(&written.foreign_id, id, unit)?) {
            unit.put_link(source, resource, &written.foreign_id, Link::new(id));
        }
        Ok(())
    }

    /// Returns `true` if staff moved an appointment created here to another location of the data source before its
    /// write was answered. That location has read it as a new appointment, which keeps the link: only that location can
    /// release its place.
    pub fn was_read_elsewhere(&self, foreign_id: &str, id: u64, unit: &mut UnitOfWork<'_>) -> Result<bool, Reject> {
        let Some(source) = self.source() else { return Ok(false) };
        let link = unit.link(source, Resource::Appointments, foreign_id)?;
        let Some(twin) = link.filter(|link| link.id != id) else { return Ok(false) };
        let created_at = unit.get_ref::<Record<Appointment>>(0, id)?.map(|ours| ours.created_at);
        let twin = unit.get_ref::<Record<Appointment>>(0, twin.id)?;
        // An older appointment is another one: the EHR has used its identifier again.
        Ok(twin.is_some_and(|twin| twin.location() != self.setup.id.0 && Some(twin.created_at) >= created_at))
    }

    /// Updates the link of a changed record. If staff restore the version shown before this write, that is a change.
    fn overwritten(&self, work: WriteIntent, written: &Written, unit: &mut UnitOfWork<'_>) -> Result<(), Reject> {
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
        let Some(source) = self.source() else { return Ok(()) };
        if let Some(link) = unit.link(source, resource, &written.foreign_id)? {
            let gone = matches!(work, WriteIntent::Record { operation: Operation::Delete, .. });
            let link = if gone { Link::new(link.id) } else { link.overwritten() };
            unit.put_link(source, resource, &written.foreign_id, link);
        }
        Ok(())
    }

    /// Returns the record that a pull created under the foreign id before the id was linked.
    fn twin(
        &self,
        resource: Resource,
        id: u64,
        written: &Written,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<Option<u64>, Reject> {
        let Some(source) = self.source() else { return Ok(None) };
        Ok(unit.link(source, resource, &written.foreign_id)?.map(|link| link.id).filter(|known| *known != id))
    }

    /// Returns `true` if the record has no other pending write.
    fn last_of(&self, write: WriteId, resource: Resource, id: u64) -> bool {
        self.machine.state.queue.for_record(resource, id).all(|(other, _)| other == write)
    }

    /// Updates the merge base: the document and the EHR agree on the fields of this write.
    fn content_written(
        &self,
        write: WriteId,
        work: WriteIntent,
        id: u64,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(), Reject> {
        if self.is_elsewhere(id, unit)? {
            return Ok(());
        }
        let mut others = self.machine.state.queue.of(location::ids::AppointmentId(id));
        let last = others.all(|(other, pending)| other == write || !changes_content(pending.work));
        if last {
            unit.forget_merge_base::<Record<Appointment>>(0, id);
        } else if let (Some(mut before), Some(now)) =
            (unit.merge_base::<Record<Appointment>>(0, id)?, unit.get::<Record<Appointment>>(0, id)?)
        {
            copy_written(work, &now, &mut before);
            unit.set_merge_base(&before)?;
        }
        Ok(())
    }

    fn set_version(&self, appointment: u64, written: &Written, unit: &mut UnitOfWork<'_>) -> Result<(), Reject> {
        self.change_here(appointment, unit, |record| record.version.clone_from(&written.version))?;
        Ok(())
    }
}

struct CompletedWrite<'s, 'd, 'p> {
    processor: &'s Processor,
    cx: DecisionContext,
    id: u64,
    operation: Operation,
    last: bool,
    written: &'s Written,
    unit: &'d mut UnitOfWork<'p>,
}

impl Visitor for CompletedWrite<'_, '_, '_> {
    type Output = Result<(), Reject>;

    fn visit<T: Body>(self) -> Self::Output {
        let CompletedWrite { processor, cx, id, operation, last, written, unit } = self;
        let scope = processor.scope::<T>();
        if operation == Operation::Create {
            if let Some(twin) = processor.twin(T::RESOURCE, id, written, unit)? {
                processor.gone(cx, T::RESOURCE, twin, unit)?;
            }
            processor.link(T::RESOURCE, id, written, unit)?;
        }
        unit.change::<Record<T>>(scope, id, |entry| {
            if operation == Operation::Create {
                entry.foreign_id = Some(written.foreign_id.clone());
                entry.updated_at = cx.now;
            }
            if last {
                entry.write = Some(RecordWrite::succeeded());
            }
            entry.last_sync_time = Some(cx.now);
        })?;
        if last {
            unit.forget_merge_base::<Record<T>>(scope, id);
        }
        Ok(())
    }
}

struct NotDone<'s, 'd, 'p> {
    processor: &'s Processor,
    cx: DecisionContext,
    id: u64,
    operation: Operation,
    last: bool,
    reason: &'s str,
    unit: &'d mut UnitOfWork<'p>,
}

impl Visitor for NotDone<'_, '_, '_> {
    type Output = Result<(), Reject>;

    fn visit<T: Body>(self) -> Self::Output {
        let NotDone { processor, cx, id, operation, last, reason, unit } = self;
        let scope = processor.scope::<T>();
        if operation == Operation::Create {
            unit.change::<Record<T>>(scope, id, |entry| {
                entry.write = Some(RecordWrite::failed(reason));
                entry.updated_at = cx.now;
            })?;
        } else if last && let Some(mut before) = unit.merge_base::<Record<T>>(scope, id)? {
            before.updated_at = cx.now;
            before.write = Some(RecordWrite::failed(reason));
            unit.put(&before)?;
            unit.forget_merge_base::<Record<T>>(scope, id);
        }
        Ok(())
    }
}

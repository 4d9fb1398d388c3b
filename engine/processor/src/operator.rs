//! Writes an operator has tried again or gives up: what their documents say of them, and what becomes of these.

use location::{
    command::{Command, Cx, Retried, RetriedAppointment, Retry},
    decision::{Decision, Refusal, Reply},
    event::Work,
    ids::{AppointmentTypeId, Lane, PatientId, WriteId},
    pull::{Resource, Verb},
};
use records::{
    Appointment, Patient, WorkingHour, Write, Writeback,
    entries::{self, Visitor},
    entry::{Body, Entry, EntryWrite, WriteStatus},
};

use crate::{
    projections::working_hours,
    request::Answer,
    turn::{Processor, TurnError},
    unit_of_work::UnitOfWork,
};

type Prepared = Result<(Decision, Answer), TurnError>;

impl Processor {
    pub fn prepare_retry(&self, cx: Cx, id: WriteId, unit: &mut UnitOfWork<'_>) -> Prepared {
        let ended = match self.ended(id, unit)? {
            Ok(ended) => ended,
            Err(refusal) => return Ok(refuse(refusal)),
        };
        let what = match self.forgotten(ended.work, unit)? {
            Ok(what) => what,
            Err(refusal) => return Ok(refuse(refusal)),
        };
        let lane = ended.lane.unwrap_or(match (ended.work, &what) {
            (Work::CreatePatient(patient), _) => Lane::Patient(patient),
            (_, Retried::Appointment(appointment)) => Lane::Patient(appointment.patient),
            (Work::Record { resource, id, .. }, _) => Lane::Record { resource, id },
            _ => Lane::Record { resource: Resource::Appointments, id: id.0 },
        });
        let retry = Retry { write: id, work: ended.work, lane, key: ended.key, sent: ended.attempts > 0, what };
        Ok(self.prepare_command(cx, &Command::RetryWrite(retry)))
    }

    pub fn prepare_drop(&self, cx: Cx, id: WriteId, unit: &mut UnitOfWork<'_>) -> Prepared {
        let failed = match self.machine.state.queue.get(id) {
            Some(_) => false,
            None => match self.ended(id, unit)? {
                Ok(_) => true,
                Err(refusal) => return Ok(refuse(refusal)),
            },
        };
        Ok(self.prepare_command(cx, &Command::DropWrite { write: id, failed }))
    }

    /// A write that ended without being written, and that nobody retried or dropped since.
    fn ended(&self, id: WriteId, unit: &mut UnitOfWork<'_>) -> Result<Result<Write, Refusal>, TurnError> {
        if self.machine.state.queue.get(id).is_some() {
            return Ok(Err(Refusal::WriteNotFailed));
        }
        let Some(ended) = unit.get::<Write>(self.setup.id.0, id.0)? else { return Ok(Err(Refusal::WriteNotFound)) };
        let settled = ended.done || ended.dropped || ended.retried_as.is_some();
        Ok(if settled { Err(Refusal::WriteNotFailed) } else { Ok(ended) })
    }

    /// What the machine needs of a failed record, if that still stands as the failure left it.
    fn forgotten(&self, work: Work, unit: &mut UnitOfWork<'_>) -> Result<Result<Retried, Refusal>, TurnError> {
        let institution = self.institution.id.0;
        let failed = |failed: bool, what| if failed { Ok(what) } else { Err(Refusal::WriteNotFailed) };
        Ok(match work {
            Work::CreatePatient(id) => {
                let patient = unit.get::<Patient>(institution, u64::from(id.0))?;
                failed(patient.is_some_and(|it| it.foreign_id.is_none() && it.write_error.is_some()), Retried::Record)
            }
            Work::CreateAppointment(id) => {
                let record = unit.get::<Appointment>(0, id.0)?;
                let record = record.filter(|it| it.foreign_id.is_none() && !it.cancelled && refused(it));
                let Some(record) = record else { return Ok(Err(Refusal::WriteNotFailed)) };
                let Some(patient) = record.patient_id else { return Ok(Err(Refusal::WriteNotFailed)) };
                let known = unit.get::<Patient>(institution, u64::from(patient))?;
                if known.is_none_or(|it| it.foreign_id.is_none() && it.write_error.is_some()) {
                    return Ok(Err(Refusal::WriteOfPatientFirst));
                }
                Ok(Retried::Appointment(RetriedAppointment {
                    placement: record.placement,
                    appointment_type: record.appointment_type_id.map(AppointmentTypeId),
                    patient: PatientId(patient),
                }))
            }
            Work::Record { resource: Resource::WorkingHours, id, verb: Verb::Create } => {
                let record = unit.get::<WorkingHour>(self.setup.id.0, id)?;
                let record = record.filter(|it| it.refused() && it.deleted_at.is_none());
                record.map(|it| Retried::Hour(working_hours::rules(&it))).ok_or(Refusal::WriteNotFailed)
            }
            Work::Record { resource, id, verb: Verb::Create } => {
                let source = self.source().unwrap_or(0);
                let found = entries::on(resource, Failed { source, id, unit }).transpose()?;
                failed(found.unwrap_or_default(), Retried::Record)
            }
            _ => Err(Refusal::WriteWasPutBack),
        })
    }

    /// The documents of a write that is tried again: it waits once more.
    pub fn retried(
        &self,
        cx: Cx,
        write: WriteId,
        of: WriteId,
        work: Work,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(), TurnError> {
        unit.change::<Write>(self.setup.id.0, of.0, |record| record.retried_as = Some(write.0))?;
        let pending = Some(EntryWrite::pending());
        match work {
            Work::CreatePatient(id) => {
                unit.change::<Patient>(self.institution.id.0, u64::from(id.0), |record| {
                    record.write_error = None;
                    record.write.clone_from(&pending);
                    record.updated_at = cx.now;
                })?;
            }
            Work::CreateAppointment(id) => {
                unit.change::<Appointment>(0, id.0, |record| {
                    record.updated_at = cx.now;
                    if let Some(booking) = &mut record.booking {
                        booking.writeback = Writeback::Pending;
                        booking.failure_reason = None;
                    }
                })?;
            }
            Work::Record { resource: Resource::WorkingHours, id, .. } => {
                unit.change::<WorkingHour>(self.setup.id.0, id, |record| {
                    record.write = pending;
                    record.updated_at = cx.now;
                })?;
            }
            Work::Record { resource, id, .. } => {
                let source = self.source().unwrap_or(0);
                entries::on(resource, Again { cx, source, id, pending, unit }).transpose()?;
            }
            _ => {}
        }
        Ok(())
    }

    pub fn dropped(&self, write: WriteId, unit: &mut UnitOfWork<'_>) -> Result<(), TurnError> {
        unit.change::<Write>(self.setup.id.0, write.0, |record| record.dropped = true)?;
        Ok(())
    }
}

fn refuse(refusal: Refusal) -> (Decision, Answer) {
    (Decision::refuse(refusal.clone()), Answer::from(Reply::Refused(refusal)))
}

fn refused(record: &Appointment) -> bool {
    record.booking.as_ref().is_some_and(|booking| booking.writeback == Writeback::Failed)
}

/// Whether the write of a record in a frame failed.
struct Failed<'d, 'p> {
    source: u32,
    id: u64,
    unit: &'d mut UnitOfWork<'p>,
}

impl Visitor for Failed<'_, '_> {
    type Output = Result<bool, TurnError>;

    fn visit<T: Body>(self) -> Self::Output {
        let entry = self.unit.get::<Entry<T>>(self.source, self.id)?;
        let failed = |write: &EntryWrite| write.status == WriteStatus::Failed;
        Ok(entry.is_some_and(|it| {
            it.deleted_at.is_none() && it.foreign_id.is_none() && it.write.as_ref().is_some_and(failed)
        }))
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
    type Output = Result<(), TurnError>;

    fn visit<T: Body>(self) -> Self::Output {
        let Again { cx, source, id, pending, unit } = self;
        unit.change::<Entry<T>>(source, id, |entry| {
            entry.write = pending;
            entry.updated_at = cx.now;
        })?;
        Ok(())
    }
}

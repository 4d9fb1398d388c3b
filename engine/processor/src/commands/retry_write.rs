//! Retries a failed write at the request of an operator.

use location::{
    AppointmentTypeId, Refusal, Reply, WriteId, WriteIntent,
    command::{Retried, RetriedAppointment, Retry},
};
use records::{Appointment, FinishedWrite, Patient, WorkingHour, Writeback, appointment::ReplacedInEhr};

use super::prelude::*;
use crate::projections::working_hours;

#[derive(Clone)]
pub struct RetryWrite(pub WriteId);

impl Request for RetryWrite {
    type Reply = WriteId;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        let ended = at.failed_write(self.0, unit)?;
        let what = at.forgotten(ended.work, unit)?;
        let ordering_key = ended.lane.unwrap_or(match (ended.work, &what) {
            (WriteIntent::CreatePatient(patient), _) => OrderingKey::Patient(patient),
            (_, Retried::Appointment(appointment)) => OrderingKey::Patient(appointment.patient),
            (WriteIntent::Record { resource, id, .. }, _) => OrderingKey::Record { resource, id },
            _ => OrderingKey::Record { resource: Resource::Appointments, id: self.0.0 },
        });
        let retry =
            Retry { write: self.0, work: ended.work, ordering_key, key: ended.key, sent: ended.attempts > 0, what };
        let decision = at.decide(cx, &Command::RetryWrite(retry))?;
        match decision.reply {
            Reply::Retried { write } => Ok((decision, write)),
            _ => Err(Reject::Damaged("a retry with an unexpected reply")),
        }
    }
}

impl Processor {
    /// Returns a failed write that was neither retried nor dropped since.
    pub fn failed_write(&self, id: WriteId, unit: &mut UnitOfWork<'_>) -> Result<FinishedWrite, Reject> {
        let refused = |refusal| Err(Reject::Refused(refusal));
        if self.machine.state.queue.get(id).is_some() {
            return refused(Refusal::WriteNotFailed);
        }
        let Some(ended) = unit.get::<FinishedWrite>(self.setup.id.0, id.0)? else {
            return refused(Refusal::WriteNotFound);
        };
        let settled = ended.done || ended.dropped || ended.retried_as.is_some();
        if settled { refused(Refusal::WriteNotFailed) } else { Ok(ended) }
    }

    /// Returns the data for the retry, if the failed record is unchanged since.
    fn forgotten(&self, work: WriteIntent, unit: &mut UnitOfWork<'_>) -> Result<Retried, Reject> {
        let institution = self.institution.id.0;
        let refuse = |refusal| Err(Reject::Refused(refusal));
        let mut record = |resource: Resource, id: u64| -> Result<Retried, Reject> {
            let facts = self.facts(resource, id, unit)?;
            let failed = facts.is_some_and(|it| !it.deleted && it.rejected);
            if failed { Ok(Retried::Record) } else { refuse(Refusal::WriteNotFailed) }
        };
        match work {
            WriteIntent::CreatePatient(id) => record(Resource::Patients, id.0.into()),
            WriteIntent::CreateAppointment(id) => {
                let record = unit.get::<Record<Appointment>>(0, id.0)?;
                let record = record.filter(|it| it.foreign_id.is_none() && !it.cancelled && refused(it));
                let Some(record) = record else { return refuse(Refusal::WriteNotFailed) };
                let Some(patient) = record.patient_id else { return refuse(Refusal::WriteNotFailed) };
                let known = unit.get::<Record<Patient>>(institution, u64::from(patient))?;
                if known.is_none_or(|it| it.rejected()) {
                    return refuse(Refusal::WriteOfPatientFirst);
                }
                Ok(Retried::Appointment(RetriedAppointment {
                    placement: record.placement,
                    appointment_type: record.appointment_type_id.map(AppointmentTypeId),
                    patient: PatientId(patient),
                }))
            }
            WriteIntent::Record { resource: Resource::WorkingHours, id, operation: Operation::Create } => {
                let record = unit.get::<Record<WorkingHour>>(self.setup.id.0, id)?;
                let record = record.filter(|it| it.rejected() && it.deleted_at.is_none());
                record
                    .map(|it| Retried::Hour(working_hours::rules(&it)))
                    .ok_or(Reject::Refused(Refusal::WriteNotFailed))
            }
            WriteIntent::Record { resource, id, operation: Operation::Create } => record(resource, id),
            WriteIntent::CancelReplaced { appointment, replaced } => {
                let record = unit.get::<Record<Appointment>>(0, appointment.0)?;
                let is_left = |it: &ReplacedInEhr| it.is_left(replaced.0);
                let left = record.is_some_and(|record| record.replaced.iter().any(is_left));
                if left { Ok(Retried::Record) } else { refuse(Refusal::WriteNotFailed) }
            }
            _ => refuse(Refusal::WriteWasPutBack),
        }
    }
}

fn refused(record: &Record<Appointment>) -> bool {
    record.booking.as_ref().is_some_and(|booking| booking.writeback == Writeback::Failed)
}

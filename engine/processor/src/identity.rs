//! Checks that an answer of the EHR does not name a record that is already linked to another record here.

use location::{
    Command, Operation, Resource, Timestamp, WriteId, WriteIntent,
    command::{Failure, Written},
};
use records::{
    Appointment, Body, Record,
    document::Link,
    schema::{self, Visitor},
    write::public_id,
};

use crate::{Processor, Reject, UnitOfWork};

/// Facts about a record of any resource.
pub(crate) struct RecordFacts {
    pub(crate) created_at: Timestamp,
    /// The record was deleted in the EHR, where others may get its identifier.
    pub(crate) gone: bool,
    /// The document shows that the record was created here.
    pub(crate) created_here: bool,
    pub(crate) deleted: bool,
    /// The EHR rejected the creation of the record.
    pub(crate) rejected: bool,
    pub(crate) in_use: bool,
}

impl Processor {
    /// Replaces an answer that names an EHR record already linked to another record here. Such an answer is no evidence
    /// about this record. Returns `None` for other commands.
    pub fn reject_conflicting_answer(
        &self,
        command: &Command,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<Option<Command>, Reject> {
        Ok(match command {
            Command::Pushed { write, attempt, outcome: Ok(written) } => {
                let another = self.identifier_conflict(*write, written, unit)?;
                another.map(|failure| Command::Pushed { write: *write, attempt: *attempt, outcome: Err(failure) })
            }
            Command::Found { write, attempt, outcome: Ok(Some(written)) } => {
                let another = self.identifier_conflict(*write, written, unit)?;
                another.map(|failure| Command::Found { write: *write, attempt: *attempt, outcome: Err(failure) })
            }
            _ => None,
        })
    }

    fn identifier_conflict(
        &self,
        write: WriteId,
        written: &Written,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<Option<Failure>, Reject> {
        let Some(queued) = self.machine.state.queue.get(write) else { return Ok(None) };
        let (Some(source), Some((resource, id))) = (self.source(), created_record(queued.work)) else {
            return Ok(None);
        };
        let link = unit.link(source, resource, &written.foreign_id)?;
        let replaces = matches!(queued.work, WriteIntent::Replace(_));
        if replaces && link.is_some_and(|link| link.id == id) {
            // The old appointment is cancelled next, so the answer must name another one.
            let record = unit.get_ref::<Record<Appointment>>(0, id)?;
            let is_old = |record: &Record<Appointment>| record.foreign_id.as_ref() == Some(&written.foreign_id);
            if link.is_some_and(Link::is_replaced) || record.is_some_and(is_old) {
                let reason = "the EHR answered with the identifier of the appointment that is to be replaced";
                return Ok(Some(Failure::OfAnother(reason.to_owned())));
            }
        }
        let Some(link) = link.filter(|link| link.id != id) else { return Ok(None) };
        let (Some(this), Some(other)) = (self.facts(resource, id, unit)?, self.facts(resource, link.id, unit)?) else {
            return Ok(None);
        };
        // A pull may have shown the result of this write before its answer came, but not before the write existed.
        let written_since = if replaces { queued.queued_at } else { this.created_at };
        let there_before = other.created_at < written_since && !queued.clock_changed;
        let this_one = link.pulled() && !other.created_here && !there_before;
        if other.gone || this_one {
            return Ok(None);
        }
        let name = schema::rules(resource).name;
        let write = public_id(self.setup.id.0, write.0);
        tracing::warn!(location = %self.setup.id, write, other = link.id, "the EHR answered with the identifier of another {name}");
        let reason = format!("the EHR answered with the identifier that {name} {} has already", link.id);
        Ok(Some(Failure::OfAnother(reason)))
    }

    pub(crate) fn facts(
        &self,
        resource: Resource,
        id: u64,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<Option<RecordFacts>, Reject> {
        schema::on(resource, ReadFacts { processor: self, id, unit })
    }
}

struct ReadFacts<'s, 'd, 'p> {
    processor: &'s Processor,
    id: u64,
    unit: &'d mut UnitOfWork<'p>,
}

impl Visitor for ReadFacts<'_, '_, '_> {
    type Output = Result<Option<RecordFacts>, Reject>;

    fn visit<T: Body>(self) -> Self::Output {
        let record = self.unit.get_ref::<Record<T>>(self.processor.scope::<T>(), self.id)?;
        Ok(record.map(|it| RecordFacts {
            created_at: it.created_at,
            gone: T::is_deleted(it),
            created_here: T::is_made_here(it),
            deleted: it.deleted_at.is_some(),
            rejected: it.rejected(),
            in_use: it.body.in_use(),
        }))
    }
}

fn created_record(work: WriteIntent) -> Option<(Resource, u64)> {
    match work {
        WriteIntent::CreatePatient(id) => Some((Resource::Patients, id.0.into())),
        WriteIntent::CreateAppointment(id) | WriteIntent::Replace(id) => Some((Resource::Appointments, id.0)),
        WriteIntent::Record { resource, id, operation: Operation::Create } => Some((resource, id)),
        _ => None,
    }
}

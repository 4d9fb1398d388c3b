//! Working hours set here: their documents, the machine's rules, and the outcomes of their writes.

use location::{
    AppointmentTypeId, Command, DecisionContext, Event, HourSource, Operation, OperatoryId, ProviderId, Resource,
    WorkingHourId, WriteId, WriteIntent, command::Written, event::InsertFailure, hours,
};
use records::{Record, RecordWrite, WorkingHour, WriteStatus, document::Link};

use crate::{Processor, Reject, UnitOfWork};

/// Returns the machine's rules of working hours.
pub(crate) fn rules(record: &Record<WorkingHour>) -> hours::WorkingHour {
    hours::WorkingHour {
        id: WorkingHourId(record.id),
        provider: ProviderId(record.provider_id),
        operatory: record.operatory_id.map(OperatoryId),
        begin: record.begin,
        end: record.end,
        recurrence: record.recurrence.clone(),
        kind: record.kind,
        source: record.source,
        appointment_types: record.appointment_type_ids.iter().map(|id| AppointmentTypeId(*id)).collect(),
        active: record.active,
    }
}

/// Updates a document from the machine's rules.
fn set(record: &mut Record<WorkingHour>, hour: &hours::WorkingHour) {
    record.provider_id = hour.provider.0;
    record.operatory_id = hour.operatory.map(|id| id.0);
    record.begin = hour.begin;
    record.end = hour.end;
    record.recurrence = hour.recurrence.clone();
    record.kind = hour.kind;
    record.source = hour.source;
    record.appointment_type_ids = hour.appointment_types.iter().map(|id| id.0).collect();
    record.active = hour.active;
}

impl Processor {
    /// Returns the place where working hours were first entered, if the machine knows the hours.
    pub(crate) fn source_of_hours(&self, id: u64) -> Option<HourSource> {
        let (id, state) = (WorkingHourId(u32::try_from(id).ok()?), &self.machine.state);
        state.hours.get(&id).or_else(|| state.confirmed_hours.get(&id)).map(|hour| hour.source)
    }

    /// Handles a successful write of working hours.
    pub fn hour_written(
        &self,
        cx: DecisionContext,
        write: WriteId,
        (id, operation): (u64, Operation),
        written: &Written,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(), Reject> {
        let mut others = self.machine.state.queue.for_record(Resource::WorkingHours, id);
        let status =
            if others.all(|(other, _)| other == write) { WriteStatus::Succeeded } else { WriteStatus::Pending };
        if operation == Operation::Create {
            self.link(Resource::WorkingHours, id, written, unit)?;
        }
        unit.change::<Record<WorkingHour>>(self.setup.id.0, id, |record| {
            record.write = Some(RecordWrite { status, reason: None });
            if operation == Operation::Create {
                record.foreign_id = Some(written.foreign_id.clone());
                record.updated_at = cx.now;
            }
        })?;
        Ok(())
    }

    /// Handles a failed write of working hours. `HourReverted` restores the EHR's version.
    pub fn hour_not_written(
        &self,
        cx: DecisionContext,
        id: u64,
        (how, reason): (InsertFailure, &str),
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(), Reject> {
        if how == InsertFailure::Withdrawn {
            return Ok(());
        }
        unit.change::<Record<WorkingHour>>(self.setup.id.0, id, |record| {
            record.write = Some(RecordWrite { status: WriteStatus::Failed, reason: Some(reason.to_owned()) });
            record.updated_at = cx.now;
        })?;
        Ok(())
    }

    pub fn hour_reverted(
        &self,
        cx: DecisionContext,
        to: &hours::WorkingHour,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(), Reject> {
        unit.change::<Record<WorkingHour>>(self.setup.id.0, to.id.0.into(), |record| {
            set(record, to);
            record.updated_at = cx.now;
            record.deleted_at = None;
        })?;
        Ok(())
    }

    /// Merges working hours that a pull showed before the answer to their write, as for appointments.
    pub fn find_hour_twin(
        &self,
        cx: DecisionContext,
        events: &mut Vec<Event>,
        id: u64,
        written: &Written,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(), Reject> {
        let (location, source) = (self.setup.id.0, self.source().unwrap_or(0));
        let shown: Option<Link> = unit.link(source, Resource::WorkingHours, &written.foreign_id)?;
        let Some(shown) = shown.filter(|link| link.id != id) else { return Ok(()) };
        let Some(ours) = unit.get::<Record<WorkingHour>>(location, id)? else { return Ok(()) };
        let twin = unit.get::<Record<WorkingHour>>(location, shown.id)?;
        // Without a document, the record was already deleted when its id was first seen.
        let said = twin.as_ref().filter(|twin| twin.deleted_at.is_none());
        let said = said.map(|twin| {
            let mut said = Record { id: ours.id, ..twin.clone() };
            said.source = HourSource::Manual;
            said
        });
        let mut after = self.machine.clone();
        events.iter().for_each(|event| after.evolve(cx.now, event));
        let command = Command::HourDuplicateFound {
            twin: WorkingHourId(u32::try_from(shown.id).unwrap_or(u32::MAX)),
            ours: WorkingHourId(ours.id),
            shown: said.as_ref().map(rules),
        };
        let decided = after.decide(cx, &command).events;
        for event in &decided {
            if let Event::HourPulled(hour) = event {
                unit.change::<Record<WorkingHour>>(location, id, |record| set(record, hour))?;
            }
        }
        self.gone(cx, Resource::WorkingHours, shown.id, unit)?;
        events.extend(decided);
        Ok(())
    }
}

/// Returns working hours that the event reports as created in the EHR.
pub(crate) fn created(event: &Event) -> Option<(u64, Written)> {
    match event {
        Event::WriteDone {
            work: WriteIntent::Record { resource: Resource::WorkingHours, id, operation: Operation::Create },
            written: Some(written),
            ..
        } => Some((*id, written.clone())),
        _ => None,
    }
}

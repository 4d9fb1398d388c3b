//! Working hours set here: their documents, the machine's rules, and the outcomes of their writes.

use location::{
    AppointmentTypeId, Command, Event, HourSource, Operation, OperatoryId, ProviderId, Resource, WorkingHourId,
    WriteId, WriteIntent, command::Written, event::InsertFailure, hours,
};
use records::{Record, RecordWrite, WorkingHour, WriteStatus, document::Link};

use super::Projection;
use crate::{Processor, Reject};

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
}

impl Projection<'_, '_> {
    /// Handles a successful write of working hours.
    pub(super) fn hour_written(
        &mut self,
        write: WriteId,
        (id, operation): (u64, Operation),
        written: &Written,
    ) -> Result<(), Reject> {
        let (processor, now) = (self.processor, self.cx.now);
        let mut others = processor.machine.state.queue.for_record(Resource::WorkingHours, id);
        let status =
            if others.all(|(other, _)| other == write) { WriteStatus::Succeeded } else { WriteStatus::Pending };
        if operation == Operation::Create {
            self.link(Resource::WorkingHours, id, written)?;
        }
        self.unit.change::<Record<WorkingHour>>(processor.setup.id.0, id, |record| {
            record.write = Some(RecordWrite { status, reason: None });
            if operation == Operation::Create {
                record.foreign_id = Some(written.foreign_id.clone());
                record.updated_at = now;
            }
        })?;
        Ok(())
    }

    /// Handles a failed write of working hours. `HourReverted` restores the EHR's version.
    pub(super) fn hour_not_written(&mut self, id: u64, (how, reason): (InsertFailure, &str)) -> Result<(), Reject> {
        match how {
            InsertFailure::Withdrawn => Ok(()),
            _ => self.set_write(Resource::WorkingHours, id, RecordWrite::failed(reason)),
        }
    }

    pub(super) fn hour_reverted(&mut self, to: &hours::WorkingHour) -> Result<(), Reject> {
        let now = self.cx.now;
        self.unit.change::<Record<WorkingHour>>(self.processor.setup.id.0, to.id.0.into(), |record| {
            set(record, to);
            record.updated_at = now;
            record.deleted_at = None;
        })?;
        Ok(())
    }

    /// Merges working hours that a pull showed before the answer to their write, as for appointments.
    pub(crate) fn merge_duplicate_hours(
        &mut self,
        events: &mut Vec<Event>,
        id: u64,
        written: &Written,
    ) -> Result<(), Reject> {
        let Projection { processor, cx, unit } = self;
        let (location, source) = (processor.setup.id.0, processor.source().unwrap_or(0));
        let shown: Option<Link> = unit.link(source, Resource::WorkingHours, &written.foreign_id)?;
        let Some(shown) = shown.filter(|link| link.id != id) else { return Ok(()) };
        let Some(local) = unit.get::<Record<WorkingHour>>(location, id)? else { return Ok(()) };
        let duplicate = unit.get::<Record<WorkingHour>>(location, shown.id)?;
        // Without a document, the record was already deleted when its id was first seen.
        let in_ehr = duplicate.as_ref().filter(|duplicate| duplicate.deleted_at.is_none());
        let in_ehr = in_ehr.map(|duplicate| {
            let mut in_ehr = Record { id: local.id, ..duplicate.clone() };
            in_ehr.source = HourSource::Manual;
            in_ehr
        });
        let mut after = processor.machine.clone();
        events.iter().for_each(|event| after.evolve(cx.now, event));
        let command = Command::HourDuplicateFound {
            duplicate: WorkingHourId(u32::try_from(shown.id).unwrap_or(u32::MAX)),
            local: WorkingHourId(local.id),
            shown: in_ehr.as_ref().map(rules),
        };
        let decided = after.decide(*cx, &command).events;
        for event in &decided {
            if let Event::HourPulled(hour) = event {
                unit.change::<Record<WorkingHour>>(location, id, |record| set(record, hour))?;
            }
        }
        self.delete_record(Resource::WorkingHours, shown.id)?;
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

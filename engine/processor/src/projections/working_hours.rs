//! Working hours set here, between their documents, the machine and the EHR.

use location::{
    command::{Command, Cx, Outcome, Written},
    event::{Event, InsertFailure},
    hours::{self, HourSource, Recurrence},
    ids::{AppointmentTypeId, OperatoryId, ProviderId, WorkingHourId, WriteId},
    intent::WriteIntent,
    pull::Resource,
    resource::Operation,
    zone::Date,
};
use records::{
    WorkingHour,
    document::Link,
    ehr::{EhrRecurrence, EhrWorkingHour, Write},
    entry::{EntryWrite, WriteStatus},
};

use crate::{error::Reject, processor::Processor, unit_of_work::UnitOfWork};

/// What the machine has to know of hours.
pub(crate) fn rules(record: &WorkingHour) -> hours::WorkingHour {
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

/// The document as the machine has the hours.
fn set(record: &mut WorkingHour, hour: &hours::WorkingHour) {
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
    /// A write of hours, in the EHR's words.
    pub fn outgoing_hour(&self, id: u64, verb: Operation) -> Result<Outcome<Write>, Reject> {
        let record = self.read::<WorkingHour>(self.setup.id.0, id)?;
        let record = record.ok_or(Reject::Damaged("a write without its working hours"))?;
        if verb == Operation::Delete {
            return Ok(Ok(Write::DeleteWorkingHour(record.foreign_id.unwrap_or_default())));
        }
        let hour = self.ehr_hour(record)?;
        Ok(hour.map(if verb == Operation::Create { Write::CreateWorkingHour } else { Write::UpdateWorkingHour }))
    }

    fn ehr_hour(&self, record: WorkingHour) -> Result<Outcome<EhrWorkingHour>, Reject> {
        let mut failure = None;
        let mut foreign = |resource, id: u64| -> Result<String, Reject> {
            Ok(self.foreign_id(resource, id)?.unwrap_or_else(|why| {
                failure.get_or_insert(why);
                String::new()
            }))
        };
        let provider = foreign(Resource::Providers, record.provider_id.into())?;
        let operatory = record.operatory_id.map(|id| foreign(Resource::Operatories, id)).transpose()?;
        let types = record.appointment_type_ids.iter().map(|id| foreign(Resource::AppointmentTypes, u64::from(*id)));
        let appointment_types = types.collect::<Result<_, _>>()?;
        let (days, specific_date, recurrence) = recurrence(record.recurrence);
        let hour = EhrWorkingHour {
            id: record.foreign_id.unwrap_or_default(),
            provider,
            operatory,
            begin_time: time_of_day(record.begin),
            end_time: time_of_day(record.end),
            days,
            specific_date: specific_date.map(|date| date.to_string()),
            recurrence,
            kind: record.kind,
            appointment_types,
            label: record.label,
            active: record.active,
            extra: Vec::new(),
        };
        Ok(failure.map_or(Ok(hour), Err))
    }

    /// The EHR took a write of hours.
    pub fn hour_written(
        &self,
        cx: Cx,
        write: WriteId,
        (id, verb): (u64, Operation),
        written: &Written,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(), Reject> {
        let mut others = self.machine.state.queue.of_record(Resource::WorkingHours, id);
        let status =
            if others.all(|(other, _)| other == write) { WriteStatus::Succeeded } else { WriteStatus::Pending };
        if verb == Operation::Create {
            self.link(Resource::WorkingHours, id, written, unit)?;
        }
        unit.change::<WorkingHour>(self.setup.id.0, id, |record| {
            record.write = Some(EntryWrite { status, reason: None });
            if verb == Operation::Create {
                record.foreign_id = Some(written.foreign_id.clone());
                record.updated_at = cx.now;
            }
        })?;
        Ok(())
    }

    /// The EHR would not take a write of hours; `HourReverted` puts back what it has.
    pub fn hour_not_written(
        &self,
        cx: Cx,
        id: u64,
        (how, reason): (InsertFailure, &str),
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(), Reject> {
        if how == InsertFailure::Withdrawn {
            return Ok(());
        }
        unit.change::<WorkingHour>(self.setup.id.0, id, |record| {
            record.write = Some(EntryWrite { status: WriteStatus::Failed, reason: Some(reason.to_owned()) });
            record.updated_at = cx.now;
        })?;
        Ok(())
    }

    pub fn hour_reverted(&self, cx: Cx, to: &hours::WorkingHour, unit: &mut UnitOfWork<'_>) -> Result<(), Reject> {
        unit.change::<WorkingHour>(self.setup.id.0, to.id.0.into(), |record| {
            set(record, to);
            record.updated_at = cx.now;
            record.deleted_at = None;
        })?;
        Ok(())
    }

    /// As with an appointment: a pull may show hours before the answer to their write says that they are ours.
    pub fn supersede_hour(
        &self,
        cx: Cx,
        events: &mut Vec<Event>,
        id: u64,
        written: &Written,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(), Reject> {
        let (location, source) = (self.setup.id.0, self.source().unwrap_or(0));
        let shown: Option<Link> = unit.link(source, Resource::WorkingHours, &written.foreign_id)?;
        let Some(shown) = shown.filter(|link| link.id != id) else { return Ok(()) };
        let Some(ours) = unit.get::<WorkingHour>(location, id)? else { return Ok(()) };
        let twin = unit.get::<WorkingHour>(location, shown.id)?;
        // Without a document: they were gone when we first heard of them.
        let said = twin.as_ref().filter(|twin| twin.deleted_at.is_none());
        let said = said.map(|twin| WorkingHour { id: ours.id, source: HourSource::Manual, ..twin.clone() });
        let mut after = self.machine.clone();
        events.iter().for_each(|event| after.evolve(cx.now, event));
        let command = Command::HourSuperseded {
            twin: WorkingHourId(u32::try_from(shown.id).unwrap_or(u32::MAX)),
            ours: WorkingHourId(ours.id),
            shown: said.as_ref().map(rules),
        };
        let decided = after.decide(cx, &command).events;
        for event in &decided {
            if let Event::HourPulled(hour) = event {
                unit.change::<WorkingHour>(location, id, |record| set(record, hour))?;
            }
        }
        self.gone(cx, Resource::WorkingHours, shown.id, unit)?;
        events.extend(decided);
        Ok(())
    }
}

/// The hours an event says are in the EHR now, for the first time.
pub(crate) fn created(event: &Event) -> Option<(u64, Written)> {
    match event {
        Event::WriteDone {
            work: WriteIntent::Record { resource: Resource::WorkingHours, id, verb: Operation::Create },
            written: Some(written),
            ..
        } => Some((*id, written.clone())),
        _ => None,
    }
}

fn recurrence(from: Recurrence) -> (Vec<hours::Weekday>, Option<Date>, Option<EhrRecurrence>) {
    match from {
        Recurrence::Weekly(days) => (days, None, None),
        Recurrence::On(date) => (Vec::new(), Some(date), None),
        Recurrence::Every { number, unit, reference } => {
            (Vec::new(), None, Some(EhrRecurrence { number, unit, reference: reference.to_string() }))
        }
    }
}

/// `HH:MM`; the end of the day is `24:00`.
fn time_of_day(minutes: u16) -> String {
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

//! Creates, changes and removes working hours set by hand. They offer slots at once, and are written to an EHR that
//! accepts working hours.

use location::{HourKind, HourSource, Recurrence, Refusal, WorkingHourId};
use records::{WorkingHour, WriteStatus};

use super::{prelude::*, references::all_met, save::queued};
use crate::projections::working_hours;

/// Equal times could mean a whole day, which is more likely a typing error.
const NO_TIME: &str = "working_hour.end_time must differ from begin_time; a whole day is 00:00 to 24:00.";
const NOT_TAKEN: &str = "The health record system takes no working hours: these stay here only, and offer slots here.";
const OF_OUR_TYPES: &str = "The working hours are for appointment types the health record system does not have: they stay here only, \
                            and offer slots here.";

#[derive(Clone)]
pub enum WriteWorkingHour {
    Create(WorkingHourDetails),
    Change(u32, WorkingHourChange),
    Remove(u32),
}

#[derive(Clone)]
pub struct WorkingHourDetails {
    pub provider_id: u32,
    pub operatory_id: Option<u64>,
    /// Minutes after local midnight.
    pub begin: u16,
    pub end: u16,
    pub recurrence: Recurrence,
    pub appointment_type_ids: Vec<u32>,
    pub active: bool,
}

/// Changes of working hours. Absent fields stay unchanged.
#[derive(Clone, Default)]
pub struct WorkingHourChange {
    pub provider_id: Option<u32>,
    /// `Some(None)` removes the operatory.
    pub operatory_id: Option<Option<u64>>,
    pub begin: Option<u16>,
    pub end: Option<u16>,
    pub recurrence: Option<Recurrence>,
    pub appointment_type_ids: Option<Vec<u32>>,
    pub active: Option<bool>,
}

impl Request for WriteWorkingHour {
    type Reply = Saved<Record<WorkingHour>>;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        match self {
            WriteWorkingHour::Create(new) => {
                let id = narrow(unit.allot(Resource::WorkingHours)?)?;
                at.put_hour(cx, id, new, None, unit)
            }
            WriteWorkingHour::Change(id, change) => {
                let before = at.record::<WorkingHour>(u64::from(*id), unit)?;
                if before.source == HourSource::Synced {
                    return Err(Reject::Refused(Refusal::HourOfEhr));
                }
                at.put_hour(cx, *id, &change.applied_to(&before), Some(before), unit)
            }
            WriteWorkingHour::Remove(id) => {
                let mut hour = at.record::<WorkingHour>(u64::from(*id), unit)?;
                let decision = at.decide(cx, &Command::RemoveHour { hour: WorkingHourId(*id) })?;
                hour.delete(cx.now);
                unit.put(&hour)?;
                Ok((decision, Saved::new(hour)))
            }
        }
    }
}

impl WorkingHourChange {
    fn applied_to(&self, before: &WorkingHour) -> WorkingHourDetails {
        let (recurrence, types) = (&self.recurrence, &self.appointment_type_ids);
        WorkingHourDetails {
            provider_id: self.provider_id.unwrap_or(before.provider_id),
            operatory_id: self.operatory_id.unwrap_or(before.operatory_id),
            begin: self.begin.unwrap_or(before.begin),
            end: self.end.unwrap_or(before.end),
            recurrence: recurrence.as_ref().unwrap_or(&before.recurrence).clone(),
            appointment_type_ids: types.as_ref().unwrap_or(&before.appointment_type_ids).clone(),
            active: self.active.unwrap_or(before.active),
        }
    }
}

impl Processor {
    fn put_hour(
        &self,
        cx: DecisionContext,
        id: u32,
        new: &WorkingHourDetails,
        before: Option<Record<WorkingHour>>,
        unit: &mut UnitOfWork<'_>,
    ) -> Prepared<Saved<Record<WorkingHour>>> {
        let mut wrong = Vec::new();
        if self.setup.map_by_operatory && new.operatory_id.is_none() {
            wrong.push(PreconditionError::InvalidValue("Operatory uuid can't be blank".to_owned()));
        }
        let unchanged = before.as_ref().is_some_and(|before| (before.begin, before.end) == (new.begin, new.end));
        if new.begin == new.end && !unchanged {
            wrong.push(PreconditionError::InvalidValue(NO_TIME.to_owned()));
        }
        let body = WorkingHour {
            provider_id: new.provider_id,
            operatory_id: new.operatory_id,
            begin: new.begin,
            end: new.end,
            recurrence: new.recurrence.clone(),
            kind: before.as_ref().map_or(HourKind::WorkingHour, |before| before.kind),
            source: HourSource::Manual,
            appointment_type_ids: new.appointment_type_ids.clone(),
            label: before.as_ref().and_then(|before| before.label.clone()),
            active: new.active,
        };
        let mut record = Record {
            source_id: self.source(),
            location_id: Some(self.setup.id.0),
            foreign_id: before.as_ref().and_then(|before| before.foreign_id.clone()),
            created_at: before.as_ref().map_or(cx.now, |before| before.created_at),
            last_sync_time: before.as_ref().and_then(|before| before.last_sync_time),
            ..Record::new(id, self.institution.id.0, cx.now, body)
        };
        let hour = working_hours::rules(&record);
        if let Err(problems) = hour.validate() {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            wrong.push(PreconditionError::InvalidValue(format!("working_hour: {}", problems.join("; "))));
        }
        wrong.extend(self.unknown_in_schedule(new.provider_id, new.operatory_id, &new.appointment_type_ids, unit)?);
        all_met(wrong)?;
        let here_only = self.source().is_some() && self.has_local_type(&new.appointment_type_ids, unit)?;
        let decision = self.decide(cx, &Command::SetHour { hour, here_only })?;
        let queued = queued(&decision);
        if let (true, Some(before)) = (decision.events.is_empty(), before) {
            record = before;
        } else {
            record.write = queued.then_some(RecordWrite { status: WriteStatus::Pending, reason: None });
            unit.put(&record)?;
        }
        let stays_here = self.source().is_some() && !queued;
        let why = if here_only { OF_OUR_TYPES } else { NOT_TAKEN };
        let warnings = stays_here.then(|| why.to_owned()).into_iter().collect();
        Ok((decision, Saved { warnings, ..Saved::new(record) }))
    }

    /// Returns `true` if any of the types was created here. The EHR does not know such types, so it cannot have hours
    /// limited to them.
    fn has_local_type(&self, ids: &[u32], unit: &mut UnitOfWork<'_>) -> Result<bool, Reject> {
        for id in ids {
            let kind = unit.get::<Record<records::AppointmentType>>(self.setup.institution.0, u64::from(*id))?;
            if kind.is_none_or(|kind| kind.foreign_id.is_none()) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

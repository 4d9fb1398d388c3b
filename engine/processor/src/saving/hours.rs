//! Working hours set by hand: they offer slots here at once, and an EHR that takes hours is told of them.

use location::{
    command::{Command, Cx},
    decision::{Decision, Refusal, Reply},
    hours::{HourKind, HourSource},
    ids::WorkingHourId,
    pull::Resource,
};
use records::{
    self,
    entry::{EntryWrite, WriteStatus},
};

use crate::saving::{Prepared, refused, saved, unmet};
use crate::{
    book::narrow,
    projections::working_hours,
    request::Answer,
    requests::{HourChange, NewHour, Unmet},
    turn::{Processor, TurnError},
    unit_of_work::UnitOfWork,
};

/// Read as a day, a slip of the pen would open the practice for one.
const NO_TIME: &str = "working_hour.end_time must differ from begin_time; a whole day is 00:00 to 24:00.";
const NOT_TAKEN: &str = "The health record system takes no working hours: these stay here only, and offer slots here.";
const OF_OUR_TYPES: &str = "The working hours are for appointment types the health record system does not have: they stay here only, \
                            and offer slots here.";

impl Processor {
    pub(super) fn new_hour(&self, cx: Cx, new: &NewHour, unit: &mut UnitOfWork<'_>) -> Prepared {
        let id = narrow(unit.allot(Resource::WorkingHours)?)?;
        self.put_hour(cx, id, new, None, unit)
    }

    pub(super) fn change_hour(&self, cx: Cx, id: u32, change: &HourChange, unit: &mut UnitOfWork<'_>) -> Prepared {
        let Some(before) = self.kept_hour(id, unit)? else {
            return unmet(Unmet::NotFound { resource: Resource::WorkingHours, id: id.into() });
        };
        if before.source == HourSource::Synced {
            return Ok((Decision::refuse(Refusal::HourOfEhr), Answer::from(Reply::Refused(Refusal::HourOfEhr))));
        }
        self.put_hour(cx, id, &change.of(&before), Some(before), unit)
    }

    pub(super) fn remove_hour(&self, cx: Cx, id: u32, unit: &mut UnitOfWork<'_>) -> Prepared {
        let Some(mut hour) = self.kept_hour(id, unit)? else {
            return unmet(Unmet::NotFound { resource: Resource::WorkingHours, id: id.into() });
        };
        let decision = self.machine.decide(cx, &Command::RemoveHour { hour: WorkingHourId(id) });
        if !refused(&decision) {
            hour.active = false;
            hour.updated_at = cx.now;
            hour.deleted_at = Some(cx.now);
            unit.put(&hour)?;
        }
        saved(decision, &hour)
    }

    fn kept_hour(&self, id: u32, unit: &mut UnitOfWork<'_>) -> Result<Option<records::WorkingHour>, TurnError> {
        let found = unit.get::<records::WorkingHour>(self.setup.id.0, id.into())?;
        Ok(found.filter(|hour| hour.deleted_at.is_none()))
    }

    fn put_hour(
        &self,
        cx: Cx,
        id: u32,
        new: &NewHour,
        before: Option<records::WorkingHour>,
        unit: &mut UnitOfWork<'_>,
    ) -> Prepared {
        let unknown = self.unknown_in_schedule(new.provider_id, new.operatory_id, &new.appointment_type_ids, unit)?;
        if let Some(missing) = Unmet::of(unknown) {
            return unmet(missing);
        }
        if self.setup.map_by_operatory && new.operatory_id.is_none() {
            return unmet(Unmet::Wrong("Operatory uuid can't be blank".to_owned()));
        }
        let unchanged = before.as_ref().is_some_and(|before| (before.begin, before.end) == (new.begin, new.end));
        if new.begin == new.end && !unchanged {
            return unmet(Unmet::Wrong(NO_TIME.to_owned()));
        }
        let mut record = records::WorkingHour {
            id,
            location_id: self.setup.id.0,
            foreign_id: before.as_ref().and_then(|before| before.foreign_id.clone()),
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
            write: None,
            created_at: before.as_ref().map_or(cx.now, |before| before.created_at),
            updated_at: cx.now,
            deleted_at: None,
        };
        let hour = working_hours::rules(&record);
        if let Err(problems) = hour.validate() {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            return unmet(Unmet::Wrong(format!("working_hour: {}", problems.join("; "))));
        }
        let here_only = self.source().is_some() && self.any_type_of_ours(&new.appointment_type_ids, unit)?;
        let decision = self.machine.decide(cx, &Command::SetHour { hour, here_only });
        let told = decision.reply == Reply::Saved { queued: true };
        if let (true, Some(before)) = (decision.events.is_empty(), before) {
            record = before;
        } else if !refused(&decision) {
            record.write = told.then_some(EntryWrite { status: WriteStatus::Pending, reason: None });
            unit.put(&record)?;
        }
        let (decision, mut answer) = saved(decision, &record)?;
        if self.source().is_some() && answer.reply == (Reply::Saved { queued: false }) {
            answer.warnings.push(if here_only { OF_OUR_TYPES } else { NOT_TAKEN }.to_owned());
        }
        Ok((decision, answer))
    }

    /// Types made here are unknown to the EHR: it cannot have hours that are for them only.
    fn any_type_of_ours(&self, ids: &[u32], unit: &mut UnitOfWork<'_>) -> Result<bool, TurnError> {
        for id in ids {
            let kind = unit.get::<records::AppointmentType>(self.setup.institution.0, u64::from(*id))?;
            if kind.is_none_or(|kind| kind.foreign_id.is_none()) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl HourChange {
    fn of(&self, before: &records::WorkingHour) -> NewHour {
        NewHour {
            provider_id: self.provider_id.unwrap_or(before.provider_id),
            operatory_id: self.operatory_id.unwrap_or(before.operatory_id),
            begin: self.begin.unwrap_or(before.begin),
            end: self.end.unwrap_or(before.end),
            recurrence: self.recurrence.clone().unwrap_or_else(|| before.recurrence.clone()),
            appointment_type_ids: self
                .appointment_type_ids
                .clone()
                .unwrap_or_else(|| before.appointment_type_ids.clone()),
            active: self.active.unwrap_or(before.active),
        }
    }
}

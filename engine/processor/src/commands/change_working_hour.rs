//! Changes working hours that were set by hand.

use location::{command::DecisionContext, decision::Refusal, hours::HourSource};
use records::{self, WorkingHour, record::Record};

use super::working_hours::WorkingHourDetails;
use crate::{
    error::{Prepared, Reject},
    processor::Processor,
    reply::Saved,
    request::Request,
    unit_of_work::UnitOfWork,
};

#[derive(Clone)]
pub struct ChangeWorkingHour {
    pub id: u32,
    pub change: WorkingHourChange,
}

/// Changes of working hours. Absent fields stay unchanged.
#[derive(Clone, Default)]
pub struct WorkingHourChange {
    pub provider_id: Option<u32>,
    /// `Some(None)` removes the operatory.
    pub operatory_id: Option<Option<u64>>,
    pub begin: Option<u16>,
    pub end: Option<u16>,
    pub recurrence: Option<location::hours::Recurrence>,
    pub appointment_type_ids: Option<Vec<u32>>,
    pub active: Option<bool>,
}

impl Request for ChangeWorkingHour {
    type Reply = Saved<Record<WorkingHour>>;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        let before = at.working_hour(self.id, unit)?;
        if before.source == HourSource::Synced {
            return Err(Reject::Refused(Refusal::HourOfEhr));
        }
        at.put_hour(cx, self.id, &self.change.applied_to(&before), Some(before), unit)
    }
}

impl WorkingHourChange {
    fn applied_to(&self, before: &Record<records::WorkingHour>) -> WorkingHourDetails {
        WorkingHourDetails {
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

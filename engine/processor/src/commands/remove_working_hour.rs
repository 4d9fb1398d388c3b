//! Removes working hours that were set by hand.

use location::{
    command::{Command, DecisionContext},
    decision::Decision,
    ids::WorkingHourId,
};
use records::{WorkingHour, record::Record};

use crate::{error::Reject, processor::Processor, reply::Saved, request::Request, unit_of_work::UnitOfWork};

#[derive(Clone)]
pub struct RemoveWorkingHour(pub u32);

impl Request for RemoveWorkingHour {
    type Reply = Saved<Record<WorkingHour>>;

    fn prepare(
        &self,
        at: &Processor,
        cx: DecisionContext,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(Decision, Self::Reply), Reject> {
        let mut hour = at.working_hour(self.0, unit)?;
        let decision = at.decide(cx, &Command::RemoveHour { hour: WorkingHourId(self.0) })?;
        hour.delete(cx.now);
        unit.put(&hour)?;
        Ok((decision, Saved::new(hour)))
    }
}

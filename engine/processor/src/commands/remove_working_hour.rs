//! Removes working hours that were set by hand.

use location::{
    command::{Command, DecisionContext},
    ids::WorkingHourId,
};
use records::{WorkingHour, record::Record};

use crate::{error::Prepared, processor::Processor, reply::Saved, request::Request, unit_of_work::UnitOfWork};

#[derive(Clone)]
pub struct RemoveWorkingHour(pub u32);

impl Request for RemoveWorkingHour {
    type Reply = Saved<Record<WorkingHour>>;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        let mut hour = at.working_hour(self.0, unit)?;
        let decision = at.decide(cx, &Command::RemoveHour { hour: WorkingHourId(self.0) })?;
        hour.delete(cx.now);
        unit.put(&hour)?;
        Ok((decision, Saved::new(hour)))
    }
}

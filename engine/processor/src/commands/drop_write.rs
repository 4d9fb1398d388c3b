//! An operator gives up a write that waits, with all that rests on it, or one that failed, so that nobody tries it again.

use location::{
    command::{Command, Cx},
    decision::Decision,
    ids::WriteId,
};

use crate::{error::Reject, processor::Processor, request::Request, unit_of_work::UnitOfWork};

#[derive(Clone)]
pub struct DropWrite(pub WriteId);

impl Request for DropWrite {
    type Reply = ();

    fn prepare(&self, at: &Processor, cx: Cx, unit: &mut UnitOfWork<'_>) -> Result<(Decision, Self::Reply), Reject> {
        let failed = at.machine.state.queue.get(self.0).is_none();
        if failed {
            at.failed_write(self.0, unit)?;
        }
        Ok((at.decide(cx, &Command::DropWrite { write: self.0, failed })?, ()))
    }
}

//! What a location can be asked from outside its machine. Each request has a file in `commands`, with its reply.

use location::{
    command::{Command, Cx},
    decision::Decision,
};
use query::idempotency::{self, IdempotencyKey, Lookup};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    error::Reject, processor::Processor, reply::Saved, sweep::SWEPT_AT_ONCE, unit_of_work::UnitOfWork, unmet::Unmet,
};

pub trait Request: Send + 'static {
    type Reply: Send + 'static;

    /// The machine's decision, and the reply. What is to be written with it goes into the unit of work.
    fn prepare(&self, at: &Processor, cx: Cx, unit: &mut UnitOfWork<'_>) -> Result<(Decision, Self::Reply), Reject>;

    /// It asks for nothing but what is due.
    fn wakes(&self) -> bool {
        false
    }

    /// The EHR is asked anew what it can do: whoever wants it read now has perhaps changed that.
    fn describes(&self) -> bool {
        false
    }

    /// What it writes counts as reading the EHR.
    fn reads(&self) -> bool {
        false
    }

    /// It is about memory as it was: once the location is loaded anew, there is nothing to do.
    fn ends_with_memory(&self) -> bool {
        false
    }

    /// Records of the EHR that it brings or deletes, and that can be taken in part by part.
    fn records(&self) -> usize {
        0
    }

    /// The same for the first `most` of its records.
    fn prepare_part(
        &self,
        at: &Processor,
        cx: Cx,
        unit: &mut UnitOfWork<'_>,
        _most: usize,
    ) -> Result<(Decision, Self::Reply), Reject> {
        self.prepare(at, cx, unit)
    }
}

/// A command of the machine: an answer of the EHR, a timer, an operator. An answer is looked at before it is believed.
impl Request for Command {
    type Reply = ();

    fn wakes(&self) -> bool {
        matches!(self, Command::Wake)
    }

    fn describes(&self) -> bool {
        matches!(self, Command::SyncNow)
    }

    /// Whether the clock was set back is seen anew.
    fn ends_with_memory(&self) -> bool {
        matches!(self, Command::ClockSetBack { .. })
    }

    fn records(&self) -> usize {
        if matches!(self, Command::Wake) { SWEPT_AT_ONCE } else { 0 }
    }

    fn prepare(&self, at: &Processor, cx: Cx, unit: &mut UnitOfWork<'_>) -> Result<(Decision, ()), Reject> {
        self.prepare_part(at, cx, unit, SWEPT_AT_ONCE)
    }

    fn prepare_part(
        &self,
        at: &Processor,
        cx: Cx,
        unit: &mut UnitOfWork<'_>,
        most: usize,
    ) -> Result<(Decision, ()), Reject> {
        // What is due goes before a sweep, which is due as long as it lasts.
        let due = || at.machine.due_at().is_some_and(|due| due <= cx.now);
        if matches!(self, Command::Wake)
            && !due()
            && let Some(step) = at.next_sweep_step(cx, most, unit)?
        {
            return Ok((at.decide(cx, &Command::Sweep(step))?, ()));
        }
        let believed = at.believed(self, unit)?;
        Ok((at.decide(cx, believed.as_ref().unwrap_or(self))?, ()))
    }
}

/// A request that is carried out once for an idempotency key: repeated, it gets its first answer again.
#[derive(Clone)]
pub struct Idempotent<R> {
    pub key: Option<IdempotencyKey>,
    pub request: R,
}

impl<T, R> Request for Idempotent<R>
where
    T: Serialize + DeserializeOwned + Send + 'static,
    R: Request<Reply = Saved<T>>,
{
    type Reply = Saved<T>;

    fn prepare(&self, at: &Processor, cx: Cx, unit: &mut UnitOfWork<'_>) -> Result<(Decision, Saved<T>), Reject> {
        let Some(key) = &self.key else { return self.request.prepare(at, cx, unit) };
        match idempotency::lookup(unit, key, cx.now)? {
            Lookup::Fresh => {}
            Lookup::Conflict => return Err(Unmet::KeyReused.into()),
            Lookup::Replay(record) => {
                let record = serde_json::from_value(record).map_err(|_| Reject::Damaged("an answer"))?;
                return Ok((Decision::nothing(), Saved { replay: true, ..Saved::of(record) }));
            }
        }
        let (decision, saved) = self.request.prepare(at, cx, unit)?;
        if !decision.events.is_empty() {
            let record = serde_json::to_value(&saved.record).map_err(|_| Reject::Damaged("an answer"))?;
            idempotency::remember(unit, key, record, cx.now)?;
        }
        Ok((decision, saved))
    }
}

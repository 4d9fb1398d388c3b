//! Requests to a location from outside its machine. Each request has a file in `commands`, with its reply.

use location::{Command, Decision, DecisionContext};
use query::idempotency::{self, IdempotencyKey, Lookup};
use serde::{Serialize, de::DeserializeOwned};

use crate::{Prepared, Processor, Reject, Saved, UnitOfWork, precondition::PreconditionError};

pub trait Request: Send + 'static {
    type Reply: Send + 'static;

    /// Returns the machine's decision and the reply. Documents to write go into the unit of work.
    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Self::Reply>;

    /// Returns `true` if the EHR is asked for its capabilities again. A caller that requests a read may have changed
    /// them.
    fn describes(&self) -> bool {
        false
    }

    /// Returns `true` if the written bytes count towards the disk share of reading.
    fn reads(&self) -> bool {
        false
    }

    /// Returns `true` if the request refers to the state in memory. After a reload it is skipped.
    fn ends_with_memory(&self) -> bool {
        false
    }

    /// Returns `true` if preparing may take long, because the request adds or deletes many records.
    fn is_long(&self) -> bool {
        false
    }
}

/// A command of the machine: an answer of the EHR, a timer, or an operator. Answers are verified first.
impl Request for Command {
    type Reply = ();

    fn describes(&self) -> bool {
        matches!(self, Command::SyncNow)
    }

    fn is_long(&self) -> bool {
        matches!(self, Command::Wake)
    }

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<()> {
        // Due work precedes a sweep, which is due until it ends.
        let due = || at.machine.due_at().is_some_and(|due| due <= cx.now);
        if matches!(self, Command::Wake)
            && !due()
            && let Some(step) = at.next_sweep_step(cx, unit)?
        {
            return Ok((at.decide(cx, &Command::Sweep(step))?, ()));
        }
        let replaced = at.reject_conflicting_answer(self, unit)?;
        Ok((at.decide(cx, replaced.as_ref().unwrap_or(self))?, ()))
    }
}

/// A request that is executed once per idempotency key. A repetition returns the first reply.
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

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Saved<T>> {
        let Some(key) = &self.key else { return self.request.prepare(at, cx, unit) };
        match idempotency::lookup(unit, key, cx.now)? {
            Lookup::Fresh => {}
            Lookup::Conflict => return Err(PreconditionError::KeyReused.into()),
            Lookup::Replay(record) => {
                let record = serde_json::from_value(record).map_err(|_| Reject::Damaged("an answer"))?;
                return Ok((Decision::nothing(), Saved { replay: true, ..Saved::new(record) }));
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

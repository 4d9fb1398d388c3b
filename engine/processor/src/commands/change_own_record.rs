//! Changes a provider or an operatory created here.

use std::sync::Arc;

use location::{command::DecisionContext, decision::Decision, resource::Operation};
use records::record::{Body, Record};

use crate::{error::Prepared, processor::Processor, reply::Saved, request::Request, unit_of_work::UnitOfWork};

/// A change, applied to the record as it is when the request is prepared.
#[derive(Clone)]
pub struct ChangeOwnRecord<T> {
    pub id: u64,
    pub change: Arc<dyn Fn(&mut T) + Send + Sync>,
}

impl<T: Body> Request for ChangeOwnRecord<T> {
    type Reply = Saved<Record<T>>;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        let before = at.own_record::<T>(self.id, unit)?;
        let mut after = before.clone();
        (self.change)(&mut after.body);
        if after == before {
            return Ok((Decision::nothing(), Saved::new(before)));
        }
        if T::is_deleted(&after) {
            at.must_not_work_here(T::RESOURCE, self.id)?;
        }
        after.updated_at = cx.now;
        at.put_own(cx, Operation::Update, Some(&before), after, unit)
    }
}

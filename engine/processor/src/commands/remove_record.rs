//! Removes a record that the scheduling rules do not depend on.

use std::marker::PhantomData;

use location::{command::DecisionContext, resource::Operation};
use records::record::{Body, Record};

use crate::{error::Prepared, processor::Processor, reply::Saved, request::Request, unit_of_work::UnitOfWork};

#[derive(Clone)]
pub struct RemoveRecord<T> {
    id: u64,
    body: PhantomData<fn() -> T>,
}

impl<T> RemoveRecord<T> {
    pub fn new(id: u64) -> RemoveRecord<T> {
        RemoveRecord { id, body: PhantomData }
    }
}

impl<T: Body> Request for RemoveRecord<T> {
    type Reply = Saved<Record<T>>;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        let before = at.record::<T>(self.id, unit)?;
        let after = Record { deleted_at: Some(cx.now), ..before.clone() };
        at.put_changed(cx, Operation::Delete, before, after, unit)
    }
}

//! Removes a provider or an operatory created here. Appointments keep their reference to it.

use std::marker::PhantomData;

use location::{command::DecisionContext, resource::Operation};
use records::record::{Body, Record};

use crate::{error::Prepared, processor::Processor, reply::Saved, request::Request, unit_of_work::UnitOfWork};

#[derive(Clone)]
pub struct RemoveOwnRecord<T> {
    id: u64,
    body: PhantomData<fn() -> T>,
}

impl<T> RemoveOwnRecord<T> {
    pub fn new(id: u64) -> RemoveOwnRecord<T> {
        RemoveOwnRecord { id, body: PhantomData }
    }
}

impl<T: Body> Request for RemoveOwnRecord<T> {
    type Reply = Saved<Record<T>>;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        let before = at.own_record::<T>(self.id, unit)?;
        at.must_not_work_here(T::RESOURCE, self.id)?;
        let mut after = before.clone();
        after.delete(cx.now);
        at.put_own(cx, Operation::Delete, Some(&before), after, unit)
    }
}

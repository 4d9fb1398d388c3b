//! Creates a provider or an operatory at a location without EHR.

use location::{command::DecisionContext, resource::Operation};
use records::record::{Body, Record, Scope};

use crate::{
    error::Prepared, patients::narrow, processor::Processor, reply::Saved, request::Request, unit_of_work::UnitOfWork,
};

#[derive(Clone)]
pub struct CreateOwnRecord<T>(pub T);

impl<T: Body> Request for CreateOwnRecord<T> {
    type Reply = Saved<Record<T>>;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        at.must_have_no_ehr()?;
        let id = narrow(unit.allot(T::RESOURCE)?)?;
        let location_id = (T::SCOPE == Scope::Location).then_some(at.setup.id.0);
        let record = Record { location_id, ..Record::new(id, at.institution.id.0, cx.now, self.0.clone()) };
        at.put_own(cx, Operation::Create, None, record, unit)
    }
}

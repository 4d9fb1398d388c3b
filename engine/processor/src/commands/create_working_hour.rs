//! Sets working hours by hand.

use location::{command::DecisionContext, pull::Resource};
use records::{WorkingHour, record::Record};

use super::working_hours::WorkingHourDetails;
use crate::{
    error::Prepared, patients::narrow, processor::Processor, reply::Saved, request::Request, unit_of_work::UnitOfWork,
};

#[derive(Clone)]
pub struct CreateWorkingHour(pub WorkingHourDetails);

impl Request for CreateWorkingHour {
    type Reply = Saved<Record<WorkingHour>>;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        let id = narrow(unit.allot(Resource::WorkingHours)?)?;
        at.put_hour(cx, id, &self.0, None, unit)
    }
}

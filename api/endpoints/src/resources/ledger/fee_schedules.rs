//! GET /fee_schedules/{id}, GET /fee_schedule_procedures

use engine::records::Fee;
use framework::values::limits::MAX_WHOLE_LIST;

use crate::{
    prelude::*,
    views::catalogue::{FeeScheduleView, ProcedureFee},
};

#[input]
pub struct ShowFeeSchedule {
    #[read(input.includes(&["procedure_fees"]))]
    include: Vec<&'static str>,
}

pub async fn show(
    mut call: ApiCall,
    Id(id): Id<u64>,
    InTenant(tenant, ShowFeeSchedule { include }): InTenant<ShowFeeSchedule>,
) -> Answer<One<FeeScheduleView<'static>>> {
    let entry = call.entry::<FeeSchedule>(&tenant, id)?;
    let mut view = FeeScheduleView::from_record(&entry);
    if include.is_empty() {
        return Ok(call.show(view));
    }
    let fees = call.find_all::<Fee>(entry.source(), Filter::FeeSchedule(id), MAX_WHOLE_LIST)?;
    if fees.len() == MAX_WHOLE_LIST {
        call.warn("Not all fees are shown: list them with GET /fee_schedule_procedures.");
    }
    view.procedure_fees = Some(fees.iter().map(ProcedureFee::from_record).collect());
    Ok(call.show(view))
}

listing!(ListFees: |it| it.id("fee_schedule_id", "Id of the fee schedule.", Filter::FeeSchedule).since().without_deleted());

//! GET /fee_schedules, GET /fee_schedules/{id}, GET /fee_schedule_procedures

use engine::records::{Fee, FeeSchedule};
use framework::values::limits::MAX_WHOLE_LIST;

use crate::{
    prelude::*,
    views::catalogue::{FeeScheduleView, ProcedureFee},
};

#[input]
pub struct ListFeeSchedules {
    #[query(active(), default = true)]
    active: bool,
    #[read(input.listing().since().done())]
    listing: Listing,
}

pub async fn list(
    call: ApiCall,
    AtLocation(location, ListFeeSchedules { active, listing }): AtLocation<ListFeeSchedules>,
) -> Answer<Paged<FeeScheduleView<'static>>> {
    // A schedule is active unless the EHR reports otherwise.
    let in_use = |it: &Record<FeeSchedule>| it.body.active.unwrap_or(true) && it.deleted_at.is_none();
    let page = listing.entries_at(&call, &location, |it| active == in_use(it))?;
    Ok(call.page(&page.views(FeeScheduleView::from_record)))
}

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
    let mut fees = Vec::new();
    if !include.is_empty() {
        fees = call.find_all::<Fee>(entry.source(), Filter::FeeSchedule(id), MAX_WHOLE_LIST)?;
        if fees.len() == MAX_WHOLE_LIST {
            call.warn("Not all fees are shown: list them with GET /fee_schedule_procedures.");
        }
    }
    let procedure_fees = (!include.is_empty()).then(|| fees.iter().map(ProcedureFee::from_record).collect());
    let mut view = FeeScheduleView::from_record(&entry);
    view.procedure_fees = procedure_fees;
    Ok(call.show(view))
}

listing!(ListFees: |it| it.id("fee_schedule_id", "Id of the fee schedule.", Filter::FeeSchedule).since().without_deleted());

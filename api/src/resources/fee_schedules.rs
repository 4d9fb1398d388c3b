//! GET /fee_schedules, GET /fee_schedules/{id}, GET /fee_schedule_procedures

use engine::{
    lists::Filter,
    records::{Fee, FeeSchedule, record::Record},
};

use crate::{
    access::call::Call,
    http::errors::HttpResult,
    values::{
        kinds::{boolean, includes, long_id},
        limits::MAX_WHOLE_LIST,
    },
    views::catalogue::{FeeScheduleView, FeeView, ProcedureFee},
};

pub(crate) async fn list(mut call: Call) -> HttpResult {
    let (location, (active, listing)) = call.at_location(|input| {
        let active = input.query.defaulted("active", boolean(), true);
        Some((active, input.listing().since().done()))
    })?;
    // Where the EHR does not tell, a schedule is in use.
    let in_use = |it: &Record<FeeSchedule>| it.body.active.unwrap_or(true) && it.deleted_at.is_none();
    let page = listing.entries_at(&call, &location, |it| active == in_use(it))?;
    Ok(call.page(&page.views(FeeScheduleView::of)))
}

pub(crate) async fn show(mut call: Call) -> HttpResult {
    let id = call.path_id(long_id())?;
    let (tenant, include) = call.in_tenant(|input| Some(input.query.list("include", includes(&["procedure_fees"]))))?;
    let entry = call.entry::<FeeSchedule>(&tenant, id)?;
    let mut fees = Vec::new();
    if !include.is_empty() {
        fees = call.having::<Fee>(entry.source(), Filter::FeeSchedule(id), MAX_WHOLE_LIST)?;
        if fees.len() == MAX_WHOLE_LIST {
            call.warn("Not all fees are shown: list them with GET /fee_schedule_procedures.");
        }
    }
    let procedure_fees = (!include.is_empty()).then(|| fees.iter().map(ProcedureFee::of).collect());
    let mut view = FeeScheduleView::of(&entry);
    view.procedure_fees = procedure_fees;
    Ok(call.show(view))
}

pub(crate) async fn fees(mut call: Call) -> HttpResult {
    let (location, listing) = call.at_location(|input| {
        Some(input.listing().id("fee_schedule_id", Filter::FeeSchedule).since().without_deleted().done())
    })?;
    let page = listing.entries_at::<Fee>(&call, &location, |_| true)?;
    Ok(call.page(&page.views(FeeView::of)))
}

//! GET /payment_plans, GET /payment_plans/{id}

use engine::{lists::Filter, records::PaymentPlan};

use super::related::{Related, shown};
use crate::{
    access::call::Call,
    http::errors::HttpResult,
    values::kinds::{includes, long_id},
    views::ledger::PaymentPlanView,
};

pub(crate) async fn list(mut call: Call) -> HttpResult {
    let (location, listing) = call.at_location(|input| {
        Some(input.listing().sort().patient().id("guarantor_id", Filter::Guarantor).since().without_deleted().done())
    })?;
    let page = listing.entries_at::<PaymentPlan>(&call, &location, |_| true)?;
    Ok(call.page(&page.views(PaymentPlanView::of)))
}

pub(crate) async fn show(mut call: Call) -> HttpResult {
    let id = call.path_id(long_id())?;
    let (tenants, include) =
        call.in_tenants(|input| Some(input.query.list("include", includes(&["patient", "guarantor"]))))?;
    let (tenant, entry) = call.entry_of_any::<PaymentPlan>(&tenants, id)?;
    let related = Related { call: &call, tenant: &tenant, asked: &include };
    let patient = related.patient("patient", entry.body.patient_id)?;
    let guarantor = related.patient("guarantor", entry.body.guarantor_id)?;
    let mut view = PaymentPlanView::of(&entry);
    view.patient = shown(&patient, |it| call.patient_basic(it));
    view.guarantor = shown(&guarantor, |it| call.patient_basic(it));
    Ok(call.show(view))
}

//! GET /payment_plans, GET /payment_plans/{id}

use engine::records::PaymentPlan;

use super::related::{Related, map_included};
use crate::{
    access::{
        arguments::{AtLocation, Id, InTenants, included},
        call::ApiCall,
        respond::{Answer, One, Paged},
    },
    records::listing::listing,
    views::ledger::PaymentPlanView,
};

listing!(ListPaymentPlans: |it| it.sort().patient().guarantor().since().without_deleted());

pub(crate) async fn list(
    call: ApiCall,
    AtLocation(location, ListPaymentPlans(listing)): AtLocation<ListPaymentPlans>,
) -> Answer<Paged<PaymentPlanView<'static>>> {
    let page = listing.entries_at::<PaymentPlan>(&call, &location, |_| true)?;
    Ok(call.page(&page.views(PaymentPlanView::from_record)))
}

included!(ShowPaymentPlan: &["patient", "guarantor"]);

pub(crate) async fn show(
    call: ApiCall,
    Id(id): Id<u64>,
    InTenants(tenants, ShowPaymentPlan { include }): InTenants<ShowPaymentPlan>,
) -> Answer<One<PaymentPlanView<'static>>> {
    let (tenant, entry) = call.entry_of_any::<PaymentPlan>(&tenants, id)?;
    let related = Related { call: &call, tenant: &tenant, asked: &include };
    let patient = related.patient("patient", entry.body.patient_id)?;
    let guarantor = related.patient("guarantor", entry.body.guarantor_id)?;
    let mut view = PaymentPlanView::from_record(&entry);
    view.patient = map_included(&patient, |it| call.patient_basic(it));
    view.guarantor = map_included(&guarantor, |it| call.patient_basic(it));
    Ok(call.show(view))
}

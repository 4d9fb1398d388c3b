//! GET /payment_plans, GET /payment_plans/{id}

use engine::records::PaymentPlan;

use super::related::{Related, shown};
use crate::{
    access::{
        arguments::{AtLocation, FromInput, Id, InTenants},
        call::Call,
        input::Input,
        respond::{Answer, One, Paged},
    },
    records::listing::Listing,
    values::kinds::includes,
    views::ledger::PaymentPlanView,
};

pub(crate) struct ListPaymentPlans(Listing);

impl FromInput for ListPaymentPlans {
    fn from_input(input: &mut Input) -> ListPaymentPlans {
        let listing = input.listing().sort().patient().guarantor().since();
        ListPaymentPlans(listing.without_deleted().done())
    }
}

pub(crate) async fn list(
    call: Call,
    AtLocation(location, ListPaymentPlans(listing)): AtLocation<ListPaymentPlans>,
) -> Answer<Paged<PaymentPlanView<'static>>> {
    let page = listing.entries_at::<PaymentPlan>(&call, &location, |_| true)?;
    Ok(call.page(&page.views(PaymentPlanView::of)))
}

pub(crate) struct ShowPaymentPlan {
    include: Vec<&'static str>,
}

impl FromInput for ShowPaymentPlan {
    fn from_input(input: &mut Input) -> ShowPaymentPlan {
        ShowPaymentPlan { include: input.query.list("include", includes(&["patient", "guarantor"])) }
    }
}

pub(crate) async fn show(
    call: Call,
    Id(id): Id<u64>,
    InTenants(tenants, ShowPaymentPlan { include }): InTenants<ShowPaymentPlan>,
) -> Answer<One<PaymentPlanView<'static>>> {
    let (tenant, entry) = call.entry_of_any::<PaymentPlan>(&tenants, id)?;
    let related = Related { call: &call, tenant: &tenant, asked: &include };
    let patient = related.patient("patient", entry.body.patient_id)?;
    let guarantor = related.patient("guarantor", entry.body.guarantor_id)?;
    let mut view = PaymentPlanView::of(&entry);
    view.patient = shown(&patient, |it| call.patient_basic(it));
    view.guarantor = shown(&guarantor, |it| call.patient_basic(it));
    Ok(call.show(view))
}

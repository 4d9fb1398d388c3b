//! GET /claims, GET /claims/{id}

use engine::{
    lists::Filter,
    records::{Charge, Claim},
};

use super::related::{Related, map_included};
use crate::{
    access::{
        arguments::{AtLocation, Id, InTenant, included},
        call::ApiCall,
        respond::{Answer, One, Paged},
    },
    records::listing::listing,
    values::kinds::times::date,
    views::ledger::{ChargePayoutView, ClaimView},
};

listing!(ListClaims: |it| it.sort().foreign_ids().patient().guarantor().provider().since()
        .by("date_of_service", date().about("The date of service."), Filter::DateOfService).include_deleted());

pub(crate) async fn list(
    call: ApiCall,
    AtLocation(location, ListClaims(listing)): AtLocation<ListClaims>,
) -> Answer<Paged<ClaimView<'static>>> {
    let page = listing.entries_at::<Claim>(&call, &location, |_| true)?;
    Ok(call.page(&page.views(ClaimView::from_record)))
}

included!(ShowClaim: &["patient", "provider", "guarantor", "charges", "charge_payouts"]);

pub(crate) async fn show(
    call: ApiCall,
    Id(id): Id<u64>,
    InTenant(tenant, ShowClaim { include }): InTenant<ShowClaim>,
) -> Answer<One<ClaimView<'static>>> {
    let entry = call.entry::<Claim>(&tenant, id)?;
    let related = Related { call: &call, tenant: &tenant, asked: &include };
    let patient = related.patient("patient", entry.body.patient_id)?;
    let provider = related.provider("provider", entry.body.provider_id)?;
    let guarantor = related.patient("guarantor", entry.body.guarantor_id)?;
    let mut charges = Vec::new();
    if related.asks_for("charges") {
        for id in entry.body.payouts.iter().filter_map(|payout| payout.charge_id) {
            charges.extend(call.try_entry::<Charge>(&tenant, id)?);
        }
    }
    let mut view = ClaimView::from_record(&entry);
    view.patient = map_included(&patient, |it| call.patient_basic(it));
    view.provider = map_included(&provider, |it| call.provider_basic(it));
    view.guarantor = map_included(&guarantor, |it| call.patient_user(it));
    view.charges = related.asks_for("charges").then(|| charges.iter().map(|it| call.charge(it)).collect());
    view.charge_payouts = related.asks_for("charge_payouts").then(|| ChargePayoutView::all(&entry));
    Ok(call.show(view))
}

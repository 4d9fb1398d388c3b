//! GET /claims, GET /claims/{id}

use engine::{
    lists::Filter,
    records::{Charge, Claim},
};

use super::related::{Related, shown};
use crate::{
    access::{
        arguments::{AtLocation, FromInput, Id, InTenant},
        call::Call,
        input::Input,
        respond::{Answer, One, Paged},
    },
    records::listing::Listing,
    values::kinds::{includes, times::date},
    views::ledger::{ChargePayoutView, ChargeView, ClaimView},
};

pub(crate) struct ListClaims(Listing);

impl FromInput for ListClaims {
    fn from_input(input: &mut Input) -> ListClaims {
        let listing = input.listing().sort().foreign_ids().patient().guarantor();
        let listing = listing.provider().since();
        let listing = listing.by("date_of_service", date().about("The date of service."), Filter::DateOfService);
        ListClaims(listing.include_deleted().done())
    }
}

pub(crate) async fn list(
    call: Call,
    AtLocation(location, ListClaims(listing)): AtLocation<ListClaims>,
) -> Answer<Paged<ClaimView<'static>>> {
    let page = listing.entries_at::<Claim>(&call, &location, |_| true)?;
    Ok(call.page(&page.views(ClaimView::of)))
}

pub(crate) struct ShowClaim {
    include: Vec<&'static str>,
}

impl FromInput for ShowClaim {
    fn from_input(input: &mut Input) -> ShowClaim {
        const INCLUDES: &[&str] = &["patient", "provider", "guarantor", "charges", "charge_payouts"];
        ShowClaim { include: input.query.list("include", includes(INCLUDES)) }
    }
}

pub(crate) async fn show(
    call: Call,
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
    let mut view = ClaimView::of(&entry);
    view.patient = shown(&patient, |it| call.patient_basic(it));
    view.provider = shown(&provider, |it| call.provider_basic(it));
    view.guarantor = shown(&guarantor, |it| call.patient_user(it));
    view.charges = related.asks_for("charges").then(|| charges.iter().map(ChargeView::of).collect());
    view.charge_payouts = related.asks_for("charge_payouts").then(|| ChargePayoutView::all(&entry));
    Ok(call.show(view))
}

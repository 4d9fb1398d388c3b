//! GET /claims, GET /claims/{id}

use engine::{
    lists::Filter,
    records::{Charge, Claim},
};

use super::related::{Related, shown};
use crate::{
    access::call::Call,
    http::errors::HttpResult,
    values::kinds::{includes, long_id, times::date},
    views::ledger::{ChargePayoutView, ChargeView, ClaimView},
};

pub(crate) async fn list(mut call: Call) -> HttpResult {
    let (location, listing) = call.at_location(|input| {
        let listing = input.listing().sort().foreign_ids().patient().id("guarantor_id", Filter::Guarantor);
        let listing = listing.id("provider_id", Filter::Provider).since();
        Some(listing.by("date_of_service", date(), Filter::DateOfService).include_deleted().done())
    })?;
    let page = listing.entries_at::<Claim>(&call, &location, |_| true)?;
    Ok(call.page(&page.views(ClaimView::of)))
}

pub(crate) async fn show(mut call: Call) -> HttpResult {
    let id = call.path_id(long_id())?;
    let (tenant, include) = call.in_tenant(|input| {
        const INCLUDES: &[&str] = &["patient", "provider", "guarantor", "charges", "charge_payouts"];
        Some(input.query.list("include", includes(INCLUDES)))
    })?;
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

//! GET /charges, GET /charges/{id}

use engine::{
    lists::Filter,
    records::{Charge, Claim, Procedure, record::Record},
};

use super::related::{Related, map_included};
use crate::{
    access::{
        arguments::{AtLocation, FromInput, Id, InTenant, included},
        call::ApiCall,
        input::Input,
        respond::{Answer, One, Paged},
    },
    http::errors::ApiError,
    records::listing::Listing,
    values::{kinds::includes, limits::MAX_RELATED},
    views::ledger::{ChargeView, ClaimPayoutView, ClaimTotals, ClaimView},
};

pub(crate) struct ListCharges {
    include: Vec<&'static str>,
    listing: Listing,
}

impl FromInput for ListCharges {
    fn from_input(input: &mut Input) -> ListCharges {
        let include = input.query.list("include", includes(&["claim_payouts"]));
        let listing = input.listing().sort().foreign_ids().patient().provider();
        let listing = listing.procedure().guarantor();
        ListCharges { include, listing: listing.since().include_deleted().done() }
    }
}

pub(crate) async fn list(
    call: ApiCall,
    AtLocation(location, ListCharges { include, listing }): AtLocation<ListCharges>,
) -> Answer<Paged<ChargeView<'static>>> {
    let page = listing.entries_at::<Charge>(&call, &location, |_| true)?;
    let mut views = page.views(|it| call.charge(it));
    if !include.is_empty() {
        for (view, charge) in views.rows.iter_mut().zip(&page.rows) {
            view.claim_payouts = Some(ClaimPayoutView::for_charge(charge.id, &claims_of(&call, charge)?));
        }
    }
    Ok(call.page(&views))
}

included!(ShowCharge: &["patient", "provider", "procedure", "guarantor", "claims", "claim_payouts", "totals"]);

pub(crate) async fn show(
    call: ApiCall,
    Id(id): Id<u64>,
    InTenant(tenant, ShowCharge { include }): InTenant<ShowCharge>,
) -> Answer<One<ChargeView<'static>>> {
    let entry = call.entry::<Charge>(&tenant, id)?;
    let related = Related { call: &call, tenant: &tenant, asked: &include };
    let patient = related.patient("patient", entry.body.patient_id)?;
    let provider = related.provider("provider", entry.body.provider_id)?;
    let guarantor = related.patient("guarantor", entry.body.guarantor_id)?;
    let procedure = related.entry::<Procedure>("procedure", entry.body.procedure_id)?;
    let of_claims = ["claims", "claim_payouts", "totals"].iter().any(|name| related.asks_for(name));
    let claims = if of_claims { claims_of(&call, &entry)? } else { Vec::new() };
    let asked = |name: &str| related.asks_for(name).then_some(());
    let mut view = call.charge(&entry);
    view.patient = map_included(&patient, |it| call.patient_basic(it));
    view.provider = map_included(&provider, |it| call.provider_basic(it));
    view.guarantor = map_included(&guarantor, |it| call.patient_user(it));
    view.procedure = map_included(&procedure, |it| call.procedure(it));
    view.claims = asked("claims").map(|()| claims.iter().map(ClaimView::from_record).collect());
    view.claim_payouts = asked("claim_payouts").map(|()| ClaimPayoutView::for_charge(id, &claims));
    view.totals = asked("totals").map(|()| ClaimTotals::for_charge(id, &claims));
    Ok(call.show(view))
}

/// Returns the claims that contain a charge.
pub(crate) fn claims_of(call: &ApiCall, charge: &Record<Charge>) -> Result<Vec<Record<Claim>>, ApiError> {
    call.find_all(charge.source(), Filter::Charge(charge.id), MAX_RELATED)
}

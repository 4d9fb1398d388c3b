//! GET /charges

use crate::{
    prelude::*,
    views::ledger::{ChargeView, ClaimPayoutView},
};

#[input]
pub struct ListCharges {
    #[query(includes(&["claim_payouts"]))]
    include: Vec<&'static str>,
    #[read(input.listing().sort().foreign_ids().patient().provider().procedure().guarantor()
        .since().include_deleted().done())]
    listing: Listing,
}

pub async fn list(
    call: ApiCall,
    AtLocation(location, ListCharges { include, listing }): AtLocation<ListCharges>,
) -> Answer<Paged<ChargeView<'static>>> {
    let page = listing.entries_at::<Charge>(&call, &location, |_| true)?;
    if include.is_empty() {
        return call.page_of(&page, |it| ChargeView::render(it, &call));
    }
    let mut views = page.views(|it| ChargeView::render(it, &call));
    for (view, charge) in views.rows.iter_mut().zip(&page.rows) {
        let claims = call.find_all::<Claim>(charge.source(), Filter::Charge(charge.id), MAX_RELATED)?;
        view.claim_payouts = Some(ClaimPayoutView::for_charge(charge.id, &claims));
    }
    Ok(call.page(&views))
}

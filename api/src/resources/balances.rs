//! GET /guarantor_balances, /insurance_balances and one of each

use engine::{
    index::Field,
    records::ledger::{GuarantorBalance, InsuranceBalance},
};

use super::{
    Answer,
    related::{Related, shown},
};
use crate::{
    kinds::{boolean, includes, long_id},
    scope::Call,
    views::ledger::{GuarantorBalanceView, InsuranceBalanceView},
};

pub async fn of_guarantors(mut call: Call) -> Answer {
    let (place, (zero_too, listing)) = call.in_place(|input| {
        let zero_too = input.query.defaulted("show_zero_balances", boolean(), false);
        let listing = input.listing().sort().id("guarantor_id", Field::Guarantor);
        Some((zero_too, listing.since().without_deleted().done()))
    })?;
    // A balance the EHR does not tell may be any.
    let page = listing.entries_at::<GuarantorBalance>(&call, &place, |it| {
        zero_too || it.body.0.total.is_none_or(|total| !total.is_zero())
    })?;
    Ok(call.page(&page.views(GuarantorBalanceView::of)))
}

pub async fn of_guarantor(mut call: Call) -> Answer {
    let id = call.path_id(long_id())?;
    let (tenants, include) = call.in_tenants(|input| Some(input.query.list("include", includes(&["guarantor"]))))?;
    let (tenant, entry) = call.entry_of_any::<GuarantorBalance>(&tenants, id)?;
    let related = Related { call: &call, tenant: &tenant, asked: &include };
    let guarantor = related.patient("guarantor", entry.body.0.guarantor_id)?;
    let guarantor = shown(&guarantor, |it| call.patient_basic(it));
    let mut view = GuarantorBalanceView::of(&entry);
    view.guarantor = guarantor;
    Ok(call.show(view))
}

pub async fn of_insurance(mut call: Call) -> Answer {
    let (place, listing) = call.in_place(|input| {
        Some(input.listing().sort().patient().id("guarantor_id", Field::Guarantor).since().without_deleted().done())
    })?;
    let page = listing.entries_at::<InsuranceBalance>(&call, &place, |_| true)?;
    Ok(call.page(&page.views(InsuranceBalanceView::of)))
}

pub async fn of_insurance_one(mut call: Call) -> Answer {
    let id = call.path_id(long_id())?;
    let (tenant, ()) = call.in_tenant(|_| Some(()))?;
    Ok(call.show(InsuranceBalanceView::of(&call.entry::<InsuranceBalance>(&tenant, id)?)))
}

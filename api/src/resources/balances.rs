//! GET /guarantor_balances, /insurance_balances and one of each

use std::collections::BTreeSet;

use engine::{
    lists::Filter,
    records::{GuarantorBalance, InsuranceBalance},
};

use super::related::{Related, shown};
use crate::{
    access::{call::Call, tenancy::OpenLocation},
    http::errors::{ApiError, HttpResult},
    values::kinds::{boolean, id, includes, long_id},
    views::ledger::{GuarantorBalanceView, InsuranceBalanceView},
};

pub(crate) async fn of_guarantors(mut call: Call) -> HttpResult {
    let (location, (zero_too, patient, listing)) = call.at_location(|input| {
        let zero_too = input.query.defaulted("show_zero_balances", boolean(), false);
        let patient = input.query.optional("patient_id", id());
        let listing = input.listing().sort().foreign_ids().id("guarantor_id", Filter::Guarantor);
        Some((zero_too, patient, listing.since().without_deleted().done()))
    })?;
    let listing = match patient {
        Some(patient) => listing.filtered([owed_for(&call, &location, patient)?]),
        None => listing,
    };
    // A balance the EHR does not tell may be any.
    let page = listing.entries_at::<GuarantorBalance>(&call, &location, |it| {
        zero_too || it.body.total.is_none_or(|total| !total.is_zero())
    })?;
    Ok(call.page(&page.views(GuarantorBalanceView::of)))
}

/// Who answers for a patient: their guarantor, or they themselves. Nobody, for one who is not here.
fn owed_for(call: &Call, location: &OpenLocation, patient: u32) -> Result<Filter, ApiError> {
    let found = call.api.engine.patient(location.institution.id, patient)?;
    let guarantor = found.map(|it| it.guarantor_id.unwrap_or(it.id));
    Ok(match guarantor {
        Some(guarantor) => Filter::Guarantor(guarantor.into()),
        None => Filter::Ids(BTreeSet::new()),
    })
}

pub(crate) async fn of_guarantor(mut call: Call) -> HttpResult {
    let id = call.path_id(long_id())?;
    let (tenants, include) = call.in_tenants(|input| Some(input.query.list("include", includes(&["guarantor"]))))?;
    let (tenant, entry) = call.entry_of_any::<GuarantorBalance>(&tenants, id)?;
    let related = Related { call: &call, tenant: &tenant, asked: &include };
    let guarantor = related.patient("guarantor", entry.body.guarantor_id)?;
    let guarantor = shown(&guarantor, |it| call.patient_basic(it));
    let mut view = GuarantorBalanceView::of(&entry);
    view.guarantor = guarantor;
    Ok(call.show(view))
}

pub(crate) async fn of_insurance(mut call: Call) -> HttpResult {
    let (location, listing) = call.at_location(|input| {
        Some(input.listing().sort().patient().id("guarantor_id", Filter::Guarantor).since().without_deleted().done())
    })?;
    let page = listing.entries_at::<InsuranceBalance>(&call, &location, |_| true)?;
    Ok(call.page(&page.views(InsuranceBalanceView::of)))
}

pub(crate) async fn of_insurance_one(mut call: Call) -> HttpResult {
    let id = call.path_id(long_id())?;
    let (tenant, ()) = call.in_tenant(|_| Some(()))?;
    Ok(call.show(InsuranceBalanceView::of(&call.entry::<InsuranceBalance>(&tenant, id)?)))
}

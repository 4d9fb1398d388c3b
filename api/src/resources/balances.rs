//! GET /guarantor_balances, /insurance_balances and one of each

use std::collections::BTreeSet;

use engine::{
    lists::Filter,
    records::{GuarantorBalance, InsuranceBalance},
};

use super::related::{Related, map_included};
use crate::{
    access::{
        arguments::{AtLocation, FromInput, Id, InTenant, InTenants, included},
        call::ApiCall,
        input::Input,
        respond::{Answer, One, Paged},
        tenancy::OpenLocation,
    },
    http::errors::ApiError,
    records::listing::{Listing, listing},
    values::kinds::{boolean, shared::patient},
    views::ledger::{GuarantorBalanceView, InsuranceBalanceView},
};

pub(crate) struct ListGuarantorBalances {
    zero_too: bool,
    patient: Option<u32>,
    listing: Listing,
}

impl FromInput for ListGuarantorBalances {
    fn from_input(input: &mut Input) -> ListGuarantorBalances {
        let zero_too =
            input.query.defaulted("show_zero_balances", boolean().about("`true` to include balances of zero."), false);
        let patient = input.query.optional("patient_id", patient());
        let listing = input.listing().sort().foreign_ids().guarantor();
        ListGuarantorBalances { zero_too, patient, listing: listing.since().without_deleted().done() }
    }
}

pub(crate) async fn list_guarantor_balances(
    call: ApiCall,
    AtLocation(location, asked): AtLocation<ListGuarantorBalances>,
) -> Answer<Paged<GuarantorBalanceView<'static>>> {
    let ListGuarantorBalances { zero_too, patient, listing } = asked;
    let listing = match patient {
        Some(patient) => listing.filtered([guarantor_filter(&call, &location, patient)?]),
        None => listing,
    };
    // A balance without a total is kept, because it may not be zero.
    let page = listing.entries_at::<GuarantorBalance>(&call, &location, |it| {
        zero_too || it.body.total.is_none_or(|total| !total.is_zero())
    })?;
    Ok(call.page(&page.views(GuarantorBalanceView::from_record)))
}

/// Returns the filter for the guarantor of a patient, by default the patient. Matches nothing for unknown patients.
fn guarantor_filter(call: &ApiCall, location: &OpenLocation, patient: u32) -> Result<Filter, ApiError> {
    let found = call.api.engine.patient(location.institution.id, patient)?;
    let guarantor = found.map(|it| it.guarantor_id.unwrap_or(it.id));
    Ok(match guarantor {
        Some(guarantor) => Filter::Guarantor(guarantor.into()),
        None => Filter::Ids(BTreeSet::new()),
    })
}

included!(ShowGuarantorBalance: &["guarantor"]);

pub(crate) async fn show_guarantor_balance(
    call: ApiCall,
    Id(id): Id<u64>,
    InTenants(tenants, ShowGuarantorBalance { include }): InTenants<ShowGuarantorBalance>,
) -> Answer<One<GuarantorBalanceView<'static>>> {
    let (tenant, entry) = call.entry_of_any::<GuarantorBalance>(&tenants, id)?;
    let related = Related { call: &call, tenant: &tenant, asked: &include };
    let guarantor = related.patient("guarantor", entry.body.guarantor_id)?;
    let guarantor = map_included(&guarantor, |it| call.patient_basic(it));
    let mut view = GuarantorBalanceView::from_record(&entry);
    view.guarantor = guarantor;
    Ok(call.show(view))
}

listing!(ListInsuranceBalances: |it| it.sort().patient().guarantor().since().without_deleted());

pub(crate) async fn list_insurance_balances(
    call: ApiCall,
    AtLocation(location, ListInsuranceBalances(listing)): AtLocation<ListInsuranceBalances>,
) -> Answer<Paged<InsuranceBalanceView>> {
    let page = listing.entries_at::<InsuranceBalance>(&call, &location, |_| true)?;
    Ok(call.page(&page.views(InsuranceBalanceView::from_record)))
}

pub(crate) async fn show_insurance_balance(
    call: ApiCall,
    Id(id): Id<u64>,
    InTenant(tenant, ()): InTenant<()>,
) -> Answer<One<InsuranceBalanceView>> {
    Ok(call.show(InsuranceBalanceView::from_record(&call.entry::<InsuranceBalance>(&tenant, id)?)))
}

//! GET /guarantor_balances

use std::collections::BTreeSet;

use engine::{lists::Filter, records::GuarantorBalance};
use framework::{
    access::{
        arguments::{AtLocation, FromInput},
        call::ApiCall,
        input::Input,
        respond::{Answer, Paged},
        tenancy::OpenLocation,
    },
    http::errors::ApiError,
    records::listing::Listing,
    values::kinds::{boolean, shared::patient},
};

use crate::views::ledger::GuarantorBalanceView;

pub struct ListGuarantorBalances {
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

pub async fn list(
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

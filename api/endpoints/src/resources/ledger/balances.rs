//! GET /guarantor_balances

use engine::records::GuarantorBalance;

use crate::{prelude::*, views::ledger::GuarantorBalanceView};

#[input]
pub struct ListGuarantorBalances {
    /// `true` to include balances of zero.
    #[query(boolean(), name = "show_zero_balances", default = false)]
    zero_too: bool,
    #[query(patient(), name = "patient_id")]
    patient: Option<u32>,
    #[read(input.listing().sort().foreign_ids().guarantor().since().without_deleted().done())]
    listing: Listing,
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
    call.page_of(&page, GuarantorBalanceView::from_record)
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

//! Balances by age in days: GET /guarantor_balances, GET /insurance_balances

use engine::records::{GuarantorBalance, InsuranceBalance};

use crate::{prelude::*, views::persons::PatientBasic};

/// The balance of a guarantor. An amount is null if the health record system does not provide it.
#[view(of = GuarantorBalance, named = "balance", published)]
pub struct GuarantorBalanceView<'a> {
    id: u64,
    foreign_id: Option<&'a str>,
    guarantor_id: Option<u32>,
    /// Always null: no health record system provides it.
    location_id: Option<u32>,
    updated_at: At,
    /// Amount expected to be written off; null if the health record system does not provide it.
    write_off_estimate: Option<Price>,
    /// Amount owed in total; null if the health record system does not provide it.
    #[view(from = total)]
    total_balance: Option<Price>,
    /// Amount expected from insurance; null if the health record system does not provide it.
    insurance_estimate: Option<Price>,
    /// Amount that remains for the guarantor; null if the health record system does not provide it.
    guarantor_portion: Option<Price>,
    /// Part of the balance that is up to 30 days old; null if the health record system does not provide it.
    #[view(from = under30)]
    total_balance_under_30: Option<Price>,
    /// Part of the balance that is 31 to 60 days old; null if the health record system does not provide it.
    #[view(from = from31_to60)]
    total_balance_31_60: Option<Price>,
    /// Part of the balance that is 61 to 90 days old; null if the health record system does not provide it.
    #[view(from = from61_to90)]
    total_balance_61_90: Option<Price>,
    /// Part of the balance that is more than 90 days old; null if the health record system does not provide it.
    #[view(from = over90)]
    total_balance_over_90: Option<Price>,
    pub guarantor: Included<PatientBasic<'a>>,
}

/// The amounts that insurance is expected to pay for a patient. An amount is null if the health record system does not
/// provide it.
#[view(of = InsuranceBalance, named = "balance", published)]
pub(crate) struct InsuranceBalanceView {
    id: u64,
    patient_id: Option<u32>,
    guarantor_id: Option<u32>,
    /// Always null: no health record system provides it.
    location_id: Option<u32>,
    updated_at: At,
    /// Amount expected from insurance that is up to 30 days old; null if the health record system does not provide it.
    #[view(from = under30)]
    estimated_amount_under_30: Option<Price>,
    /// Amount expected from insurance that is 31 to 60 days old; null if the health record system does not provide it.
    #[view(from = from31_to60)]
    estimated_amount_31_60: Option<Price>,
    /// Amount expected from insurance that is 61 to 90 days old; null if the health record system does not provide it.
    #[view(from = from61_to90)]
    estimated_amount_61_90: Option<Price>,
    /// Amount expected from insurance that is more than 90 days old; null if the health record system does not provide
    /// it.
    #[view(from = over90)]
    estimated_amount_over_90: Option<Price>,
    /// Amount billed to insurance that is up to 30 days old; null if the health record system does not provide it.
    #[view(from = billed_under30)]
    billed_amount_under_30: Option<Price>,
    /// Amount billed to insurance that is 31 to 60 days old; null if the health record system does not provide it.
    #[view(from = billed31_to60)]
    billed_amount_31_60: Option<Price>,
    /// Amount billed to insurance that is 61 to 90 days old; null if the health record system does not provide it.
    #[view(from = billed61_to90)]
    billed_amount_61_90: Option<Price>,
    /// Amount billed to insurance that is more than 90 days old; null if the health record system does not provide it.
    #[view(from = billed_over90)]
    billed_amount_over_90: Option<Price>,
}

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
    AtLocation(location, request): AtLocation<ListGuarantorBalances>,
) -> Answer<Paged<GuarantorBalanceView<'static>>> {
    let ListGuarantorBalances { zero_too, patient, listing } = request;
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

listing!(ListInsuranceBalances: |it| it.sort().patient().guarantor().since().without_deleted());

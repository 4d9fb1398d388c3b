//! GET /charges and GET /claims, in one file because each may contain the other.

use engine::records::{ClaimAmounts, ClaimStatus};

use super::fee_schedules::FeeView;
use crate::{
    prelude::*,
    resources::care::clinical::ProcedureView,
    views::{
        persons::{PatientBasic, PersonView, ProviderBasic},
        v2::ChargeV2,
    },
};

/// A charge on the ledger.
#[view(
    of = Charge,
    named = "charge",
    includes(patient, provider, procedure, guarantor, claims, claim_payouts, totals),
    render = ChargeView::for_version(entry, reader.version()),
    published
)]
pub struct ChargeView<'a> {
    id: u64,
    foreign_id: Option<&'a str>,
    /// Always null: no health record system provides it.
    location_id: Option<u32>,
    patient_id: Option<u32>,
    guarantor_id: Option<u32>,
    provider_id: Option<u32>,
    /// Id of the charged procedure; null if the health record system provides none.
    procedure_id: Option<u64>,
    /// Procedure code, such as `D1110`; null if the health record system does not provide it.
    procedure_code: Option<&'a str>,
    updated_at: At,
    description: Option<&'a str>,
    fee: Option<Price>,
    charged_at: Option<String>,
    deleted_at: Option<At>,
    #[view(flatten = None)]
    v2: Option<ChargeV2<'a>>,
    pub patient: Included<PatientBasic<'a>>,
    pub provider: Included<ProviderBasic<'a>>,
    pub guarantor: Included<PersonView<'a>>,
    /// The charged procedure; null if there is none. Only with `include[]=procedure`.
    #[view(include(procedure_id))]
    pub procedure: Included<ProcedureView<'a>>,
    /// Shares of claims in the charge. Only with `include[]=claim_payouts`.
    #[view(include = ClaimPayoutView::for_charge(entry.id, claims(related, entry)?))]
    pub claim_payouts: Option<Vec<ClaimPayoutView>>,
    /// Claims that contain the charge. Only with `include[]=claims`.
    #[view(include = claims(related, entry)?.iter().map(ClaimView::from_record).collect())]
    pub claims: Option<Vec<ClaimView<'a>>>,
    /// Sums over the claims for this charge, without deleted and canceled ones. Only with `include[]=totals`.
    #[view(include = ClaimTotals::for_charge(entry.id, claims(related, entry)?))]
    pub totals: Option<ClaimTotals>,
}

impl<'a> ChargeView<'a> {
    /// Builds the view for a version of the API.
    fn for_version(entry: &'a Record<Charge>, version: Version) -> ChargeView<'a> {
        let v2 = version.is_v2().then(|| ChargeV2::from_record(entry));
        ChargeView { v2, ..ChargeView::from_record(entry) }
    }
}

/// An insurance claim.
#[view(of = Claim, named = "claim", includes(patient, provider, guarantor, charges, charge_payouts), published)]
pub struct ClaimView<'a> {
    id: u64,
    /// Always null: no health record system provides it.
    location_id: Option<u32>,
    patient_id: Option<u32>,
    provider_id: Option<u32>,
    guarantor_id: Option<u32>,
    /// Status of the claim. `draft`: not sent yet. `received`: answered by the payer. Null if the status is unknown or
    /// not one of these values.
    #[schemars(with = "Option<String>", extend("enum" = ["draft", "sent", "received", "canceled", null]))]
    status: Option<ClaimStatus>,
    /// Time at which the payer's answer was received, in UTC; null before that, or if the health record system does not
    /// provide it.
    received_at: Option<At>,
    /// Time at which the claim was sent to the payer, in UTC; null before that, or if the health record system does not
    /// provide it.
    sent_at: Option<At>,
    note: Option<&'a str>,
    /// Id of the patient's primary insurance plan; null if the health record system provides none.
    #[view(from = primary_plan_id)]
    primary_insurance_plan_id: Option<u64>,
    /// Id of the patient's secondary insurance plan; null if the health record system provides none.
    #[view(from = secondary_plan_id)]
    secondary_insurance_plan_id: Option<u64>,
    /// The date of service, `YYYY-MM-DD`; null if the health record system does not provide it.
    date_of_service: Option<String>,
    /// Sums over the claim.
    #[view(with = ClaimTotals::from_value(&entry.body.totals))]
    totals: ClaimTotals,
    updated_at: At,
    deleted_at: Option<At>,
    /// Only inside a payment or an adjustment: time at which the payer's answer was received, in UTC; the same as
    /// `received_at`.
    finalized_at: Included<At>,
    /// Only inside a payment or an adjustment. Always null: no health record system provides it.
    subscription_id: Included<u64>,
    /// Only inside a payment or an adjustment: amount expected from the payer; null if unknown.
    payment_estimate_total: Included<Price>,
    /// Only inside a payment or an adjustment. Always null: no health record system provides it.
    write_off_estimate_total: Included<Price>,
    /// Only inside a payment or an adjustment: amount written off; null if unknown.
    write_off_total: Included<Price>,
    pub patient: Included<PatientBasic<'a>>,
    pub provider: Included<ProviderBasic<'a>>,
    pub guarantor: Included<PersonView<'a>>,
    /// The share of each charge in the claim. Only with `include[]=charge_payouts`.
    #[view(include = ChargePayoutView::all(entry))]
    pub charge_payouts: Option<Vec<ChargePayoutView>>,
    /// The charges of the claim. Only with `include[]=charges`.
    #[view(include = charges(related, entry)?)]
    pub charges: Option<Vec<ChargeView<'a>>>,
}

impl<'a> ClaimView<'a> {
    /// Builds the view for payments and adjustments.
    pub(crate) fn with_totals(entry: &'a Record<Claim>) -> ClaimView<'a> {
        let claim = &entry.body;
        ClaimView {
            finalized_at: Some(claim.received_at.map(|it| At(it.at()))),
            subscription_id: Some(None),
            payment_estimate_total: Some(Price::maybe(&claim.totals.estimated)),
            write_off_estimate_total: Some(None),
            write_off_total: Some(Price::maybe(&claim.totals.write_off)),
            ..ClaimView::from_record(entry)
        }
    }
}

/// Sums over claims. A sum is null if no amount is known or the amounts are in different currencies.
#[view(value = ClaimAmounts)]
pub struct ClaimTotals {
    /// Amount billed to the payer; null if unknown.
    #[view(from = billed)]
    amount_billed_to_insurance: Option<Price>,
    /// Amount expected from the payer; null if unknown.
    #[view(from = estimated)]
    estimated_insurance_payment: Option<Price>,
    /// Amount paid by the payer; null if unknown.
    #[view(from = paid)]
    insurance_payment: Option<Price>,
    /// Amount written off; null if unknown.
    write_off: Option<Price>,
}

impl ClaimTotals {
    /// Sums the amounts of claims for one charge.
    pub(crate) fn for_charge(charge: u64, claims: &[Record<Claim>]) -> ClaimTotals {
        let sum = |part: fn(&ClaimAmounts) -> &Option<Money>| sum(charge, claims, part);
        ClaimTotals {
            amount_billed_to_insurance: sum(|it| &it.billed),
            estimated_insurance_payment: sum(|it| &it.estimated),
            insurance_payment: sum(|it| &it.paid),
            write_off: sum(|it| &it.write_off),
        }
    }
}

/// Sums a part of the claims that are neither deleted nor canceled.
fn sum(charge: u64, claims: &[Record<Claim>], part: fn(&ClaimAmounts) -> &Option<Money>) -> Option<Price> {
    let open_claims =
        claims.iter().filter(|it| it.deleted_at.is_none() && it.body.status != Some(ClaimStatus::Canceled));
    let parts = open_claims.flat_map(|claim| &claim.body.payouts).filter(|it| it.charge_id == Some(charge));
    Money::sum(parts.filter_map(|amounts| part(amounts).as_ref())).map(|sum| Price::from_money(&sum))
}

/// The share of one charge in a claim.
#[view(value = ClaimAmounts)]
struct Payout {
    #[view(flatten = ClaimTotals::from_value(entry))]
    totals: ClaimTotals,
    /// Amount allowed by the payer; null if unknown.
    #[view(from = allowed)]
    allowed_amount: Option<Price>,
    /// Always null: no health record system reports which fee the payer applied.
    #[view(none)]
    fee_schedule_procedure_code: Option<FeeView<'static>>,
}

/// The share of one charge in a claim, inside the claim.
#[view(value = ClaimAmounts)]
pub struct ChargePayoutView {
    #[view(flatten = Payout::from_value(entry))]
    payout: Payout,
    /// Id of the charge; null if the health record system provides none.
    charge_id: Option<u64>,
}

impl ChargePayoutView {
    pub fn all(claim: &Record<Claim>) -> Vec<ChargePayoutView> {
        claim.body.payouts.iter().map(ChargePayoutView::from_value).collect()
    }
}

/// The share of one charge in a claim, inside the charge.
#[derive(Serialize, JsonSchema)]
pub struct ClaimPayoutView {
    #[serde(flatten)]
    payout: Payout,
    /// Id of the claim.
    claim_id: u64,
}

impl ClaimPayoutView {
    /// Returns the payouts of these claims for a charge.
    pub(crate) fn for_charge(charge: u64, claims: &[Record<Claim>]) -> Vec<ClaimPayoutView> {
        let payouts = claims.iter().flat_map(|claim| claim.body.payouts.iter().map(move |it| (claim.id, it)));
        payouts
            .filter(|(_, it)| it.charge_id == Some(charge))
            .map(|(claim_id, it)| ClaimPayoutView { payout: Payout::from_value(it), claim_id })
            .collect()
    }
}

/// A charge inside a payment or an adjustment.
#[view(of = Charge, named = "charge", args(claims: &[Record<Claim>]))]
pub struct PatientLedgerCharge<'a> {
    id: u64,
    foreign_id: Option<&'a str>,
    /// Always null: no health record system provides it.
    location_id: Option<u32>,
    patient_id: Option<u32>,
    guarantor_id: Option<u32>,
    provider_id: Option<u32>,
    updated_at: At,
    description: Option<&'a str>,
    deleted_at: Option<At>,
    fee: Option<Price>,
    charged_at: Option<String>,
    /// Id of the charged procedure, a number written as a string; null if the health record system provides none.
    #[view(with = entry.body.procedure_id.map(|id| id.to_string()))]
    procedure_id: Option<String>,
    /// Ids of the claims that contain the charge.
    #[view(with = claims.iter().filter(|claim: &&Record<Claim>| claim.body.payouts.iter().any(|it| it.charge_id == Some(entry.id))).map(|claim| claim.id).collect())]
    claim_ids: Vec<u64>,
    /// Amount expected from the payers of the charge's claims; null if unknown.
    #[view(with = ClaimTotals::for_charge(entry.id, claims).estimated_insurance_payment)]
    payment_estimate_total: Option<Price>,
    /// Always null: no health record system reports it per charge.
    #[view(none)]
    write_off_estimate_total: Option<Price>,
    /// Amount written off by the charge's claims; null if unknown.
    #[view(with = ClaimTotals::for_charge(entry.id, claims).write_off)]
    write_off_total: Option<Price>,
}

impl<'a> PatientLedgerCharge<'a> {
    pub fn load<R: IncludedRecords>(
        related: &'a R,
        id: Option<u64>,
    ) -> Result<Option<PatientLedgerCharge<'a>>, R::Error> {
        let Some(charge) = related.record::<Charge>(id)? else { return Ok(None) };
        Ok(Some(PatientLedgerCharge::from_record(charge, claims(related, charge)?)))
    }
}

/// Loads the claims that contain a charge.
fn claims<'a, R: IncludedRecords>(related: &'a R, charge: &Record<Charge>) -> Result<&'a [Record<Claim>], R::Error> {
    related.matching(charge.source(), Filter::Charge(charge.id))
}

/// Loads the charges in a claim.
fn charges<'a, R: IncludedRecords>(related: &'a R, claim: &Record<Claim>) -> Result<Vec<ChargeView<'a>>, R::Error> {
    let ids = claim.body.payouts.iter().filter_map(|payout| payout.charge_id);
    ids.filter_map(|id| related.view::<ChargeView>(Some(id)).transpose()).collect()
}

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
        return call.page_of(&page, |it| ChargeView::for_version(it, call.version));
    }
    let mut views = page.views(|it| ChargeView::for_version(it, call.version));
    for (view, charge) in views.rows.iter_mut().zip(&page.rows) {
        let claims = call.find_all::<Claim>(charge.source(), Filter::Charge(charge.id), MAX_RELATED)?;
        view.claim_payouts = Some(ClaimPayoutView::for_charge(charge.id, &claims));
    }
    Ok(call.page(&views))
}

listing!(ListClaims: |it| it.sort().foreign_ids().patient().guarantor().provider().since()
        .by("date_of_service", date().about("The date of service."), Filter::DateOfService).include_deleted());

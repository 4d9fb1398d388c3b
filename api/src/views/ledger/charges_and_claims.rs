//! Charges and insurance claims: each may hold the other, so they stand in one file.

use engine::records::{Charge, Claim, ClaimAmounts, ClaimStatus, money::Money, record::Record};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    values::times::At,
    views::{
        catalogue::FeeView,
        clinical::ProcedureView,
        parts::{Included, Price, day},
        people::{PatientBasic, PersonView, ProviderBasic},
    },
};

/// A charge on the ledger.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ChargeView<'a> {
    id: u64,
    foreign_id: Option<&'a str>,
    /// Null if the health record system does not provide it.
    location_id: Option<u32>,
    patient_id: Option<u32>,
    guarantor_id: Option<u32>,
    provider_id: Option<u32>,
    procedure_id: Option<u64>,
    procedure_code: Option<&'a str>,
    updated_at: At,
    description: Option<&'a str>,
    fee: Option<Price>,
    #[schemars(extend("format" = "date"))]
    charged_at: Option<String>,
    /// When it was deleted in the health record system.
    deleted_at: Option<At>,
    /// In v2.2.2, besides the newer names.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Included<Price>,
    /// In v2.2.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date"))]
    date: Included<String>,
    /// In v2.2.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    notes: Included<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patient: Included<PatientBasic<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Included<ProviderBasic<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guarantor: Included<PersonView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub procedure: Included<ProcedureView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim_payouts: Option<Vec<ClaimPayoutView>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claims: Option<Vec<ClaimView<'a>>>,
    /// Sums over the claims for this charge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub totals: Option<ClaimTotals>,
}

impl<'a> ChargeView<'a> {
    pub(crate) fn of(entry: &'a Record<Charge>) -> ChargeView<'a> {
        let charge = &entry.body;
        ChargeView {
            id: entry.id,
            foreign_id: entry.foreign_id.as_deref(),
            location_id: entry.location_id,
            patient_id: charge.patient_id,
            guarantor_id: charge.guarantor_id,
            provider_id: charge.provider_id,
            procedure_id: charge.procedure_id,
            procedure_code: charge.procedure_code.as_deref(),
            updated_at: At(entry.updated_at),
            description: charge.description.as_deref(),
            fee: Price::maybe(&charge.fee),
            charged_at: day(&charge.charged_at),
            deleted_at: entry.deleted_at.map(At),
            value: None,
            date: None,
            notes: None,
            patient: None,
            provider: None,
            guarantor: None,
            procedure: None,
            claim_payouts: None,
            claims: None,
            totals: None,
        }
    }

    /// With the names v2.2.2 has.
    pub(crate) fn older(entry: &'a Record<Charge>) -> ChargeView<'a> {
        let charge = &entry.body;
        ChargeView {
            value: Some(Price::maybe(&charge.fee)),
            date: Some(day(&charge.charged_at)),
            notes: Some(charge.description.as_deref()),
            ..ChargeView::of(entry)
        }
    }
}

/// An insurance claim.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ClaimView<'a> {
    id: u64,
    /// Null if the health record system does not provide it.
    location_id: Option<u32>,
    patient_id: Option<u32>,
    provider_id: Option<u32>,
    guarantor_id: Option<u32>,
    #[schemars(with = "Option<String>", extend("enum" = ["draft", "sent", "received", "canceled", null]))]
    status: Option<ClaimStatus>,
    received_at: Option<At>,
    sent_at: Option<At>,
    note: Option<&'a str>,
    primary_insurance_plan_id: Option<u64>,
    secondary_insurance_plan_id: Option<u64>,
    #[schemars(extend("format" = "date"))]
    date_of_service: Option<String>,
    totals: ClaimTotals,
    updated_at: At,
    /// When it was deleted in the health record system.
    deleted_at: Option<At>,
    /// Inside a payment or an adjustment: when the payer answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    finalized_at: Included<At>,
    /// Only inside a payment or an adjustment. Always null: no health record system provides it.
    #[serde(skip_serializing_if = "Option::is_none")]
    subscription_id: Included<u64>,
    /// Inside a payment or an adjustment: expected from insurance.
    #[serde(skip_serializing_if = "Option::is_none")]
    payment_estimate_total: Included<Price>,
    /// Only inside a payment or an adjustment. Always null: no health record system provides it.
    #[serde(skip_serializing_if = "Option::is_none")]
    write_off_estimate_total: Included<Price>,
    /// Inside a payment or an adjustment: written off.
    #[serde(skip_serializing_if = "Option::is_none")]
    write_off_total: Included<Price>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patient: Included<PatientBasic<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Included<ProviderBasic<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guarantor: Included<PersonView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charge_payouts: Option<Vec<ChargePayoutView>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charges: Option<Vec<ChargeView<'a>>>,
}

impl<'a> ClaimView<'a> {
    pub(crate) fn of(entry: &'a Record<Claim>) -> ClaimView<'a> {
        let claim = &entry.body;
        ClaimView {
            id: entry.id,
            location_id: entry.location_id,
            patient_id: claim.patient_id,
            provider_id: claim.provider_id,
            guarantor_id: claim.guarantor_id,
            status: claim.status,
            received_at: claim.received_at.map(|it| At(it.at())),
            sent_at: claim.sent_at.map(|it| At(it.at())),
            note: claim.note.as_deref(),
            primary_insurance_plan_id: claim.primary_plan_id,
            secondary_insurance_plan_id: claim.secondary_plan_id,
            date_of_service: day(&claim.date_of_service),
            totals: ClaimTotals::of(&claim.totals),
            updated_at: At(entry.updated_at),
            deleted_at: entry.deleted_at.map(At),
            finalized_at: None,
            subscription_id: None,
            payment_estimate_total: None,
            write_off_estimate_total: None,
            write_off_total: None,
            patient: None,
            provider: None,
            guarantor: None,
            charge_payouts: None,
            charges: None,
        }
    }

    /// As payments and adjustments show it.
    pub(crate) fn with_totals(entry: &'a Record<Claim>) -> ClaimView<'a> {
        let claim = &entry.body;
        ClaimView {
            finalized_at: Some(claim.received_at.map(|it| At(it.at()))),
            subscription_id: Some(None),
            payment_estimate_total: Some(Price::maybe(&claim.totals.estimated)),
            write_off_estimate_total: Some(None),
            write_off_total: Some(Price::maybe(&claim.totals.write_off)),
            ..ClaimView::of(entry)
        }
    }
}

/// Sums over claims. A sum is null if no amount is known or the amounts are in different currencies.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ClaimTotals {
    amount_billed_to_insurance: Option<Price>,
    estimated_insurance_payment: Option<Price>,
    insurance_payment: Option<Price>,
    write_off: Option<Price>,
}

impl ClaimTotals {
    pub(crate) fn of(amounts: &ClaimAmounts) -> ClaimTotals {
        ClaimTotals {
            amount_billed_to_insurance: Price::maybe(&amounts.billed),
            estimated_insurance_payment: Price::maybe(&amounts.estimated),
            insurance_payment: Price::maybe(&amounts.paid),
            write_off: Price::maybe(&amounts.write_off),
        }
    }

    /// The sums of what claims say of one charge.
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

/// Of the claims that stand: neither deleted nor canceled.
fn sum(charge: u64, claims: &[Record<Claim>], part: fn(&ClaimAmounts) -> &Option<Money>) -> Option<Price> {
    let standing = claims.iter().filter(|it| it.deleted_at.is_none() && it.body.status != Some(ClaimStatus::Canceled));
    let parts = standing.flat_map(|claim| &claim.body.payouts).filter(|it| it.charge_id == Some(charge));
    Money::sum(parts.filter_map(|amounts| part(amounts).as_ref())).map(|sum| Price::of(&sum))
}

/// What a claim says of one charge.
#[derive(Serialize, JsonSchema)]
struct Payout {
    amount_billed_to_insurance: Option<Price>,
    estimated_insurance_payment: Option<Price>,
    insurance_payment: Option<Price>,
    write_off: Option<Price>,
    /// Allowed by the payer.
    allowed_amount: Option<Price>,
    /// Always null: no health record system reports which fee the payer applied.
    fee_schedule_procedure_code: Option<FeeView<'static>>,
}

impl Payout {
    fn of(amounts: &ClaimAmounts) -> Payout {
        Payout {
            amount_billed_to_insurance: Price::maybe(&amounts.billed),
            estimated_insurance_payment: Price::maybe(&amounts.estimated),
            insurance_payment: Price::maybe(&amounts.paid),
            write_off: Price::maybe(&amounts.write_off),
            allowed_amount: Price::maybe(&amounts.allowed),
            fee_schedule_procedure_code: None,
        }
    }
}

/// A payout inside its claim.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ChargePayoutView {
    #[serde(flatten)]
    payout: Payout,
    charge_id: Option<u64>,
}

impl ChargePayoutView {
    pub(crate) fn all(claim: &Record<Claim>) -> Vec<ChargePayoutView> {
        let payouts = claim.body.payouts.iter();
        payouts.map(|it| ChargePayoutView { payout: Payout::of(it), charge_id: it.charge_id }).collect()
    }
}

/// A payout inside its charge.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ClaimPayoutView {
    #[serde(flatten)]
    payout: Payout,
    claim_id: u64,
}

impl ClaimPayoutView {
    /// What these claims say of a charge.
    pub(crate) fn for_charge(charge: u64, claims: &[Record<Claim>]) -> Vec<ClaimPayoutView> {
        let payouts = claims.iter().flat_map(|claim| claim.body.payouts.iter().map(move |it| (claim.id, it)));
        payouts
            .filter(|(_, it)| it.charge_id == Some(charge))
            .map(|(claim_id, it)| ClaimPayoutView { payout: Payout::of(it), claim_id })
            .collect()
    }
}

/// A charge inside a payment or an adjustment.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PatientLedgerCharge<'a> {
    id: u64,
    foreign_id: Option<&'a str>,
    location_id: Option<u32>,
    patient_id: Option<u32>,
    guarantor_id: Option<u32>,
    provider_id: Option<u32>,
    updated_at: At,
    description: Option<&'a str>,
    deleted_at: Option<At>,
    fee: Option<Price>,
    #[schemars(extend("format" = "date"))]
    charged_at: Option<String>,
    /// The procedure's id as a number.
    procedure_id: Option<String>,
    claim_ids: Vec<u64>,
    /// Expected from insurance, over its claims.
    payment_estimate_total: Option<Price>,
    /// Always null: no health record system reports it per charge.
    write_off_estimate_total: Option<Price>,
    /// Written off, over its claims.
    write_off_total: Option<Price>,
}

impl<'a> PatientLedgerCharge<'a> {
    /// `claims`: those with a payout for the charge.
    pub(crate) fn of(entry: &'a Record<Charge>, claims: &[Record<Claim>]) -> PatientLedgerCharge<'a> {
        let charge = &entry.body;
        let totals = ClaimTotals::for_charge(entry.id, claims);
        let concerns = |claim: &&Record<Claim>| claim.body.payouts.iter().any(|it| it.charge_id == Some(entry.id));
        PatientLedgerCharge {
            id: entry.id,
            foreign_id: entry.foreign_id.as_deref(),
            location_id: entry.location_id,
            patient_id: charge.patient_id,
            guarantor_id: charge.guarantor_id,
            provider_id: charge.provider_id,
            updated_at: At(entry.updated_at),
            description: charge.description.as_deref(),
            deleted_at: entry.deleted_at.map(At),
            fee: Price::maybe(&charge.fee),
            charged_at: day(&charge.charged_at),
            procedure_id: charge.procedure_id.map(|id| id.to_string()),
            claim_ids: claims.iter().filter(concerns).map(|claim| claim.id).collect(),
            payment_estimate_total: totals.estimated_insurance_payment,
            write_off_estimate_total: None,
            write_off_total: totals.write_off,
        }
    }
}

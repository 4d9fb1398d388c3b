//! GET /adjustments, GET /adjustments/{id}, POST /adjustments

use engine::{
    lists::Filter,
    records::{Adjustment, AdjustmentType, Charge, Claim, record::Schema},
};
use location::ids::LocationId;

use super::{
    charges,
    ledger_entry::{self, LedgerEntryInput},
    related::{Related, map_included},
};
use crate::{
    access::{
        arguments::{AtLocation, FromInput, Id, InTenant, included},
        call::ApiCall,
        input::Input,
        respond::{Accepted, Answer, One, Paged},
    },
    http::errors::ApiError,
    records::{listing::listing, visible::is_live},
    values::kinds::reference::Reference,
    views::{
        catalogue::AdjustmentTypeView,
        ledger::{AdjustmentView, ClaimView, PatientLedgerCharge},
    },
};

listing!(ListAdjustments: |it| it.sort().foreign_ids().patient().provider().guarantor()
        .id("claim_id", "Id of the claim.", Filter::Claim)
        .id("charge_id", "Id of the charge.", Filter::Charge).since().include_deleted());

pub(crate) async fn list(
    call: ApiCall,
    AtLocation(location, ListAdjustments(listing)): AtLocation<ListAdjustments>,
) -> Answer<Paged<AdjustmentView<'static>>> {
    let page = listing.entries_at::<Adjustment>(&call, &location, is_live)?;
    Ok(call.page(&page.views(|it| call.adjustment(it))))
}

included!(ShowAdjustment: &["patient", "provider", "guarantor", "claim", "charge", "adjustment_type"]);

pub(crate) async fn show(
    call: ApiCall,
    Id(id): Id<u64>,
    InTenant(tenant, ShowAdjustment { include }): InTenant<ShowAdjustment>,
) -> Answer<One<AdjustmentView<'static>>> {
    let entry = call.entry::<Adjustment>(&tenant, id)?;
    let related = Related { call: &call, tenant: &tenant, asked: &include };
    let patient = related.patient("patient", entry.body.patient_id)?;
    let provider = related.provider("provider", entry.body.provider_id)?;
    let guarantor = related.patient("guarantor", entry.body.guarantor_id)?;
    let claim = related.entry::<Claim>("claim", entry.body.claim_id)?;
    let charge = related.entry::<Charge>("charge", entry.body.charge_id)?;
    let claims =
        charge.iter().flatten().map(|it| charges::claims_of(&call, it)).collect::<Result<Vec<_>, _>>()?.concat();
    let adjustment_type = related.entry::<AdjustmentType>("adjustment_type", entry.body.adjustment_type_id)?;
    let mut view = call.adjustment(&entry);
    view.patient = map_included(&patient, |it| call.patient_basic(it));
    view.provider = map_included(&provider, |it| call.provider_basic(it));
    view.guarantor = map_included(&guarantor, |it| call.patient_basic(it));
    view.claim = map_included(&claim, ClaimView::with_totals);
    view.charge = map_included(&charge, |it| PatientLedgerCharge::from_record(it, &claims));
    view.adjustment_type = map_included(&adjustment_type, AdjustmentTypeView::from_record);
    Ok(call.show(view))
}

pub(crate) struct NewAdjustment(LedgerEntryInput);

impl FromInput for NewAdjustment {
    fn from_input(input: &mut Input) -> NewAdjustment {
        let on = ("adjusted_at", "Date of the adjustment.");
        let kind = (
            "adjustment_type_id",
            "Id of the adjustment type, which must belong to the same location.",
            AdjustmentType::RESOURCE,
        );
        NewAdjustment(LedgerEntryInput::read(input, ("adjustment", "The adjustment."), on, kind))
    }

    fn unknown(named: Reference, location: Option<LocationId>) -> ApiError {
        ledger_entry::unknown(named, location)
    }
}

pub(crate) async fn create(
    mut call: ApiCall,
    AtLocation(location, NewAdjustment(given)): AtLocation<NewAdjustment>,
) -> Answer<Accepted<AdjustmentView<'static>>> {
    let body = |given: LedgerEntryInput, day| Adjustment {
        patient_id: Some(given.patient_id),
        guarantor_id: None,
        provider_id: None,
        charge_id: None,
        claim_id: None,
        adjustment_type_id: given.type_id,
        amount: given.amount,
        adjusted_at: Some(day),
        transaction_id: Some(given.transaction_id),
        description: given.notes,
        charge_splits: given.charge_splits,
        provider_splits: given.provider_splits,
        extra: Vec::new(),
    };
    let saved = ledger_entry::save(&mut call, &location, given, body).await?;
    Ok(call.created(saved.replay, call.adjustment(&saved.record)))
}

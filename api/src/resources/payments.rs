//! GET /payments, GET /payments/{id}, POST /payments

use engine::{
    lists::Filter,
    records::{Charge, Claim, Payment, PaymentPlan, PaymentType, record::Schema},
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
        catalogue::PaymentTypeView,
        ledger::{ClaimView, PatientLedgerCharge, PaymentPlanView, PaymentView},
    },
};

listing!(ListPayments: |it| it.sort().foreign_ids().patient().provider().guarantor()
        .id("charge_id", "Id of the charge.", Filter::Charge).id("claim_id", "Id of the claim.", Filter::Claim)
        .text("transaction_id", "Transaction id chosen by the caller.", Filter::TransactionId).since()
        .include_deleted());

pub(crate) async fn list(
    call: ApiCall,
    AtLocation(location, ListPayments(listing)): AtLocation<ListPayments>,
) -> Answer<Paged<PaymentView<'static>>> {
    let page = listing.entries_at::<Payment>(&call, &location, is_live)?;
    Ok(call.page(&page.views(|it| call.payment(it))))
}

included!(ShowPayment: &["patient", "provider", "guarantor", "claim", "charge", "payment_plan", "payment_type"]);

pub(crate) async fn show(
    call: ApiCall,
    Id(id): Id<u64>,
    InTenant(tenant, ShowPayment { include }): InTenant<ShowPayment>,
) -> Answer<One<PaymentView<'static>>> {
    let entry = call.entry::<Payment>(&tenant, id)?;
    let related = Related { call: &call, tenant: &tenant, asked: &include };
    let patient = related.patient("patient", entry.body.patient_id)?;
    let provider = related.provider("provider", entry.body.provider_id)?;
    let guarantor = related.patient("guarantor", entry.body.guarantor_id)?;
    let claim = related.entry::<Claim>("claim", entry.body.claim_id)?;
    let charge = related.entry::<Charge>("charge", entry.body.charge_id)?;
    let claims =
        charge.iter().flatten().map(|it| charges::claims_of(&call, it)).collect::<Result<Vec<_>, _>>()?.concat();
    let payment_plan = related.entry::<PaymentPlan>("payment_plan", entry.body.payment_plan_id)?;
    let payment_type = related.entry::<PaymentType>("payment_type", entry.body.payment_type_id)?;
    let mut view = call.payment(&entry);
    view.patient = map_included(&patient, |it| call.patient_basic(it));
    view.provider = map_included(&provider, |it| call.provider_basic(it));
    view.guarantor = map_included(&guarantor, |it| call.patient_basic(it));
    view.claim = map_included(&claim, ClaimView::with_totals);
    view.charge = map_included(&charge, |it| PatientLedgerCharge::from_record(it, &claims));
    view.payment_plan = map_included(&payment_plan, PaymentPlanView::from_record);
    view.payment_type = map_included(&payment_type, PaymentTypeView::from_record);
    Ok(call.show(view))
}

pub(crate) struct NewPayment(LedgerEntryInput);

impl FromInput for NewPayment {
    fn from_input(input: &mut Input) -> NewPayment {
        let on = ("paid_at", "Date of the payment.");
        let kind = (
            "payment_type_id",
            "Id of the payment type, which must belong to the same location.",
            PaymentType::RESOURCE,
        );
        NewPayment(LedgerEntryInput::read(input, ("payment", "The payment."), on, kind))
    }

    fn unknown(named: Reference, location: Option<LocationId>) -> ApiError {
        ledger_entry::unknown(named, location)
    }
}

pub(crate) async fn create(
    mut call: ApiCall,
    AtLocation(location, NewPayment(given)): AtLocation<NewPayment>,
) -> Answer<Accepted<PaymentView<'static>>> {
    let body = |given: LedgerEntryInput, day| Payment {
        patient_id: Some(given.patient_id),
        guarantor_id: None,
        provider_id: None,
        charge_id: None,
        claim_id: None,
        payment_plan_id: None,
        insurance_plan_id: None,
        payment_type_id: given.type_id,
        amount: given.amount,
        paid_at: Some(day),
        transaction_id: Some(given.transaction_id),
        description: given.notes,
        charge_splits: given.charge_splits,
        provider_splits: given.provider_splits,
        extra: Vec::new(),
    };
    let saved = ledger_entry::save(&mut call, &location, given.unsigned(), body).await?;
    Ok(call.created(saved.replay, call.payment(&saved.record)))
}

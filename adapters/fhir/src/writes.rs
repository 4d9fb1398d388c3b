//! Writes: which resource types each needs, and what becomes of each.

use adapter_sdk::{
    Fault, PatientChange, Receipt, Record, WriteKind, clock,
    records::{FormResponse, InsurancePlan, Patient, PatientAlert, PatientHistoryItem, Payment},
    warn,
    writes::Handler,
};
use serde_json::Value;

use crate::{
    booking,
    capability::Offer,
    client, enrich, history_items, map,
    map::history,
    requests,
    responses::filed::Questionnaire,
    revision,
    settings::{Fhir, Settings},
};

/// What can be written. A resource carries the key of its last write.
pub const WRITES: &[Handler<Fhir>] = &[
    Handler::create_patient(create_patient, |ehr, key, _| found(ehr, "Patient", key)).looking_first(),
    Handler::update_patient(update_patient, |ehr, key, _| found(ehr, "Patient", key)),
    Handler::create_appointment(
        |ehr, key, c| booking::create(&ehr.settings, key, &c.appointment),
        |ehr, key, _| found(ehr, "Appointment", key),
    ),
    Handler::reschedule_appointment(
        |ehr, key, c| booking::reschedule(&ehr.settings, key, &c.appointment),
        |ehr, key, _| booking::find_moved(&ehr.settings, key),
    ),
    Handler::confirm_appointment(
        |ehr, key, c| booking::confirm(&ehr.settings, key, &c.appointment),
        |ehr, key, _| found(ehr, "Appointment", key),
    ),
    Handler::check_in_appointment(
        |ehr, key, c| booking::check_in(&ehr.settings, key, &c.appointment, clock::now()),
        |ehr, key, _| found(ehr, "Appointment", key),
    ),
    Handler::cancel_appointment(
        |ehr, key, c| booking::cancel(&ehr.settings, key, &c.appointment, c.reason.as_deref()),
        |ehr, key, _| booking::find_moved(&ehr.settings, key),
    ),
    Handler::note_appointment(
        |ehr, key, c| booking::note(&ehr.settings, key, &c.appointment),
        |ehr, key, _| found(ehr, "Appointment", key),
    ),
    Handler::create_insurance_plan(create_plan, |ehr, key, _| found(ehr, ehr.settings.plans.resource_type(), key))
        .looking_first(),
    Handler::create_coverage(
        |ehr: &Fhir, key, c| made(ehr, key, &requests::insurance::coverage(&ehr.settings, key, c)),
        |ehr, key, _| found(ehr, "Coverage", key),
    )
    .looking_first(),
    Handler::delete_coverage(|_, _, id| client::delete("Coverage", id), |_, _, id| deleted(id)),
    Handler::save_patient_history_item(save_history, find_history),
    Handler::create_patient_alert(
        |ehr: &Fhir, key, alert| made(ehr, key, &requests::talk::alert(&ehr.settings, key, alert)),
        |ehr, key, _| found(ehr, "Flag", key),
    )
    .looking_first(),
    Handler::disable_patient_alert(disable_alert, |ehr, key, _| found(ehr, "Flag", key)),
    Handler::create_communication_log(
        |ehr: &Fhir, key, log| made(ehr, key, &requests::talk::communication(&ehr.settings, key, log)),
        |ehr, key, _| found(ehr, "Communication", key),
    )
    .looking_first(),
    Handler::create_form_response(
        |ehr: &Fhir, key, response| made(ehr, key, &answers(&ehr.settings, key, response)?),
        |ehr, key, _| found(ehr, "QuestionnaireResponse", key),
    )
    .looking_first(),
    Handler::create_payment(create_payment, |ehr, key, _| found(ehr, "PaymentNotice", key)).looking_first(),
];

/// Whether the server takes it.
pub fn takes(offer: &Offer, settings: &Settings, kind: WriteKind) -> bool {
    match kind {
        WriteKind::CreatePatient => offer.creates("Patient"),
        WriteKind::UpdatePatient => offer.updates("Patient"),
        WriteKind::CreateAppointment => offer.creates("Appointment"),
        WriteKind::CreateInsurancePlan => offer.creates(settings.plans.resource_type()),
        WriteKind::CreateCoverage => offer.creates("Coverage"),
        WriteKind::DeleteCoverage => offer.deletes("Coverage"),
        WriteKind::SavePatientHistoryItem => {
            let mut there = history::TYPES.into_iter().filter(|name| offer.reads(name)).peekable();
            there.peek().is_some() && there.all(|name| offer.creates(name) && offer.updates(name))
        }
        WriteKind::CreatePatientAlert => offer.creates("Flag"),
        WriteKind::DisablePatientAlert => offer.updates("Flag"),
        WriteKind::CreateCommunicationLog => offer.creates("Communication"),
        WriteKind::CreateFormResponse => offer.creates("QuestionnaireResponse") && offer.reads("Questionnaire"),
        WriteKind::CreatePayment => offer.creates("PaymentNotice") && settings.payee.is_some(),
        // All other changes of an appointment.
        _ => offer.updates("Appointment"),
    }
}

fn made(ehr: &Fhir, key: &str, resource: &Value) -> Result<Receipt, Fault> {
    client::create(&ehr.settings, resource, key)
}

/// What an earlier attempt left.
fn found(ehr: &Fhir, resource_type: &str, key: &str) -> Result<Option<Receipt>, Fault> {
    client::find(&ehr.settings, resource_type, key)
}

fn create_patient(ehr: &Fhir, key: &str, patient: &Patient) -> Result<Receipt, Fault> {
    lost("Patient", &requests::patient::unsupported(patient));
    made(ehr, key, &requests::patient::patient(&ehr.settings, key, patient))
}

fn update_patient(ehr: &Fhir, key: &str, change: &PatientChange) -> Result<Receipt, Fault> {
    lost("Patient", &requests::patient::unsupported(&change.patient));
    revision::revise(&ehr.settings, key, ("Patient", &change.patient.id), |read| {
        let changed = requests::patient::changed(&ehr.settings, key, read, change).map_err(unreadable)?;
        Ok(Some(changed.into()))
    })
}

fn create_plan(ehr: &Fhir, key: &str, plan: &InsurancePlan) -> Result<Receipt, Fault> {
    lost("plan", if plan.fee_schedule.is_some() { &["fee-schedule"] } else { &[] });
    made(ehr, key, &requests::insurance::plan(&ehr.settings, key, plan))
}

/// What is gone carries no key; that it is gone is what was wanted.
fn deleted(id: &str) -> Result<Option<Receipt>, Fault> {
    let gone = client::read("Coverage", id)?.is_none();
    Ok(gone.then(|| Receipt { id: id.to_owned(), version: None }))
}

fn disable_alert(ehr: &Fhir, key: &str, alert: &PatientAlert) -> Result<Receipt, Fault> {
    revision::revise(&ehr.settings, key, ("Flag", &alert.id), |read| {
        let at = alert.disabled_at.unwrap_or_else(clock::now);
        Ok(Some(requests::talk::disabled(&ehr.settings, key, read, at).into()))
    })
}

fn create_payment(ehr: &Fhir, key: &str, payment: &Payment) -> Result<Receipt, Fault> {
    let payee = ehr.settings.payee.as_deref();
    let payee = payee.ok_or_else(|| Fault::unsupported("the setting `payee` is missing"))?;
    lost("PaymentNotice", &requests::money::unsupported(payment));
    let notice = requests::money::payment(&ehr.settings, key, payment, payee, clock::now());
    made(ehr, key, &notice.ok_or_else(|| Fault::rejected("the amount is no number"))?)
}

fn find_history(ehr: &Fhir, key: &str, item: &PatientHistoryItem) -> Result<Option<Receipt>, Fault> {
    let resource_type = history::resource_type(item.category);
    Ok(found(ehr, resource_type, key)?.map(|receipt| with_type(receipt, resource_type)))
}

fn save_history(ehr: &Fhir, key: &str, item: &PatientHistoryItem) -> Result<Receipt, Fault> {
    let (settings, resource_type) = (&ehr.settings, history::resource_type(item.category));
    if item.id.is_empty() {
        let concept = history_items::concept(settings, &item.item)?;
        let item = requests::history::item(settings, key, item, concept);
        let earlier = found(ehr, resource_type, key)?;
        return Ok(with_type(earlier.map_or_else(|| made(ehr, key, &item), Ok)?, resource_type));
    }
    let id = item.id.strip_prefix(resource_type).and_then(|rest| rest.strip_prefix('/'));
    let id = id.ok_or_else(|| Fault::rejected("the item is of another category in the EHR"))?;
    let revised = revision::revise(settings, key, (resource_type, id), |read| {
        let mut told = [read.clone()];
        enrich::medications(settings, &mut told)?;
        let [told] = told;
        let Record::PatientHistoryItem(shown) = history::patient_item(told, settings).map_err(unreadable)? else {
            return Err(unreadable("another record"));
        };
        Ok(Some(requests::history::changed(settings, key, read, &shown, item).into()))
    })?;
    Ok(with_type(revised, resource_type))
}

/// Ids of the three types of history are told apart by their type.
fn with_type(receipt: Receipt, resource_type: &str) -> Receipt {
    Receipt { id: format!("{resource_type}/{}", receipt.id), ..receipt }
}

fn answers(settings: &Settings, key: &str, response: &FormResponse) -> Result<Value, Fault> {
    let form = client::read("Questionnaire", &response.form_schema)?;
    let form = form.ok_or_else(|| Fault::rejected("the EHR has no such form"))?;
    let form: Questionnaire = map::read(form).map_err(unreadable)?;
    requests::forms::response(settings, key, response, &form).map_err(Fault::rejected)
}

fn unreadable(why: impl std::fmt::Display) -> Fault {
    Fault::rejected(format!("the EHR's record cannot be read: {why}"))
}

fn lost(resource_type: &str, fields: &[&str]) {
    if !fields.is_empty() {
        warn!("a {resource_type} resource has no place for {}", fields.join(", "));
    }
}

//! Writes: the required resource types and the handler of each.

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
    client::{self, create, find},
    enrich, history_items, map,
    map::history,
    requests,
    responses::filed::Questionnaire,
    revision,
    settings::Settings,
};

/// The supported writes. A resource contains the key of its last write.
pub const WRITES: &[Handler<Settings>] = &[
    Handler::create_patient(create_patient, |s, key, _| find(s, "Patient", key)).looking_first(),
    Handler::update_patient(update_patient, |s, key, _| find(s, "Patient", key)),
    Handler::create_appointment(booking::create, booking::find),
    Handler::reschedule_appointment(booking::reschedule, booking::find_moved),
    Handler::confirm_appointment(booking::confirm, booking::find),
    Handler::check_in_appointment(booking::check_in, booking::find),
    Handler::cancel_appointment(booking::cancel, booking::find_moved),
    Handler::note_appointment(booking::note, booking::find),
    Handler::create_insurance_plan(create_plan, |s, key, _| find(s, s.plans.resource_type(), key)).looking_first(),
    Handler::create_coverage(
        |s, key, c| create(s, &requests::insurance::coverage(s, key, c), key),
        |s, key, _| find(s, "Coverage", key),
    )
    .looking_first(),
    Handler::delete_coverage(|_, _, id| client::delete("Coverage", id), |_, _, id| deleted(id)),
    Handler::save_patient_history_item(save_history, find_history),
    Handler::create_patient_alert(
        |s, key, alert| create(s, &requests::communications::alert(s, key, alert), key),
        |s, key, _| find(s, "Flag", key),
    )
    .looking_first(),
    Handler::disable_patient_alert(disable_alert, |s, key, _| find(s, "Flag", key)),
    Handler::create_communication_log(
        |s, key, log| create(s, &requests::communications::communication(s, key, log), key),
        |s, key, _| find(s, "Communication", key),
    )
    .looking_first(),
    Handler::create_form_response(
        |s, key, response| create(s, &form_response(s, key, response)?, key),
        |s, key, _| find(s, "QuestionnaireResponse", key),
    )
    .looking_first(),
    Handler::create_payment(create_payment, |s, key, _| find(s, "PaymentNotice", key)).looking_first(),
];

/// Returns `true` if the server supports the write.
pub fn takes(offer: &Offer, settings: &Settings, kind: WriteKind) -> bool {
    match kind {
        WriteKind::CreatePatient => offer.creates("Patient"),
        WriteKind::UpdatePatient => offer.updates("Patient"),
        WriteKind::CreateAppointment => offer.creates("Appointment"),
        WriteKind::CreateInsurancePlan => offer.creates(settings.plans.resource_type()),
        WriteKind::CreateCoverage => offer.creates("Coverage"),
        WriteKind::DeleteCoverage => offer.deletes("Coverage"),
        WriteKind::SavePatientHistoryItem => {
            let is_written = |name: &&str| history::resource_type(history::category(name)) == *name;
            let types = history::TYPES.into_iter().filter(is_written);
            let mut there = types.filter(|name| offer.reads(name)).peekable();
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

fn create_patient(settings: &Settings, key: &str, patient: &Patient) -> Result<Receipt, Fault> {
    lost("Patient", &requests::patient::unsupported(patient));
    create(settings, &requests::patient::patient(settings, key, patient), key)
}

fn update_patient(settings: &Settings, key: &str, change: &PatientChange) -> Result<Receipt, Fault> {
    lost("Patient", &requests::patient::unsupported(&change.patient));
    revision::revise(settings, key, ("Patient", &change.patient.id), |_, patient| {
        requests::patient::update(settings, patient, change).map_err(unreadable)?;
        Ok(Some(Vec::new()))
    })
}

fn create_plan(settings: &Settings, key: &str, plan: &InsurancePlan) -> Result<Receipt, Fault> {
    if plan.fee_schedule.is_some() {
        lost("plan", &["fee-schedule".to_owned()]);
    }
    create(settings, &requests::insurance::plan(settings, key, plan), key)
}

/// A deleted coverage contains no key; its absence proves the write.
fn deleted(id: &str) -> Result<Option<Receipt>, Fault> {
    let gone = client::read("Coverage", id)?.is_none();
    Ok(gone.then(|| Receipt::new(id)))
}

fn disable_alert(settings: &Settings, key: &str, alert: &PatientAlert) -> Result<Receipt, Fault> {
    revision::revise(settings, key, ("Flag", &alert.id), |_, flag| {
        requests::communications::disable(flag, alert.disabled_at.unwrap_or_else(clock::now));
        Ok(Some(Vec::new()))
    })
}

fn create_payment(settings: &Settings, key: &str, payment: &Payment) -> Result<Receipt, Fault> {
    let payee = settings.payee.as_deref();
    let payee = payee.ok_or_else(|| Fault::unsupported("the setting `payee` is missing"))?;
    lost("PaymentNotice", &requests::money::unsupported(payment));
    let notice = requests::money::payment(settings, key, payment, payee, clock::now());
    create(settings, &notice.ok_or_else(|| Fault::rejected("the amount is no number"))?, key)
}

fn find_history(settings: &Settings, key: &str, item: &PatientHistoryItem) -> Result<Option<Receipt>, Fault> {
    let held = history::parse_id(item.category, &item.id).map(|(resource_type, _)| resource_type);
    let resource_type = held.unwrap_or(history::resource_type(item.category));
    Ok(find(settings, resource_type, key)?.map(|receipt| with_type(receipt, resource_type)))
}

fn save_history(settings: &Settings, key: &str, item: &PatientHistoryItem) -> Result<Receipt, Fault> {
    let resource_type = history::resource_type(item.category);
    if item.id.is_empty() {
        let concept = history_items::concept(settings, &item.item)?;
        let item = requests::history::item(settings, key, item, concept);
        let earlier = find(settings, resource_type, key)?;
        return Ok(with_type(earlier.map_or_else(|| create(settings, &item, key), Ok)?, resource_type));
    }
    let held = history::parse_id(item.category, &item.id);
    let (resource_type, id) = held.ok_or_else(|| Fault::rejected("the item is of another category in the EHR"))?;
    let revised = revision::revise(settings, key, (resource_type, id), |read, entry| {
        let mut enriched = [read.clone()];
        enrich::enrich(settings, resource_type, &mut enriched)?;
        let [enriched] = enriched;
        let Record::PatientHistoryItem(shown) = history::patient_item(enriched, settings).map_err(unreadable)? else {
            return Err(unreadable("another record"));
        };
        requests::history::change(entry, &shown, item);
        Ok(Some(Vec::new()))
    })?;
    Ok(with_type(revised, resource_type))
}

/// Adds the type to the id, which distinguishes the types of history.
fn with_type(receipt: Receipt, resource_type: &str) -> Receipt {
    Receipt { id: format!("{resource_type}/{}", receipt.id), ..receipt }
}

fn form_response(settings: &Settings, key: &str, response: &FormResponse) -> Result<Value, Fault> {
    let form = client::read("Questionnaire", &response.form_schema)?;
    let form = form.ok_or_else(|| Fault::rejected("the EHR has no such form"))?;
    let form: Questionnaire = map::read(form).map_err(unreadable)?;
    requests::forms::response(settings, key, response, &form).map_err(Fault::rejected)
}

fn unreadable(why: impl std::fmt::Display) -> Fault {
    Fault::rejected(format!("the EHR's record cannot be read: {why}"))
}

fn lost(resource_type: &str, fields: &[String]) {
    if !fields.is_empty() {
        warn!("a {resource_type} resource has no place for {}", fields.join(", "));
    }
}

//! Writes: which resource types each needs, and what becomes of each.

use adapter_sdk::{
    Fault, Receipt, Record, Write, WriteKind, clock,
    records::{FormResponse, PatientHistoryItem},
    warn,
};
use serde_json::Value;

use crate::{
    booking, capability::Offer, client, enrich, history_items, map, map::history, requests,
    responses::filed::Questionnaire, revision, settings::Settings,
};

/// What the server takes.
pub fn offered(offer: &Offer, settings: &Settings) -> Vec<WriteKind> {
    let history: Vec<&str> = history::TYPES.into_iter().filter(|name| offer.reads(name)).collect();
    let plans = settings.plans.resource_type();
    let kinds = [
        (WriteKind::CreatePatient, offer.creates("Patient")),
        (WriteKind::UpdatePatient, offer.updates("Patient")),
        (WriteKind::CreateAppointment, offer.creates("Appointment")),
        (WriteKind::RescheduleAppointment, offer.updates("Appointment")),
        (WriteKind::ConfirmAppointment, offer.updates("Appointment")),
        (WriteKind::CheckInAppointment, offer.updates("Appointment")),
        (WriteKind::CancelAppointment, offer.updates("Appointment")),
        (WriteKind::NoteAppointment, offer.updates("Appointment")),
        (WriteKind::CreateInsurancePlan, offer.creates(plans)),
        (WriteKind::CreateCoverage, offer.creates("Coverage")),
        (WriteKind::DeleteCoverage, offer.deletes("Coverage")),
        (
            WriteKind::SavePatientHistoryItem,
            !history.is_empty() && history.iter().all(|name| offer.creates(name) && offer.updates(name)),
        ),
        (WriteKind::CreatePatientAlert, offer.creates("Flag")),
        (WriteKind::DisablePatientAlert, offer.updates("Flag")),
        (WriteKind::CreateCommunicationLog, offer.creates("Communication")),
        (WriteKind::CreateFormResponse, offer.creates("QuestionnaireResponse") && offer.reads("Questionnaire")),
        (WriteKind::CreatePayment, offer.creates("PaymentNotice") && settings.payee.is_some()),
    ];
    kinds.into_iter().filter_map(|(kind, taken)| taken.then_some(kind)).collect()
}

/// None where this adapter has no such write at all.
pub fn kind(write: &Write) -> Option<WriteKind> {
    Some(match write {
        Write::CreatePatient(_) => WriteKind::CreatePatient,
        Write::UpdatePatient(_) => WriteKind::UpdatePatient,
        Write::CreateAppointment(_) => WriteKind::CreateAppointment,
        Write::RescheduleAppointment(_) => WriteKind::RescheduleAppointment,
        Write::ConfirmAppointment(_) => WriteKind::ConfirmAppointment,
        Write::CheckInAppointment(_) => WriteKind::CheckInAppointment,
        Write::CancelAppointment(_) => WriteKind::CancelAppointment,
        Write::NoteAppointment(_) => WriteKind::NoteAppointment,
        Write::CreateInsurancePlan(_) => WriteKind::CreateInsurancePlan,
        Write::CreateCoverage(_) => WriteKind::CreateCoverage,
        Write::DeleteCoverage(_) => WriteKind::DeleteCoverage,
        Write::SavePatientHistoryItem(_) => WriteKind::SavePatientHistoryItem,
        Write::CreatePatientAlert(_) => WriteKind::CreatePatientAlert,
        Write::DisablePatientAlert(_) => WriteKind::DisablePatientAlert,
        Write::CreateCommunicationLog(_) => WriteKind::CreateCommunicationLog,
        Write::CreateFormResponse(_) => WriteKind::CreateFormResponse,
        Write::CreatePayment(_) => WriteKind::CreatePayment,
        _ => return None,
    })
}

pub fn push(settings: &Settings, key: &str, write: &Write) -> Result<Receipt, Fault> {
    let create = |resource: &Value| match client::find(settings, client::text(resource, "resourceType"), key)? {
        Some(earlier) => Ok(earlier),
        None => client::create(settings, resource, key),
    };
    match write {
        Write::CreatePatient(patient) => {
            lost("Patient", &requests::patient::unsupported(patient));
            create(&requests::patient::patient(settings, key, patient))
        }
        Write::UpdatePatient(change) => {
            lost("Patient", &requests::patient::unsupported(&change.patient));
            revision::revise(settings, key, ("Patient", &change.patient.id), |read| {
                let changed = requests::patient::changed(settings, key, read, change).map_err(unreadable)?;
                Ok(Some(changed.into()))
            })
        }
        Write::CreateAppointment(change) => booking::create(settings, key, &change.appointment),
        Write::RescheduleAppointment(change) => booking::reschedule(settings, key, &change.appointment),
        Write::ConfirmAppointment(change) => booking::confirm(settings, key, &change.appointment),
        Write::CheckInAppointment(change) => booking::check_in(settings, key, &change.appointment, clock::now()),
        Write::NoteAppointment(change) => booking::note(settings, key, &change.appointment),
        Write::CancelAppointment(change) => {
            booking::cancel(settings, key, &change.appointment, change.reason.as_deref())
        }
        Write::CreateInsurancePlan(plan) => {
            lost("plan", if plan.fee_schedule.is_some() { &["fee-schedule"] } else { &[] });
            create(&requests::insurance::plan(settings, key, plan))
        }
        Write::CreateCoverage(coverage) => create(&requests::insurance::coverage(settings, key, coverage)),
        Write::DeleteCoverage(id) => client::delete("Coverage", id),
        Write::SavePatientHistoryItem(item) => save_history(settings, key, item, create),
        Write::CreatePatientAlert(alert) => create(&requests::talk::alert(settings, key, alert)),
        Write::DisablePatientAlert(alert) => revision::revise(settings, key, ("Flag", &alert.id), |read| {
            let at = alert.disabled_at.unwrap_or_else(clock::now);
            Ok(Some(requests::talk::disabled(settings, key, read, at).into()))
        }),
        Write::CreateCommunicationLog(log) => create(&requests::talk::communication(settings, key, log)),
        Write::CreateFormResponse(response) => create(&answers(settings, key, response)?),
        Write::CreatePayment(payment) => {
            let payee =
                settings.payee.as_deref().ok_or_else(|| Fault::unsupported("the setting `payee` is missing"))?;
            lost("PaymentNotice", &requests::money::unsupported(payment));
            let notice = requests::money::payment(settings, key, payment, payee, clock::now());
            create(&notice.ok_or_else(|| Fault::rejected("the amount is no number"))?)
        }
        _ => Err(Fault::unsupported("this adapter does not write such records")),
    }
}

/// Looks up what an earlier attempt left.
pub fn find(settings: &Settings, key: &str, write: &Write) -> Result<Option<Receipt>, Fault> {
    let resource_type = match write {
        Write::CreatePatient(_) | Write::UpdatePatient(_) => "Patient",
        Write::RescheduleAppointment(_) | Write::CancelAppointment(_) => return booking::find_moved(settings, key),
        Write::CreateAppointment(_)
        | Write::ConfirmAppointment(_)
        | Write::CheckInAppointment(_)
        | Write::NoteAppointment(_) => "Appointment",
        Write::CreateInsurancePlan(_) => settings.plans.resource_type(),
        Write::CreateCoverage(_) => "Coverage",
        // What is gone carries no key; that it is gone is what was wanted.
        Write::DeleteCoverage(id) => {
            let gone = client::read("Coverage", id)?.is_none();
            return Ok(gone.then(|| Receipt { id: id.clone(), version: None }));
        }
        Write::SavePatientHistoryItem(item) => {
            let resource_type = history::resource_type(item.category);
            let found = client::find(settings, resource_type, key)?;
            return Ok(found.map(|receipt| with_type(receipt, resource_type)));
        }
        Write::CreatePatientAlert(_) | Write::DisablePatientAlert(_) => "Flag",
        Write::CreateCommunicationLog(_) => "Communication",
        Write::CreateFormResponse(_) => "QuestionnaireResponse",
        Write::CreatePayment(_) => "PaymentNotice",
        _ => return Err(Fault::unsupported("this adapter does not write such records")),
    };
    client::find(settings, resource_type, key)
}

fn save_history(
    settings: &Settings,
    key: &str,
    item: &PatientHistoryItem,
    create: impl Fn(&Value) -> Result<Receipt, Fault>,
) -> Result<Receipt, Fault> {
    let resource_type = history::resource_type(item.category);
    if item.id.is_empty() {
        let concept = history_items::concept(settings, &item.item)?;
        let created = create(&requests::history::item(settings, key, item, concept))?;
        return Ok(with_type(created, resource_type));
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

//! Adapter for the simulated EHR. It has every part an adapter needs, in the layout all of ours share: `requests` builds,
//! `responses` parses, `map` translates, `faults` judges, and this file joins them.

pub mod cursor;
pub mod faults;
pub mod map;
pub mod requests;
pub mod responses;

use adapter_sdk::{
    Adapter, AppointmentChange, Deletions, Description, Fault, Hosting, MaxLength, Page, PatientField, PullAbility,
    Receipt, Record, Resource, SkippedRecord, Write, WriteKind, clock, config,
    http::{self, Response},
    json,
    records::Patient,
    warn,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use cursor::Cursor;
use map::Mapped;
use responses::{About, List, Written};

pub struct Sandbox;

adapter_sdk::export_adapter!(Sandbox);

/// In the order in which they refer to each other.
const PULLS: [Resource; 36] = [
    Resource::Providers,
    Resource::AppointmentTypes,
    Resource::Operatories,
    Resource::Patients,
    Resource::WorkingHours,
    Resource::Appointments,
    Resource::AppointmentDescriptors,
    Resource::FeeSchedules,
    Resource::InsurancePlans,
    Resource::Coverages,
    Resource::HistoryItems,
    Resource::PatientHistoryItems,
    Resource::PatientAlerts,
    Resource::CommunicationLogs,
    Resource::Conversations,
    Resource::FormSchemas,
    Resource::FormResponses,
    Resource::ProcedureCodeCategories,
    Resource::ProcedureCodes,
    Resource::Fees,
    Resource::Procedures,
    Resource::TreatmentPlans,
    Resource::ClinicalNotes,
    Resource::RecallTypes,
    Resource::PatientRecalls,
    Resource::DocumentTypes,
    Resource::Documents,
    Resource::PaymentTypes,
    Resource::AdjustmentTypes,
    Resource::Charges,
    Resource::Claims,
    Resource::PaymentPlans,
    Resource::Payments,
    Resource::Adjustments,
    Resource::GuarantorBalances,
    Resource::InsuranceBalances,
];

/// The contract's writes, and the dialect's writes each of them takes.
const WRITES: [(WriteKind, &[&str]); 21] = [
    (WriteKind::CreatePatient, &["create_patient"]),
    (WriteKind::UpdatePatient, &["update_patient"]),
    (WriteKind::CreateAppointment, &["create_appointment"]),
    (WriteKind::RescheduleAppointment, &["update_appointment"]),
    (WriteKind::ConfirmAppointment, &["update_appointment"]),
    (WriteKind::CheckInAppointment, &["update_appointment"]),
    (WriteKind::CancelAppointment, &["cancel_appointment"]),
    (WriteKind::NoteAppointment, &["update_appointment"]),
    (WriteKind::CreateWorkingHour, &["create_hours"]),
    (WriteKind::UpdateWorkingHour, &["update_hours"]),
    (WriteKind::DeleteWorkingHour, &["delete_hours"]),
    (WriteKind::CreateInsurancePlan, &["create_insurance_plan"]),
    (WriteKind::CreateCoverage, &["create_coverage"]),
    (WriteKind::DeleteCoverage, &["delete_coverage"]),
    (WriteKind::SavePatientHistoryItem, &["create_patient_history_item", "update_patient_history_item"]),
    (WriteKind::CreatePatientAlert, &["create_patient_alert"]),
    (WriteKind::DisablePatientAlert, &["update_patient_alert"]),
    (WriteKind::CreateCommunicationLog, &["create_communication_log"]),
    (WriteKind::CreateFormResponse, &["create_form_response"]),
    (WriteKind::CreatePayment, &["create_payment"]),
    (WriteKind::CreateAdjustment, &["create_adjustment"]),
];

const UNKEPT: [PatientField; 6] = [
    PatientField::Ssn,
    PatientField::WorkPhoneExtension,
    PatientField::BillingType,
    PatientField::Premedication,
    PatientField::NonPatient,
    PatientField::Extra,
];

impl Adapter for Sandbox {
    fn describe() -> Result<Description, Fault> {
        let about: About = read(requests::ABOUT)?.json()?;
        let taken = |dialect: &[&str]| dialect.iter().all(|write| about.writes.iter().any(|taken| taken == write));
        let ability = |resource| PullAbility { resource, delta: true, deletions: Deletions::Reported };
        Ok(Description {
            name: about.name,
            version: env!("CARGO_PKG_VERSION").into(),
            hosting: Hosting::Cloud,
            pulls: PULLS.map(ability).to_vec(),
            writes: WRITES.iter().filter(|(_, dialect)| taken(dialect)).map(|(kind, _)| *kind).collect(),
            required_patient_fields: about.required_patient_fields.iter().filter_map(|name| field(name)).collect(),
            unkept_patient_fields: UNKEPT.to_vec(),
            max_lengths: about.max_plan_name.map(|n| MaxLength::new("insurance-plan.name", n)).into_iter().collect(),
            new_patients: about.new_patients,
            operatories: true,
            requests_per_minute: about.requests_per_minute,
            gated: false,
            extra: Vec::new(),
        })
    }

    fn pull(resource: Resource, cursor: Option<String>, limit: u32) -> Result<Page, Fault> {
        match resource {
            Resource::Providers => typed::<responses::Provider>("providers", false, cursor, limit),
            Resource::AppointmentTypes => typed::<responses::AppointmentType>("types", false, cursor, limit),
            Resource::Patients => typed::<responses::Patient>("patients", false, cursor, limit),
            Resource::Operatories => typed::<responses::Operatory>("operatories", true, cursor, limit),
            Resource::WorkingHours => typed::<responses::Hours>("hours", true, cursor, limit),
            Resource::Appointments => typed::<responses::Appointment>("appointments", true, cursor, limit),
            // Everything else has the contract's names and fields.
            filed => page(&json::name(filed), false, cursor, limit, |record| {
                let fields: Map<String, Value> = serde_json::from_value(record).map_err(|_| UNREADABLE)?;
                json::record(filed, fields).map_err(|_| UNREADABLE)
            }),
        }
    }

    fn push(key: String, write: Write) -> Result<Receipt, Fault> {
        let update = |change: &AppointmentChange, body: Value| patch("appointments", &change.appointment.id, &body);
        match &write {
            Write::CreatePatient(patient) => {
                say_what_is_lost(patient);
                post("patients", &requests::with_key(&key, requests::patient(patient)))
            }
            Write::UpdatePatient(change) => {
                say_what_is_lost(&change.patient);
                let fields = change.fields(requests::patient);
                patch("patients", &change.patient.id, &requests::with_key(&key, fields))
            }
            Write::CreateAppointment(change) => {
                let location = config::require("location")?;
                post("appointments", &requests::new_appointment(&key, &location, &change.appointment))
            }
            Write::RescheduleAppointment(c) => update(c, requests::reschedule(&key, &c.appointment)),
            Write::ConfirmAppointment(c) => update(c, requests::confirm(&key, &c.appointment)),
            Write::CheckInAppointment(c) => update(c, requests::check_in(&key, &c.appointment)),
            Write::NoteAppointment(c) => update(c, requests::note(&key, &c.appointment)),
            Write::CancelAppointment(c) => cancel(&key, c),
            Write::CreateWorkingHour(hour) => {
                let location = config::require("location")?;
                post("hours", &requests::new_hours(&key, &location, hour))
            }
            Write::UpdateWorkingHour(hour) => patch("hours", &hour.id, &requests::hours(&key, hour)),
            Write::DeleteWorkingHour(id) => delete("hours", &key, id),
            Write::CreateInsurancePlan(plan) => file("insurance_plans", &key, plan),
            Write::CreateCoverage(coverage) => file("coverages", &key, coverage),
            Write::DeleteCoverage(id) => delete("coverages", &key, id),
            Write::SavePatientHistoryItem(item) if item.id.is_empty() => file("patient_history_items", &key, item),
            Write::SavePatientHistoryItem(item) => refile("patient_history_items", &key, &item.id, item),
            Write::CreatePatientAlert(alert) => file("patient_alerts", &key, alert),
            Write::DisablePatientAlert(alert) => {
                let disabled_at = alert.disabled_at.unwrap_or_else(clock::now);
                patch("patient_alerts", &alert.id, &requests::disabled(&key, disabled_at))
            }
            Write::CreateCommunicationLog(log) => file("communication_logs", &key, log),
            Write::CreateFormResponse(response) => file("form_responses", &key, response),
            Write::CreatePayment(payment) => file("payments", &key, payment),
            Write::CreateAdjustment(adjustment) => file("adjustments", &key, adjustment),
        }
    }

    fn find(key: String, _: Write) -> Result<Option<Receipt>, Fault> {
        let answer = http::get(requests::written(&key)).send_any()?;
        match answer.status {
            200 => answer.json().map(|written| Some(receipt(written))),
            // Only the EHR's own word counts: a proxy's 404 says nothing about the write.
            404 if faults::code(&answer).as_deref() == Some("not_found") => Ok(None),
            404 => Err(Fault::retry_later("the EHR's base URL answers 404", None)),
            _ => Err(faults::of_answer(&answer, true)),
        }
    }
}

/// The dialect's name of a patient's field. Names of people are needed anyhow.
fn field(name: &str) -> Option<PatientField> {
    Some(match name {
        "middle_name" => PatientField::MiddleName,
        "born" => PatientField::DateOfBirth,
        "gender" => PatientField::Gender,
        "email" => PatientField::Email,
        "cell" => PatientField::CellPhone,
        "home" => PatientField::HomePhone,
        "work" => PatientField::WorkPhone,
        "address" => PatientField::Address,
        "guarantor" => PatientField::Guarantor,
        "provider" => PatientField::Provider,
        "chart" => PatientField::ChartId,
        "language" => PatientField::PreferredLanguage,
        _ => return None,
    })
}

fn typed<T: Mapped + DeserializeOwned>(
    name: &str,
    local: bool,
    cursor: Option<String>,
    limit: u32,
) -> Result<Page, Fault> {
    page(name, local, cursor, limit, |record| {
        let record: T = serde_json::from_value(record).map_err(|_| UNREADABLE)?;
        record.mapped().ok_or("it contradicts itself")
    })
}

/// serde's own words may quote a value.
const UNREADABLE: &str = "a field is missing or not as expected";

/// `map` answers why something cannot be such a record: it is left out, and the rest of the page is read.
fn page(
    name: &str,
    local: bool,
    cursor: Option<String>,
    limit: u32,
    map: impl Fn(Value) -> Result<Record, &'static str>,
) -> Result<Page, Fault> {
    let at = Cursor::parse(cursor.as_deref()).ok_or_else(|| Fault::rejected("not a cursor of this adapter"))?;
    let location = if local { Some(config::require("location")?) } else { None };
    let list: List<Value> = read(&requests::list(name, location.as_deref(), at.revision, limit))?.json()?;
    let (mut records, mut skipped) = (Vec::new(), Vec::new());
    for record in list.records {
        let id = record["id"].as_str().unwrap_or_default().to_owned();
        match map(record) {
            Ok(record) => records.push(record),
            // Without an identifier nothing can be said of a single record.
            Err(why) if id.is_empty() => return Err(Fault::retry_later(format!("a record of {name}: {why}"), None)),
            Err(why) => skipped.push(SkippedRecord::new(id, why)),
        }
    }
    Ok(Page {
        records,
        skipped,
        deleted: list.deleted,
        cursor: at.next(list.revision, list.more).to_string(),
        last: !list.more,
        whole: at.whole,
        estimate: at.whole.then_some(list.total),
    })
}

fn say_what_is_lost(patient: &Patient) {
    let lost = requests::unsupported(patient);
    if !lost.is_empty() {
        warn!("the EHR has no field for {}", lost.join(", "));
    }
}

fn read(path: &str) -> Result<Response, Fault> {
    judged(http::get(path).send_any()?, true)
}

fn post(name: &str, body: &Value) -> Result<Receipt, Fault> {
    let answer = http::post(format!("/v1/{name}")).json(body)?.send_any()?;
    judged(answer, false)?.written_json().map(receipt)
}

/// What staff have cancelled already is as cancelled as it was to be.
fn cancel(key: &str, change: &AppointmentChange) -> Result<Receipt, Fault> {
    let (id, body) = (&change.appointment.id, requests::cancel(key, &change.appointment, change.reason.as_deref()));
    let answer = http::patch(requests::record("appointments", id)).json(&body)?.send_any()?;
    if answer.status == 422 && faults::code(&answer).as_deref() == Some("cancelled") {
        return Ok(Receipt { id: id.clone(), version: None });
    }
    judged(answer, false)?.written_json().map(receipt)
}

fn patch(name: &str, id: &str, body: &Value) -> Result<Receipt, Fault> {
    let answer = http::patch(requests::record(name, id)).json(body)?.send_any()?;
    judged(answer, false)?.written_json().map(receipt)
}

/// A new row: the record as the contract has it.
fn file(name: &str, key: &str, record: &impl Serialize) -> Result<Receipt, Fault> {
    post(name, &row(key, record)?)
}

/// A row as it should be.
fn refile(name: &str, key: &str, id: &str, record: &impl Serialize) -> Result<Receipt, Fault> {
    patch(name, id, &row(key, record)?)
}

fn row(key: &str, record: &impl Serialize) -> Result<Value, Fault> {
    let fields = json::fields(record).map_err(|e| Fault::rejected(format!("it cannot be written as JSON: {e}")))?;
    if fields.contains_key("extra") {
        warn!("the EHR has no field for extra");
    }
    Ok(requests::row(key, fields))
}

/// What staff have deleted already is as gone as it was to be.
fn delete(name: &str, key: &str, id: &str) -> Result<Receipt, Fault> {
    let answer = http::delete(requests::record(name, id)).json(&requests::keyed(key))?.send_any()?;
    if answer.status == 404 && faults::code(&answer).as_deref() == Some("not_found") {
        return Ok(Receipt { id: id.to_owned(), version: None });
    }
    judged(answer, false)?.written_json().map(receipt)
}

fn judged(answer: Response, reads: bool) -> Result<Response, Fault> {
    match answer.status {
        200..=299 => Ok(answer),
        _ => Err(faults::of_answer(&answer, reads)),
    }
}

fn receipt(written: Written) -> Receipt {
    Receipt { id: written.id, version: written.version.map(|version| version.to_string()) }
}

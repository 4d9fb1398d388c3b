//! Adapter for GNU Health. `requests` builds, `responses` parses, `map` converts, `faults` maps refusals, `client`
//! sends, `streams` contains the readable resources; this file combines them.

pub mod booking;
pub mod chart;
pub mod client;
pub mod conventions;
pub mod faults;
pub mod ledger;
pub mod map;
pub mod patients;
pub mod requests;
pub mod responses;
pub mod rows;
pub mod settings;
pub mod streams;
pub mod values;

use std::collections::{BTreeMap, BTreeSet};

use adapter_sdk::{
    Description, Fault, Hosting, PatientField, WriteKind, streams::Stream, tables::Tables, writes::Handler,
};
use serde::Deserialize;
use values::Flag;

use booking::{
    Change::{Cancel, CheckIn, Confirm, Move, Note},
    change, find_changed,
};
/// The state of one call is the configured settings.
pub use settings::Settings as GnuHealth;

adapter_sdk::export_adapter!(GnuHealth);

impl Tables for GnuHealth {
    const STREAMS: &'static [Stream<GnuHealth>] = streams::STREAMS;
    const WRITES: &'static [Handler<GnuHealth>] = &[
        Handler::create_patient(patients::create, patients::find_created),
        Handler::update_patient(patients::update, patients::find_updated),
        Handler::create_appointment(booking::create, booking::find_created),
        Handler::reschedule_appointment(|s, _, c| change(s, Move, c), |s, _, c| find_changed(s, Move, c)),
        Handler::confirm_appointment(|s, _, c| change(s, Confirm, c), |s, _, c| find_changed(s, Confirm, c)),
        Handler::check_in_appointment(|s, _, c| change(s, CheckIn, c), |s, _, c| find_changed(s, CheckIn, c)),
        Handler::cancel_appointment(|s, _, c| change(s, Cancel, c), |s, _, c| find_changed(s, Cancel, c)),
        Handler::note_appointment(|s, _, c| change(s, Note, c), |s, _, c| find_changed(s, Note, c)),
        Handler::create_insurance_plan(chart::create_plan, |_, key, _| chart::find_plan(key)).looking_first(),
        Handler::create_coverage(chart::create_coverage, |_, key, _| chart::INSURANCES.find_receipt(key))
            .looking_first(),
        Handler::delete_coverage(|_, _, id| chart::delete_coverage(id), |_, _, id| chart::find_deleted_coverage(id))
            .looking_first(),
        Handler::save_patient_history_item(chart::save_history, chart::find_history).looking_first(),
        Handler::create_communication_log(chart::create_note, |_, key, _| chart::NOTES.find_receipt(key))
            .looking_first(),
        Handler::create_payment(ledger::pay, |_, key, _| ledger::find(key)).looking_first(),
    ];
    const UNKEPT: &'static [PatientField] = &[
        PatientField::Ssn,
        PatientField::WorkPhoneExtension,
        PatientField::Guarantor,
        PatientField::BillingType,
        PatientField::Premedication,
        PatientField::NonPatient,
        PatientField::UnsubscribedSms,
        PatientField::UnsubscribedEmail,
        PatientField::Extra,
    ];

    fn open() -> Result<GnuHealth, Fault> {
        GnuHealth::read()
    }

    /// Removes resources and writes for which the EHR lacks a module, or the login lacks the right to read. A missing
    /// right to write is reported by the EHR at the write.
    fn about(&self, mut by_tables: Description) -> Result<Description, Fault> {
        let pulls = by_tables.pulls.iter();
        let models: BTreeSet<&str> = pulls.flat_map(|pull| streams::models(self, pull.resource)).collect();
        let there = existing_models(&models.into_iter().collect::<Vec<_>>())?;
        let readable = readable(&there)?;
        let is_readable = |model: &str| readable.contains(model);
        by_tables.pulls.retain(|pull| streams::models(self, pull.resource).all(is_readable));
        by_tables.writes.retain(|kind| there.iter().any(|model| model == model_of(*kind)));
        Ok(Description {
            name: "GNU Health".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            hosting: Hosting::Onprem,
            // An appointment has a professional and no room.
            operatories: false,
            ..by_tables
        })
    }
}

/// Returns the model that a write needs. The EHR's modules determine which models exist.
fn model_of(write: WriteKind) -> &'static str {
    match write {
        WriteKind::CreatePatient | WriteKind::UpdatePatient => "gnuhealth.patient",
        WriteKind::CreateInsurancePlan | WriteKind::CreateCoverage | WriteKind::DeleteCoverage => "gnuhealth.insurance",
        WriteKind::SavePatientHistoryItem => "gnuhealth.patient.disease",
        WriteKind::CreateCommunicationLog => "ir.note",
        WriteKind::CreatePayment => "account.invoice.payment.method",
        _ => "gnuhealth.appointment",
    }
}

/// Returns those of the models that exist in the EHR.
fn existing_models(models: &[&str]) -> Result<Vec<String>, Fault> {
    #[derive(Deserialize)]
    struct Model {
        model: String,
    }
    let rows = client::call(&requests::models(models))?;
    let rows: Vec<Model> = serde_json::from_value(rows).map_err(|_| client::unexpected())?;
    Ok(rows.into_iter().map(|row| row.model).collect())
}

/// Returns those of the models that the login may read.
fn readable(models: &[String]) -> Result<BTreeSet<String>, Fault> {
    #[derive(Deserialize)]
    struct ModelAccess {
        read: Flag,
    }
    let names: Vec<&str> = models.iter().map(String::as_str).collect();
    let access = client::call(&requests::access(&names))?;
    let access: BTreeMap<String, ModelAccess> = serde_json::from_value(access).map_err(|_| client::unexpected())?;
    Ok(access.into_iter().filter(|(_, access)| access.read.0).map(|(model, _)| model).collect())
}

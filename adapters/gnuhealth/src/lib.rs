//! Adapter for GNU Health. `requests` builds, `responses` parses, `map` translates, `faults` judges, `client` sends, `streams` is what can be
//! read; this file joins them.

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
pub mod settings;
pub mod streams;
pub mod values;

use std::collections::{BTreeMap, BTreeSet};

use adapter_sdk::{
    Description, Fault, Hosting, PatientField, WriteKind, streams::Stream, tables::Tables, writes::Handler,
};
use serde::Deserialize;

use booking::Change::{Cancel, CheckIn, Confirm, Move, Note};
pub use settings::GnuHealth;
use settings::Settings;

adapter_sdk::export_adapter!(GnuHealth);

impl Tables for GnuHealth {
    const STREAMS: &'static [Stream<GnuHealth>] = streams::STREAMS;
    const WRITES: &'static [Handler<GnuHealth>] = &[
        Handler::create_patient(
            |ehr, key, p| patients::create(&ehr.settings, key, p),
            |_, key, p| patients::find_created(key, p),
        ),
        Handler::update_patient(
            |ehr, _, c| patients::update(&ehr.settings, c),
            |ehr, _, c| patients::find_updated(&ehr.settings, c),
        ),
        Handler::create_appointment(
            |ehr, key, c| booking::create(&ehr.settings, key, &c.appointment),
            |_, key, _| booking::find_created(key),
        ),
        Handler::reschedule_appointment(
            |ehr, _, c| booking::change(&ehr.settings, Move, c),
            |ehr, _, c| booking::find_changed(&ehr.settings, Move, c),
        ),
        Handler::confirm_appointment(
            |ehr, _, c| booking::change(&ehr.settings, Confirm, c),
            |ehr, _, c| booking::find_changed(&ehr.settings, Confirm, c),
        ),
        Handler::check_in_appointment(
            |ehr, _, c| booking::change(&ehr.settings, CheckIn, c),
            |ehr, _, c| booking::find_changed(&ehr.settings, CheckIn, c),
        ),
        Handler::cancel_appointment(
            |ehr, _, c| booking::change(&ehr.settings, Cancel, c),
            |ehr, _, c| booking::find_changed(&ehr.settings, Cancel, c),
        ),
        Handler::note_appointment(
            |ehr, _, c| booking::change(&ehr.settings, Note, c),
            |ehr, _, c| booking::find_changed(&ehr.settings, Note, c),
        ),
        Handler::create_insurance_plan(
            |ehr: &GnuHealth, key, plan| chart::create_plan(&ehr.settings, key, plan),
            |_, key, _| chart::find_plan(key),
        )
        .looking_first(),
        Handler::create_coverage(|_, key, c| chart::create_coverage(key, c), |_, key, _| chart::find_coverage(key))
            .looking_first(),
        Handler::delete_coverage(|_, _, id| chart::delete_coverage(id), |_, _, id| chart::find_deleted_coverage(id))
            .looking_first(),
        Handler::save_patient_history_item(
            |_, key, item| chart::save_history(key, item),
            |_, key, item| chart::find_history(key, item),
        )
        .looking_first(),
        Handler::create_communication_log(
            |_, key, log| chart::create_note(key, log),
            |_, key, _| chart::find_note(key),
        )
        .looking_first(),
        Handler::create_payment(|_, key, paid| ledger::pay(key, paid), |_, key, _| ledger::find(key)).looking_first(),
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
        Ok(GnuHealth { settings: Settings::read()? })
    }

    /// Less is read and written where the EHR lacks a module, or the login a right to read. That its role may not write is said by the EHR
    /// when it is tried.
    fn about(&self, mut by_tables: Description) -> Result<Description, Fault> {
        let pulls = by_tables.pulls.iter();
        let models: BTreeSet<&str> = pulls.flat_map(|pull| streams::models(pull.resource)).collect();
        let there = models_there(&models.into_iter().collect::<Vec<_>>())?;
        let readable = readable(&there)?;
        let is_readable = |model: &str| readable.contains(model);
        by_tables.pulls.retain(|pull| streams::models(pull.resource).all(is_readable));
        by_tables.writes.retain(|kind| there.iter().any(|model| model == model_of(*kind)));
        Ok(Description {
            name: "GNU Health".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            hosting: Hosting::Onprem,
            // An appointment names a professional and no room.
            operatories: false,
            ..by_tables
        })
    }
}

/// The model a write needs: which of them an EHR takes depends on its modules.
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

/// Which of these models the EHR's modules have.
fn models_there(models: &[&str]) -> Result<Vec<String>, Fault> {
    #[derive(Deserialize)]
    struct Model {
        model: String,
    }
    let rows = client::ask(&requests::models(models))?;
    let rows: Vec<Model> = serde_json::from_value(rows).map_err(|_| unexpected())?;
    Ok(rows.into_iter().map(|row| row.model).collect())
}

/// Which of these models the login may read.
fn readable(models: &[String]) -> Result<BTreeSet<String>, Fault> {
    #[derive(Deserialize)]
    struct Access {
        #[serde(deserialize_with = "values::yes")]
        read: bool,
    }
    let names: Vec<&str> = models.iter().map(String::as_str).collect();
    let access = client::ask(&requests::access(&names))?;
    let access: BTreeMap<String, Access> = serde_json::from_value(access).map_err(|_| unexpected())?;
    Ok(access.into_iter().filter(|(_, access)| access.read).map(|(model, _)| model).collect())
}

fn unexpected() -> Fault {
    Fault::retry_later("the EHR's answer is not as expected", None)
}

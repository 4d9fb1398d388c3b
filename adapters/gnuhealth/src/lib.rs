//! Adapter for GNU Health. `requests` builds, `responses` parses, `map` translates, `faults` judges, `client` sends; this file joins them.

pub mod booking;
pub mod chart;
pub mod client;
pub mod conventions;
pub mod cursor;
pub mod faults;
pub mod ledger;
pub mod map;
pub mod patients;
pub mod pull;
pub mod requests;
pub mod responses;
pub mod settings;
pub mod streams;
pub mod values;
pub mod write_key;

use std::collections::{BTreeMap, BTreeSet};

use adapter_sdk::{
    Adapter, Deletions, Description, Fault, Hosting, Page, PatientField, PullAbility, Receipt, Resource, Write,
    WriteKind,
};
use serde::Deserialize;

use booking::Change;
use settings::Settings;

pub struct GnuHealth;

adapter_sdk::export_adapter!(GnuHealth);

/// The writes, and the model each needs: which of them an EHR takes depends on its modules. That the login's role may not write is said by
/// the EHR when it is tried.
const WRITES: [(WriteKind, &str); 14] = [
    (WriteKind::CreatePatient, "gnuhealth.patient"),
    (WriteKind::UpdatePatient, "gnuhealth.patient"),
    (WriteKind::CreateAppointment, "gnuhealth.appointment"),
    (WriteKind::RescheduleAppointment, "gnuhealth.appointment"),
    (WriteKind::ConfirmAppointment, "gnuhealth.appointment"),
    (WriteKind::CheckInAppointment, "gnuhealth.appointment"),
    (WriteKind::CancelAppointment, "gnuhealth.appointment"),
    (WriteKind::NoteAppointment, "gnuhealth.appointment"),
    (WriteKind::CreateInsurancePlan, "gnuhealth.insurance"),
    (WriteKind::CreateCoverage, "gnuhealth.insurance"),
    (WriteKind::DeleteCoverage, "gnuhealth.insurance"),
    (WriteKind::SavePatientHistoryItem, "gnuhealth.patient.disease"),
    (WriteKind::CreateCommunicationLog, "ir.note"),
    (WriteKind::CreatePayment, "account.invoice.payment.method"),
];

const UNKEPT: [PatientField; 6] = [
    PatientField::Ssn,
    PatientField::WorkPhoneExtension,
    PatientField::BillingType,
    PatientField::Premedication,
    PatientField::NonPatient,
    PatientField::Extra,
];

impl Adapter for GnuHealth {
    fn describe() -> Result<Description, Fault> {
        Settings::read()?;
        let models: BTreeSet<&str> = streams::PULLS.into_iter().flat_map(streams::models).collect();
        let models: Vec<&str> = models.into_iter().collect();
        let there = models_there(&models)?;
        let readable = readable(&there)?;
        let pulls = streams::PULLS
            .into_iter()
            .filter(|resource| streams::models(*resource).iter().all(|model| readable.contains(*model)));
        let ability = |resource| {
            let deletions = Deletions::ByAbsence;
            PullAbility { resource, delta: streams::has_deltas(resource), deletions }
        };
        Ok(Description {
            name: "GNU Health".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            hosting: Hosting::Onprem,
            pulls: pulls.map(ability).collect(),
            writes: WRITES
                .iter()
                .filter(|(_, model)| there.iter().any(|m| m == model))
                .map(|(kind, _)| *kind)
                .collect(),
            unkept_patient_fields: UNKEPT.to_vec(),
            new_patients: true,
            // An appointment names a professional and no room.
            operatories: false,
            ..Description::default()
        })
    }

    fn pull(resource: Resource, cursor: Option<String>, limit: u32) -> Result<Page, Fault> {
        pull::page(&Settings::read()?, resource, cursor.as_deref(), limit)
    }

    fn push(key: String, write: Write) -> Result<Receipt, Fault> {
        let settings = Settings::read()?;
        match &write {
            Write::CreatePatient(patient) => patients::create(&settings, &key, patient),
            Write::UpdatePatient(change) => patients::update(&settings, change),
            Write::CreateAppointment(change) => booking::create(&settings, &key, &change.appointment),
            Write::RescheduleAppointment(change) => booking::change(&settings, Change::Move, change),
            Write::ConfirmAppointment(change) => booking::change(&settings, Change::Confirm, change),
            Write::CheckInAppointment(change) => booking::change(&settings, Change::CheckIn, change),
            Write::NoteAppointment(change) => booking::change(&settings, Change::Note, change),
            Write::CancelAppointment(change) => booking::change(&settings, Change::Cancel, change),
            Write::CreateInsurancePlan(plan) => chart::create_plan(&settings, &key, plan),
            Write::CreateCoverage(coverage) => chart::create_coverage(&key, coverage),
            Write::DeleteCoverage(id) => chart::delete_coverage(id),
            Write::SavePatientHistoryItem(item) => chart::save_history(&key, item),
            Write::CreateCommunicationLog(log) => chart::create_note(&key, log),
            Write::CreatePayment(payment) => ledger::pay(&key, payment),
            _ => Err(no_such_write()),
        }
    }

    fn find(key: String, write: Write) -> Result<Option<Receipt>, Fault> {
        let settings = Settings::read()?;
        match &write {
            Write::CreatePatient(patient) => patients::find_created(&key, patient),
            Write::UpdatePatient(change) => patients::find_updated(&settings, change),
            Write::CreateAppointment(_) => booking::find_created(&key),
            Write::RescheduleAppointment(change) => booking::find_changed(&settings, Change::Move, change),
            Write::ConfirmAppointment(change) => booking::find_changed(&settings, Change::Confirm, change),
            Write::CheckInAppointment(change) => booking::find_changed(&settings, Change::CheckIn, change),
            Write::NoteAppointment(change) => booking::find_changed(&settings, Change::Note, change),
            Write::CancelAppointment(change) => booking::find_changed(&settings, Change::Cancel, change),
            Write::CreateInsurancePlan(_) => chart::find_plan(&key),
            Write::CreateCoverage(_) => chart::find_coverage(&key),
            Write::DeleteCoverage(id) => chart::find_deleted_coverage(id),
            Write::SavePatientHistoryItem(item) => chart::find_history(&key, item),
            Write::CreateCommunicationLog(_) => chart::find_note(&key),
            Write::CreatePayment(_) => ledger::find(&key),
            _ => Err(no_such_write()),
        }
    }
}

fn no_such_write() -> Fault {
    Fault::unsupported("GNU Health has no such write")
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

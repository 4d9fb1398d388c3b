//! Adapter for Open Dental's REST API, written from its public documentation. `requests` builds, `responses` and `values` parse, `map`, `chart`,
//! `ledger` and `hours` translate, `faults` judges, `client` sends, `streams` and `lists` read, `booking`, `patients` and `filing` write.

pub mod booking;
pub mod chart;
pub mod client;
pub mod cursor;
pub mod faults;
pub mod filing;
pub mod hours;
pub mod language;
pub mod ledger;
pub mod lists;
pub mod map;
pub mod patients;
pub mod pattern;
pub mod requests;
pub mod responses;
pub mod settings;
pub mod streams;
pub mod time;
pub mod values;
pub mod write_key;

use adapter_sdk::{
    Adapter, Description, Fault, Hosting, MaxLength, Page, PatientField, Receipt, Resource, Write, WriteKind,
};

use client::Client;
use responses::Row;

pub struct OpenDental;

adapter_sdk::export_adapter!(OpenDental);

const WRITES: [WriteKind; 15] = [
    WriteKind::CreatePatient,
    WriteKind::UpdatePatient,
    WriteKind::CreateAppointment,
    WriteKind::RescheduleAppointment,
    WriteKind::ConfirmAppointment,
    WriteKind::CheckInAppointment,
    WriteKind::CancelAppointment,
    WriteKind::NoteAppointment,
    WriteKind::CreateInsurancePlan,
    WriteKind::CreateCoverage,
    WriteKind::DeleteCoverage,
    WriteKind::SavePatientHistoryItem,
    WriteKind::CreateCommunicationLog,
    WriteKind::CreatePayment,
    WriteKind::CreateAdjustment,
];

impl Adapter for OpenDental {
    fn describe() -> Result<Description, Fault> {
        let client = Client::open()?;
        // The one thing that must work; it also proves the keys.
        client.page("/operatories", responses::Operatory::KEY, &requests::clinic(&client.settings), 0, 1)?;
        Ok(Description {
            name: "Open Dental".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            hosting: Hosting::Onprem,
            pulls: streams::abilities(),
            writes: WRITES.to_vec(),
            unkept_patient_fields: vec![PatientField::Premedication, PatientField::Extra],
            max_lengths: vec![
                MaxLength::new("insurance-plan.name", 255),
                MaxLength::new("insurance-plan.group-number", 25),
                MaxLength::new("patient.chart-id", requests::CHART_NUMBER as u32),
            ],
            new_patients: true,
            operatories: true,
            requests_per_minute: client.settings.requests_per_minute,
            ..Description::default()
        })
    }

    fn pull(resource: Resource, cursor: Option<String>, limit: u32) -> Result<Page, Fault> {
        let feed =
            streams::of(resource).ok_or_else(|| Fault::unsupported("this adapter does not read such records"))?;
        feed.pull(&Client::open()?, cursor.as_deref(), limit)
    }

    fn push(key: String, write: Write) -> Result<Receipt, Fault> {
        let client = Client::open()?;
        match &write {
            Write::CreatePatient(patient) => patients::create(&client, patient),
            Write::UpdatePatient(change) => patients::update(&client, change),
            Write::CreateAppointment(change) => booking::create(&client, &key, &change.appointment),
            Write::RescheduleAppointment(change) => booking::reschedule(&client, &change.appointment),
            Write::ConfirmAppointment(change) => booking::confirm(&client, &change.appointment),
            Write::CheckInAppointment(change) => booking::check_in(&client, &change.appointment),
            Write::NoteAppointment(change) => booking::note(&client, &change.appointment),
            Write::CancelAppointment(change) => booking::cancel(&client, &change.appointment, change.reason.as_deref()),
            Write::CreateInsurancePlan(plan) => filing::create_plan(&client, &key, plan),
            Write::CreateCoverage(coverage) => filing::create_coverage(&client, coverage),
            Write::DeleteCoverage(id) => filing::delete_coverage(&client, id),
            Write::SavePatientHistoryItem(item) => filing::save_history(&client, item),
            Write::CreateCommunicationLog(log) => filing::create_commlog(&client, &key, log),
            Write::CreatePayment(payment) => filing::create_payment(&client, &key, payment),
            Write::CreateAdjustment(adjustment) => filing::create_adjustment(&client, &key, adjustment),
            _ => Err(Fault::unsupported("this adapter does not write such records")),
        }
    }

    fn find(key: String, write: Write) -> Result<Option<Receipt>, Fault> {
        let client = Client::open()?;
        let found = match &write {
            Write::CreatePatient(patient) => patients::find(&client, patient),
            Write::UpdatePatient(change) => patients::find_update(&client, change),
            Write::CreateAppointment(change) => booking::find(&client, &key, &change.appointment),
            Write::RescheduleAppointment(change) => {
                let a = &change.appointment;
                booking::find_change(&client, a, |row| booking::stands(row, a))
            }
            Write::ConfirmAppointment(change) => {
                let a = &change.appointment;
                booking::find_change(&client, a, |row| booking::is_confirmed(&client, row) == a.confirmed)
            }
            Write::CheckInAppointment(change) => {
                let a = &change.appointment;
                booking::find_change(&client, a, |row| {
                    map::arrived(row).is_some_and(|at| a.checkin_at.is_none_or(|wanted| wanted == at))
                })
            }
            Write::NoteAppointment(change) => {
                let a = &change.appointment;
                booking::find_change(&client, a, |row| {
                    write_key::same_text(write_key::read(&row.note).text.as_deref(), a.note.as_deref())
                })
            }
            Write::CancelAppointment(change) => booking::find_change(&client, &change.appointment, map::is_off),
            Write::CreateInsurancePlan(plan) => filing::find_plan(&client, &key, plan),
            Write::CreateCoverage(coverage) => filing::find_coverage(&client, coverage),
            Write::DeleteCoverage(id) => filing::find_deleted_coverage(&client, id),
            Write::SavePatientHistoryItem(item) => filing::find_history(&client, item),
            Write::CreateCommunicationLog(log) => filing::find_commlog(&client, &key, log),
            Write::CreatePayment(payment) => filing::find_payment(&client, &key, payment),
            Write::CreateAdjustment(adjustment) => filing::find_adjustment(&client, &key, adjustment),
            _ => Err(Fault::unsupported("this adapter does not write such records")),
        };
        match found {
            // Certainly not written is not what a refused look says: ask again.
            Err(Fault::Rejected(why)) => Err(Fault::retry_later(why, None)),
            found => found,
        }
    }
}

//! Adapter for Open Dental's REST API, written from its public documentation. `requests` builds, `responses` and `values` parse, `map`, `chart`,
//! `ledger` and `hours` translate, `faults` judges, `office` sends, `feeds` and `lists` read, `booking`, `patients` and `filing` write.

pub mod booking;
pub mod chart;
pub mod cursor;
pub mod faults;
pub mod feeds;
pub mod filing;
pub mod hours;
pub mod keys;
pub mod language;
pub mod ledger;
pub mod lists;
pub mod map;
pub mod office;
pub mod patients;
pub mod pattern;
pub mod requests;
pub mod responses;
pub mod settings;
pub mod time;
pub mod values;

use adapter_sdk::{Adapter, Description, Fault, Page, Receipt, Resource, Write, WriteKind};

use office::Office;
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
        let office = Office::open()?;
        // The one thing that must work; it also proves the keys.
        office.page("/operatories", responses::Operatory::KEY, &requests::clinic(&office.settings), 0, 1)?;
        Ok(Description {
            name: "Open Dental".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            hosting: "onprem".into(),
            pulls: feeds::abilities(),
            writes: WRITES.to_vec(),
            unkept_patient_fields: vec!["premedication".into(), "extra".into()],
            max_lengths: vec![
                ("insurance_plan.name".into(), 255),
                ("insurance_plan.group_number".into(), 25),
                ("patient.chart_id".into(), requests::CHART_NUMBER as u32),
            ],
            new_patients: true,
            operatories: true,
            requests_per_minute: office.settings.requests_per_minute,
            ..Description::default()
        })
    }

    fn pull(resource: Resource, cursor: Option<String>, limit: u32) -> Result<Page, Fault> {
        let feed = feeds::of(resource).ok_or_else(|| Fault::unsupported("this adapter does not read such records"))?;
        feed.pull(&Office::open()?, cursor.as_deref(), limit)
    }

    fn push(key: String, write: Write) -> Result<Receipt, Fault> {
        let office = Office::open()?;
        match &write {
            Write::CreatePatient(patient) => patients::create(&office, patient),
            Write::UpdatePatient(change) => patients::update(&office, change),
            Write::CreateAppointment(change) => booking::create(&office, &key, &change.appointment),
            Write::RescheduleAppointment(change) => booking::reschedule(&office, &change.appointment),
            Write::ConfirmAppointment(change) => booking::confirm(&office, &change.appointment),
            Write::CheckInAppointment(change) => booking::check_in(&office, &change.appointment),
            Write::NoteAppointment(change) => booking::note(&office, &change.appointment),
            Write::CancelAppointment(change) => booking::cancel(&office, &change.appointment, change.reason.as_deref()),
            Write::CreateInsurancePlan(plan) => filing::create_plan(&office, &key, plan),
            Write::CreateCoverage(coverage) => filing::create_coverage(&office, coverage),
            Write::DeleteCoverage(id) => filing::delete_coverage(&office, id),
            Write::SavePatientHistoryItem(item) => filing::save_history(&office, item),
            Write::CreateCommunicationLog(log) => filing::create_commlog(&office, &key, log),
            Write::CreatePayment(payment) => filing::create_payment(&office, &key, payment),
            Write::CreateAdjustment(adjustment) => filing::create_adjustment(&office, &key, adjustment),
            _ => Err(Fault::unsupported("this adapter does not write such records")),
        }
    }

    fn find(key: String, write: Write) -> Result<Option<Receipt>, Fault> {
        let office = Office::open()?;
        let found = match &write {
            Write::CreatePatient(patient) => patients::find(&office, patient),
            Write::UpdatePatient(change) => patients::find_update(&office, change),
            Write::CreateAppointment(change) => booking::find(&office, &key, &change.appointment),
            Write::RescheduleAppointment(change) => {
                let a = &change.appointment;
                booking::find_change(&office, a, |row| booking::stands(row, a))
            }
            Write::ConfirmAppointment(change) => {
                let a = &change.appointment;
                booking::find_change(&office, a, |row| booking::is_confirmed(&office, row) == a.confirmed)
            }
            Write::CheckInAppointment(change) => {
                let a = &change.appointment;
                booking::find_change(&office, a, |row| {
                    map::arrived(row).is_some_and(|at| a.checkin_at.is_none_or(|wanted| wanted == at))
                })
            }
            Write::NoteAppointment(change) => {
                let a = &change.appointment;
                booking::find_change(&office, a, |row| {
                    keys::same_text(keys::read(&row.note).text.as_deref(), a.note.as_deref())
                })
            }
            Write::CancelAppointment(change) => booking::find_change(&office, &change.appointment, map::is_off),
            Write::CreateInsurancePlan(plan) => filing::find_plan(&office, &key, plan),
            Write::CreateCoverage(coverage) => filing::find_coverage(&office, coverage),
            Write::DeleteCoverage(id) => filing::find_deleted_coverage(&office, id),
            Write::SavePatientHistoryItem(item) => filing::find_history(&office, item),
            Write::CreateCommunicationLog(log) => filing::find_commlog(&office, &key, log),
            Write::CreatePayment(payment) => filing::find_payment(&office, &key, payment),
            Write::CreateAdjustment(adjustment) => filing::find_adjustment(&office, &key, adjustment),
            _ => Err(Fault::unsupported("this adapter does not write such records")),
        };
        match found {
            // Certainly not written is not what a refused look says: ask again.
            Err(Fault::Rejected(why)) => Err(Fault::retry_later(why, None)),
            found => found,
        }
    }
}

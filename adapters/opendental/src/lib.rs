//! Adapter for Open Dental's REST API, written from its public documentation. `requests` builds, `responses` and
//! `values` parse, `map`, `chart`, `ledger` and `hours` convert, `patients` converts and writes, `faults` maps
//! refusals, `client` sends, `streams` and `lists` read, `booking` and `filing` write.

pub mod booking;
pub mod chart;
pub mod client;
pub mod faults;
pub mod filing;
pub mod hours;
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

use adapter_sdk::{
    Description, Fault, Hosting, MaxLength, PatientField, clock, streams::Stream, tables::Tables, writes::Handler,
};

use booking::{has_arrived, is_applied, is_confirmed, is_noted, is_off_schedule, is_scheduled};
pub use client::Client as OpenDental;
use filing::{ADJUSTMENTS, COMMLOGS, PAYMENTS};
use responses::Row;

adapter_sdk::export_adapter!(OpenDental);

impl Tables for OpenDental {
    const STREAMS: &'static [Stream<OpenDental>] = streams::STREAMS;
    // The API has no idempotency keys, so creations look for an earlier write first.
    const WRITES: &'static [Handler<OpenDental>] = &[
        Handler::create_patient(patients::create, patients::find).looking_first(),
        Handler::update_patient(patients::update, patients::find_update),
        Handler::create_appointment(booking::create, booking::find).looking_first(),
        Handler::reschedule_appointment(booking::reschedule, |office, _, c| is_applied(office, c, is_scheduled)),
        Handler::confirm_appointment(booking::confirm, |office, _, c| is_applied(office, c, is_confirmed)),
        Handler::check_in_appointment(booking::check_in, |office, _, c| is_applied(office, c, has_arrived)),
        Handler::cancel_appointment(booking::cancel, |office, _, c| is_applied(office, c, is_off_schedule)),
        Handler::note_appointment(booking::note, |office, _, c| is_applied(office, c, is_noted)),
        Handler::create_insurance_plan(filing::create_plan, filing::find_plan).looking_first(),
        Handler::create_coverage(filing::create_coverage, filing::find_coverage),
        Handler::delete_coverage(filing::delete_coverage, filing::find_deleted_coverage),
        Handler::save_patient_history_item(filing::save_history, filing::find_history),
        Handler::create_communication_log(
            |office, key, log| COMMLOGS.create(office, key, log, &requests::commlog(&office.settings, key, log)),
            |office, key, log| COMMLOGS.find(office, key, log),
        )
        .looking_first(),
        Handler::create_payment(
            |office, key, paid| PAYMENTS.create(office, key, paid, &requests::payment(key, paid)?),
            |office, key, paid| PAYMENTS.find(office, key, paid),
        )
        .looking_first(),
        Handler::create_adjustment(
            |office, key, a| ADJUSTMENTS.create(office, key, a, &requests::adjustment(key, a, &clock::today())?),
            |office, key, a| ADJUSTMENTS.find(office, key, a),
        )
        .looking_first(),
    ];
    const UNKEPT: &'static [PatientField] =
        &[PatientField::Premedication, PatientField::UnsubscribedEmail, PatientField::Extra];

    fn open() -> Result<OpenDental, Fault> {
        OpenDental::open()
    }

    fn about(&self, by_tables: Description) -> Result<Description, Fault> {
        // Operatories are required; the request also checks the keys.
        self.page("/operatories", responses::Operatory::KEY, &requests::clinic(&self.settings), 0, 1)?;
        Ok(Description {
            name: "Open Dental".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            hosting: Hosting::Onprem,
            max_lengths: vec![
                MaxLength::new("insurance-plan.name", 255),
                MaxLength::new("insurance-plan.group-number", 25),
                MaxLength::new("patient.chart-id", patients::CHART_NUMBER as u32),
            ],
            operatories: true,
            requests_per_minute: Some(self.settings.requests_per_minute).filter(|most| *most > 0),
            ..by_tables
        })
    }
}

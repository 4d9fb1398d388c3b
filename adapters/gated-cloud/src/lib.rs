//! Adapter for a cloud EHR without an API. It makes the same calls as the web application's own pages, in the session
//! of a staff member logged in at a workstation, and makes no other requests. `requests` builds, `responses` and
//! `markup` parse, `map` converts, `faults` maps refusals, `client` sends, `booking` and `patients` write, and the
//! tables here combine them.

pub mod booking;
pub mod client;
pub mod faults;
pub mod map;
pub mod markup;
pub mod patients;
pub mod requests;
pub mod responses;

use adapter_sdk::{
    AppointmentChange, Description, Fault, MaxLength, PatientField, Resource, settings, streams::Stream,
    tables::Tables, writes::Handler,
};
use serde::Deserialize;

pub use client::GatedCloud;
use markup::{APPOINTMENTS, HOURS, OPERATORIES, PATIENTS, PROVIDERS, TYPES};

adapter_sdk::export_adapter!(GatedCloud);

#[derive(Deserialize)]
struct GatedCloudSettings {
    requests_per_minute: u32,
}

impl Tables for GatedCloud {
    const STREAMS: &'static [Stream<GatedCloud>] = &[
        Stream::changes(Resource::Providers, |app, request| app.changes(PROVIDERS, request), "id", map::plain),
        Stream::changes(Resource::AppointmentTypes, |app, request| app.changes(TYPES, request), "id", map::kind),
        Stream::changes(Resource::Operatories, |app, request| app.changes(OPERATORIES, request), "id", map::operatory),
        Stream::changes(Resource::Patients, |app, request| app.changes(PATIENTS, request), "id", map::patient),
        Stream::changes(Resource::WorkingHours, |app, request| app.changes(HOURS, request), "id", map::hours),
        Stream::changes(
            Resource::Appointments,
            |app, request| app.changes(APPOINTMENTS, request),
            "id",
            map::appointment,
        ),
    ];
    // The forms are not idempotent, so creations look for an earlier write first.
    const WRITES: &'static [Handler<GatedCloud>] = &[
        Handler::create_patient(patients::create, |app, key, _| app.by_reference(PATIENTS, key)).looking_first(),
        Handler::update_patient(patients::update, patients::find_update),
        Handler::create_appointment(booking::create, |app, key, _| app.by_reference(APPOINTMENTS, key)).looking_first(),
        Handler::reschedule_appointment(
            |app, _, c| booking::change(app, c, &requests::moved(c)),
            |app, _, c| booking::is_applied(app, c, |held, c| c.is_scheduled(&held.shown)),
        )
        .looking_first(),
        Handler::confirm_appointment(booking::confirm, |app, _, c| booking::is_applied(app, c, booking::is_confirmed)),
        Handler::check_in_appointment(booking::check_in, |app, _, c| {
            booking::is_applied(app, c, |held, c| held.came && c.has_arrived(&held.shown))
        })
        .looking_first(),
        Handler::cancel_appointment(booking::cancel, |app, _, c| {
            booking::is_applied(app, c, |held, _| AppointmentChange::is_inactive(&held.shown))
        }),
        Handler::note_appointment(
            |app, _, c| booking::change(app, c, &requests::noted(c)),
            |app, _, c| booking::is_applied(app, c, |held, c| held.shown.note == c.appointment.note),
        ),
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

    fn open() -> Result<GatedCloud, Fault> {
        Ok(GatedCloud::default())
    }

    /// Sends no request, because a location is configured before any staff member has logged in.
    fn about(&self, by_tables: Description) -> Result<Description, Fault> {
        let GatedCloudSettings { requests_per_minute } = settings::read()?;
        Ok(Description {
            name: "Demo Cloud EHR".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            max_lengths: vec![MaxLength::new("appointment.note", 4_000)],
            operatories: true,
            requests_per_minute: (requests_per_minute > 0).then_some(requests_per_minute),
            gated: true,
            ..by_tables
        })
    }
}

//! A schedule, patients and booking: six resources and four writes. `map` converts the EHR's rows, `client` sends the
//! requests, and the tables here list the resources and writes. `tests` simulates the EHR.

mod client;
mod map;
#[cfg(test)]
mod tests;

use adapter_sdk::{
    Description, Fault, PatientField, Resource, config, settings,
    streams::{Map, Stream},
    tables::Tables,
    writes,
};
use serde::Deserialize;

pub use client::Practice;

adapter_sdk::export_adapter!(Practice);

/// A handler for this EHR. The alias allows `.looking_first()` after a closure below.
type WriteHandler = writes::Handler<Practice>;

/// The settings declared in `adapter.toml`.
#[derive(Deserialize)]
struct BookingSettings {
    page_size: u32,
}

/// The EHR marks its changes and reports deletions. Use `Stream::since` or `Stream::whole` for an EHR that does not.
const fn stream(resource: Resource, map: Map<Practice>) -> Stream<Practice> {
    Stream::changes(resource, Practice::list, "id", map)
}

impl Tables for Practice {
    // Ordered so that records follow those they refer to.
    const STREAMS: &'static [Stream<Practice>] = &[
        stream(Resource::Providers, map::provider),
        stream(Resource::AppointmentTypes, map::appointment_type),
        stream(Resource::Operatories, map::operatory),
        stream(Resource::Patients, map::patient),
        stream(Resource::WorkingHours, map::hours),
        stream(Resource::Appointments, map::appointment),
    ];
    // The EHR finds each write by its key. If yours cannot, add `.looking_first()` to each handler, and find writes by
    // their contents.
    const WRITES: &'static [WriteHandler] = &[
        WriteHandler::create_patient(
            |ehr, key, p| ehr.post("patients", key, map::new_patient(p)),
            Practice::find_write,
        ),
        WriteHandler::create_appointment(
            |ehr, key, c| ehr.post("appointments", key, map::new_appointment(&ehr.location, &c.appointment)),
            Practice::find_write,
        ),
        WriteHandler::reschedule_appointment(
            |ehr, key, c| ehr.change(key, c, map::moved(&c.appointment)),
            Practice::find_write,
        ),
        WriteHandler::cancel_appointment(|ehr, key, c| ehr.cancel(key, c), Practice::find_write),
    ];
    const UNKEPT: &'static [PatientField] = &[
        PatientField::Ssn,
        PatientField::WorkPhoneExtension,
        PatientField::BillingType,
        PatientField::Premedication,
        PatientField::NonPatient,
        PatientField::Extra,
    ];

    fn open() -> Result<Practice, Fault> {
        let BookingSettings { page_size } = settings::read()?;
        Ok(Practice { location: config::require("location")?, page_size })
    }

    fn about(&self, by_tables: Description) -> Result<Description, Fault> {
        let (name, version) = (env!("CARGO_PKG_NAME").into(), env!("CARGO_PKG_VERSION").into());
        Ok(Description { name, version, operatories: true, ..by_tables })
    }
}

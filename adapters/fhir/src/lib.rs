//! Adapter for health record systems with FHIR R4. `requests` builds, `responses` parses, `map` and `hours` convert,
//! `faults` maps refusals, `client` sends; `absent` and `time` parse leniently; `streams` and `writes` combine them,
//! and this file implements the contract.

pub mod absent;
pub mod booking;
pub mod bundle;
pub mod busy;
pub mod capability;
pub mod client;
pub mod cursor;
pub mod enrich;
pub mod faults;
pub mod history_items;
pub mod hours;
pub mod map;
pub mod paging;
pub mod references;
pub mod requests;
pub mod responses;
pub mod revision;
pub mod settings;
pub mod site;
pub mod slots;
pub mod streams;
pub mod time;
pub mod walk;
pub mod windows;
pub mod writes;

use adapter_sdk::{
    Description, Fault, Hosting, PatientField, WriteKind, streams::Stream, tables::Tables, writes::Handler,
};

use capability::Offer;
/// The state of one call is the configured settings.
pub use settings::Settings as Fhir;

adapter_sdk::export_adapter!(Fhir);

impl Tables for Fhir {
    const STREAMS: &'static [Stream<Fhir>] = streams::STREAMS;
    const WRITES: &'static [Handler<Fhir>] = writes::WRITES;
    const UNKEPT: &'static [PatientField] = &[PatientField::Extra];

    fn open() -> Result<Fhir, Fault> {
        Fhir::read()
    }

    fn takes(&self, kind: WriteKind) -> Result<(), Fault> {
        // Frequent writes need no request for the capabilities, which `describe` has already read.
        let core = matches!(kind, WriteKind::CreatePatient | WriteKind::CreateAppointment);
        match writes::takes(&Offer::known(self, core)?, self, kind) {
            true => Ok(()),
            false => Err(Fault::unsupported("the server does not take such records")),
        }
    }

    fn about(&self, mut by_tables: Description) -> Result<Description, Fault> {
        let offer = Offer::read(self)?;
        // Rooms are required; the search also checks the credentials.
        client::first(self, "Location", &requests::rooms(self.site.as_deref()), 1)?;
        by_tables.pulls.retain(|pull| streams::shows(&offer, self, pull.resource));
        by_tables.writes.retain(|kind| writes::takes(&offer, self, *kind));
        Ok(Description {
            name: "FHIR R4".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            hosting: Hosting::Cloud,
            new_patients: by_tables.writes.contains(&WriteKind::CreatePatient),
            operatories: true,
            ..by_tables
        })
    }
}

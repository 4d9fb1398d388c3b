//! Adapter for health record systems that speak FHIR R4. `requests` builds, `responses` parses, `map` and `hours` translate, `faults`
//! judges, `client` sends; `streams` and `writes` join them, and this file answers the engine.

pub mod booking;
pub mod bundle;
pub mod capability;
pub mod client;
pub mod cursor;
pub mod enrich;
pub mod faults;
pub mod fit;
pub mod history_items;
pub mod hours;
pub mod map;
pub mod paging;
pub mod requests;
pub mod responses;
pub mod revision;
pub mod settings;
pub mod slots;
pub mod streams;
pub mod time;
pub mod walk;
pub mod writes;

use adapter_sdk::{Adapter, Description, Fault, Hosting, Page, PatientField, Receipt, Resource, Write, WriteKind};

use capability::Offer;
use settings::Settings;

pub struct Fhir;

adapter_sdk::export_adapter!(Fhir);

impl Adapter for Fhir {
    fn describe() -> Result<Description, Fault> {
        let settings = Settings::read()?;
        let offer = Offer::read(&settings)?;
        // The one thing that must work; it also proves the credentials.
        client::first(&settings, "Location", &requests::rooms(settings.site.as_deref()), 1)?;
        let writes = writes::offered(&offer, &settings);
        Ok(Description {
            name: "FHIR R4".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            hosting: Hosting::Cloud,
            pulls: streams::offered(&offer, &settings),
            new_patients: writes.contains(&WriteKind::CreatePatient),
            writes,
            unkept_patient_fields: vec![PatientField::Extra],
            operatories: true,
            ..Description::default()
        })
    }

    fn pull(resource: Resource, cursor: Option<String>, limit: u32) -> Result<Page, Fault> {
        let settings = Settings::read()?;
        // What a pass began with is offered; of histories it matters which there are.
        let of_history = matches!(resource, Resource::HistoryItems | Resource::PatientHistoryItems);
        let offer = known(&settings, is_core(resource) || (cursor.is_some() && !of_history))?;
        if !streams::shows(&offer, &settings, resource) {
            return Err(Fault::unsupported("the server does not show such records"));
        }
        streams::pull(&settings, &offer, resource, cursor.as_deref(), limit)
    }

    fn push(key: String, write: Write) -> Result<Receipt, Fault> {
        let settings = Settings::read()?;
        let unsupported = || Fault::unsupported("the server does not take such records");
        let kind = writes::kind(&write).ok_or_else(unsupported)?;
        // The main job is not held up by a question that was answered before.
        let offer = known(&settings, matches!(kind, WriteKind::CreatePatient | WriteKind::CreateAppointment))?;
        if !writes::offered(&offer, &settings).contains(&kind) {
            return Err(unsupported());
        }
        writes::push(&settings, &key, &write)
    }

    fn find(key: String, write: Write) -> Result<Option<Receipt>, Fault> {
        writes::find(&Settings::read()?, &key, &write)
    }
}

/// What the server offers: as the operator says, else as the server does. `core`: it would not be used if it did not offer this.
fn known(settings: &Settings, core: bool) -> Result<Offer, Fault> {
    match core || settings.resources.is_some() {
        true => Ok(Offer::all(settings)),
        false => Offer::read(settings),
    }
}

fn is_core(resource: Resource) -> bool {
    matches!(
        resource,
        Resource::Providers
            | Resource::AppointmentTypes
            | Resource::Operatories
            | Resource::Patients
            | Resource::WorkingHours
            | Resource::Appointments
    )
}

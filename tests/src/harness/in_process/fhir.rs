//! The harness on the FHIR server from npm.

use location::time::SECOND;
use records::record::Record;
use serde_json::Value;
use setup::{DataSource, LocationSetup, secret::Secret};

use super::{DAYS, Opening, Seeds, ZONE, location, tomorrow};
use crate::harness::{
    ehr_server::fhir::{FhirServer, Program, Seeded},
    fixtures::{self, INSTITUTION, SOURCE},
};

const OFFSET: &str = "-07:00";
/// The token that the server accepts.
pub const TOKEN: &str = "s3cret-of-the-clinic";
/// The identifier system of our write keys in the FHIR server.
pub const KEYS: &str = "urn:practice-sync:write-key";
pub const CHECK_UP: &str = "CHECKUP";
const TYPES: &str = r#"[{"id":"CHECKUP","system":"urn:clinic:types","name":"Check-up – kurz","minutes":30}]"#;

pub type FhirHarness = super::Harness<FhirServer, Seeded>;

impl Seeds for Seeded {
    fn room(&self, n: usize) -> String {
        self.rooms[n].clone()
    }

    fn provider(&self, n: usize) -> String {
        self.practitioners[n].clone()
    }

    fn check_up(&self) -> String {
        CHECK_UP.to_owned()
    }
}

impl FhirHarness {
    /// Returns `None` if the suite is not selected.
    pub async fn open() -> Option<FhirHarness> {
        FhirHarness::open_with(|_| ()).await
    }

    /// Opens with other settings of the location.
    pub async fn open_with(change: impl FnOnce(&mut LocationSetup)) -> Option<FhirHarness> {
        FhirHarness::open_as(change, |_| ()).await
    }

    /// Opens with other settings of location and data source.
    pub async fn open_as(
        change: impl FnOnce(&mut LocationSetup),
        reach: impl FnOnce(&mut DataSource),
    ) -> Option<FhirHarness> {
        FhirHarness::open_on(Program::Medplum, change, reach).await
    }

    pub async fn open_on(
        program: Program,
        change: impl FnOnce(&mut LocationSetup),
        reach: impl FnOnce(&mut DataSource),
    ) -> Option<FhirHarness> {
        let server = FhirServer::start(program, TOKEN).await?;
        let first_day = tomorrow(ZONE);
        let seeded = server.seed(&first_day.to_string(), OFFSET, DAYS).await;
        let mut place = location(&seeded.site, ZONE);
        place.settings_mut().write.call_deadline = 4 * SECOND;
        place.extras.get_or_insert_default().adapter_config.insert("appointment_types".to_owned(), TYPES.to_owned());
        change(&mut place);
        let mut source =
            DataSource { guest_requests_per_call: 60, ..fixtures::source(SOURCE, INSTITUTION, "fhir", "") };
        let token = Secret::new(format!("Bearer {TOKEN}"));
        source.requests.get_or_insert_default().headers.push(("Authorization".to_owned(), token));
        reach(&mut source);
        let (address, base_path) = (server.address(), server.base_path().to_owned());
        Some(FhirHarness::begin(server, seeded, Opening { address, base_path, source, place, first_day }).await)
    }

    /// Returns the appointment in the EHR.
    pub async fn in_ehr(&self, record: &Record<records::Appointment>) -> Value {
        self.server.read("Appointment", record.foreign_id.as_deref().expect("it was written")).await
    }

    /// Returns the resources that we created, identified by the write key. Updated resources are excluded.
    pub async fn ours(&self, resource_type: &str) -> Vec<Value> {
        let mut all = self.server.search(resource_type, &[]).await;
        all.retain(|resource| key_of(resource).is_some());
        all
    }
}

/// Returns the write key that a resource was created with.
pub fn key_of(resource: &Value) -> Option<String> {
    let identifiers = resource["identifier"].as_array()?;
    let created = identifiers.iter().find(|i| i["system"] == KEYS && i["use"] != "secondary")?;
    created["value"].as_str().map(str::to_owned)
}

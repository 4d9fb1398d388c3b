//! The harness on the fake Open Dental.

use chrono_tz::Tz;
use processor::{commands::CreateRecord, reply::Saved, request::Request};
use records::{
    self,
    record::{Body, Record, WriteStatus},
};
use setup::{DataSource, LocationSetup, secret::Secret};

use super::{DAYS, LOCATION, Opening, Seeds, ZONE, location, tomorrow};
use crate::harness::{
    ehr_server::open_dental::{
        BASE, Database, Fate, MORE_THAN_A_PAGE, OpenDentalRow, OpenDentalServer, Seeded, Switches,
    },
    fixtures::{self, INSTITUTION, SOURCE},
};
use testing::until;

pub const KEYS: &str = "d3veloper/cust0mer";

pub type Harness = super::Harness<OpenDentalServer, Seeded>;

impl Seeds for Seeded {
    fn room(&self, n: usize) -> String {
        self.operatories[n].to_string()
    }

    fn provider(&self, n: usize) -> String {
        self.providers[n].to_string()
    }

    fn check_up(&self) -> String {
        self.check_up.to_string()
    }
}

impl Harness {
    pub async fn open() -> Harness {
        Harness::open_with(ZONE, |_, _| (), |_| ()).await
    }

    /// Opens with more patients than a page of the API has.
    pub async fn open_large() -> Harness {
        let more = |database: &mut Database, seeded: &mut Seeded| {
            database.seed_patients(seeded, MORE_THAN_A_PAGE);
            database.age();
        };
        Harness::open_with(ZONE, more, |_| ()).await
    }

    /// Opens with another zone, additional rows and other settings.
    pub async fn open_with(
        zone: Tz,
        more: impl FnOnce(&mut Database, &mut Seeded),
        change: impl FnOnce(&mut LocationSetup),
    ) -> Harness {
        let mut database = Database::new(zone, KEYS);
        let first_day = tomorrow(zone);
        // The last day is a holiday.
        let mut seeded = database.seed(&first_day.to_string(), DAYS);
        more(&mut database, &mut seeded);
        let server = OpenDentalServer::start(database).expect("loopback has a free port");
        // An office without clinics.
        let mut place = location("office", zone);
        change(&mut place);
        let mut source =
            DataSource { guest_requests_per_call: 60, ..fixtures::source(SOURCE, INSTITUTION, "opendental", "") };
        let keys = Secret::new(format!("ODFHIR {KEYS}"));
        source.requests.get_or_insert_default().headers.push(("Authorization".to_owned(), keys));
        let (address, base_path) = (server.address, BASE.to_owned());
        Harness::begin(server, seeded, Opening { address, base_path, source, place, first_day }).await
    }

    /// Sets the fate of the request after the next `n` requests.
    pub fn fate(&self, n: u64, fate: Fate) {
        self.server.database().switches = Switches::at(n, fate);
    }

    pub fn row(&self, table: &str, key: u64) -> OpenDentalRow {
        self.server.database().row(table, key).cloned().unwrap_or_else(|| panic!("{table} {key} is not there"))
    }

    /// Returns the rows that contain one of our write keys in a text field.
    pub fn ours(&self, table: &str, field: &str) -> Vec<OpenDentalRow> {
        self.server.database().holding(table, field, "[ref:ps-")
    }

    /// Returns the row of one of our appointments.
    pub fn in_ehr(&self, record: &Record<records::Appointment>) -> OpenDentalRow {
        let key = record.foreign_id.as_deref().and_then(|id| id.parse().ok()).expect("it was written");
        self.row("appointments", key)
    }

    pub fn entry<T: Body>(&self, foreign: &str) -> Record<T> {
        let id = self.id_of(T::RESOURCE, foreign).unwrap_or_else(|| panic!("{:?} {foreign} is not known", T::RESOURCE));
        self.entry_by_id(id)
    }

    pub fn entry_by_id<T: Body>(&self, id: u64) -> Record<T> {
        self.engine.entry::<T>(SOURCE, id).expect("the store can be read").expect("it is known")
    }

    /// Saves a record like a client.
    pub async fn file<T: Body>(&self, body: &T, patient: Option<u32>) -> u64 {
        self.save(CreateRecord { body: body.clone(), patient, number: None }).await.id.into()
    }

    pub async fn save<T, R: Request<Reply = Saved<T>> + Clone>(&self, request: R) -> T {
        let saved = self.engine.send(LOCATION, request).await;
        saved.unwrap_or_else(|refused| panic!("it is not saved: {refused:?}")).record
    }

    /// Waits until a record is written and returns its foreign id.
    pub async fn filed<T: Body>(&self, id: u64) -> String {
        let written = async || {
            let entry = self.entry_by_id::<T>(id);
            match entry.write.as_ref().map(|write| write.status) {
                Some(WriteStatus::Failed) => panic!("not written: {:?}", entry.write),
                Some(WriteStatus::Succeeded) => entry.foreign_id,
                _ => None,
            }
        };
        until("the write of a record", written).await
    }
}

/// Makes every pass a full pass, so that deletions and changes without a modification time are visible at once.
pub fn whole_passes(place: &mut LocationSetup) {
    for setting in ["whole_pass_minutes", "by_patient_minutes"] {
        place.extras.get_or_insert_default().adapter_config.insert(setting.to_owned(), "0".to_owned());
    }
}

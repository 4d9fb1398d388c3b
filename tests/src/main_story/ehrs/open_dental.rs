//! A practice on the fake Open Dental. Its staff use Open Dental itself.

use std::{collections::BTreeSet, net::SocketAddr};

use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeZone, Utc};
use serde_json::{Value, json};

use super::super::{
    client::text,
    events::EventPractice,
    practice::{LOCATION, Person, StoryPractice, StoryVisit},
};
use crate::harness::{
    ehr_server::open_dental::{BASE, Database, OpenDentalRow, OpenDentalServer},
    fixtures::tomorrow,
    process::{LocationConfig, ServedEhr},
};

const ZONE: chrono_tz::Tz = chrono_tz::America::Phoenix;
const KEYS: &str = "d3veloper/cust0mer-of-0ffice";
const DAYS: u32 = 3;

pub struct OpenDentalPractice {
    server: OpenDentalServer,
    first_day: NaiveDate,
    /// The key of the confirmation status "confirmed".
    confirmed: u64,
}

impl OpenDentalPractice {
    pub fn open() -> OpenDentalPractice {
        let mut database = Database::new(ZONE, KEYS);
        let first_day = tomorrow(ZONE);
        let confirmed = database.seed(&first_day.to_string(), DAYS).confirmed;
        let server = OpenDentalServer::start(database).expect("loopback has a free port");
        OpenDentalPractice { server, first_day, confirmed }
    }

    fn change(&self, appointment: &str, fields: Value) {
        self.server.database().change("appointments", number(appointment), fields);
    }

    /// Returns the office's local time.
    fn local_time(&self, at: DateTime<Utc>) -> String {
        self.server.database().local_time(at)
    }
}

fn number(key: &str) -> u64 {
    key.parse().expect("a key of a table")
}

fn start_of(row: &OpenDentalRow) -> DateTime<Utc> {
    let shown = NaiveDateTime::parse_from_str(&text(&row["AptDateTime"]), "%Y-%m-%d %H:%M:%S").expect("a time");
    ZONE.from_local_datetime(&shown).earliest().expect("it has one offset all year").to_utc()
}

impl StoryPractice for OpenDentalPractice {
    fn address(&self) -> SocketAddr {
        self.server.address
    }

    fn served(&self, at: SocketAddr) -> ServedEhr {
        let place = LocationConfig {
            id: LOCATION,
            foreign_id: "office".to_owned(),
            zone: ZONE,
            map_by_operatory: true,
            adapter_config: String::new(),
        };
        ServedEhr {
            adapter: "opendental",
            base_url: format!("http://{at}{BASE}"),
            source: format!("headers = {{ Authorization = \"ODFHIR {KEYS}\" }}\n"),
            locations: vec![place],
        }
    }

    fn first_day(&self) -> NaiveDate {
        self.first_day
    }

    async fn patients(&self) -> BTreeSet<Person> {
        let database = self.server.database();
        let person = |row: &OpenDentalRow| Person { id: row["PatNum"].to_string(), last_name: text(&row["LName"]) };
        database.rows("patients").map(person).collect()
    }

    async fn visits(&self) -> Vec<StoryVisit> {
        let database = self.server.database();
        let visit = |row: &OpenDentalRow| StoryVisit {
            id: row["AptNum"].to_string(),
            patient: row["PatNum"].to_string(),
            start: start_of(row),
            confirmed: row["Confirmed"] == self.confirmed,
            cancelled: ["Broken", "UnschedList"].contains(&text(&row["AptStatus"]).as_str()),
        };
        // Planned appointments have no time yet, and completed ones are over.
        let stands = |row: &&OpenDentalRow| row["AptStatus"] != "Planned" && row["AptStatus"] != "Complete";
        database.rows("appointments").filter(stands).map(visit).collect()
    }

    async fn log(&self, patient: &str) -> Vec<String> {
        let database = self.server.database();
        let theirs = database.rows("commlogs").filter(|row| row["PatNum"] == number(patient));
        theirs.map(|row| text(&row["Note"])).collect()
    }

    async fn admit(&self, first_name: &str, last_name: &str) -> String {
        let patient = json!({"FName": first_name, "LName": last_name, "Birthdate": "1971-05-06"});
        self.server.database().insert("patients", patient).to_string()
    }

    async fn book_next_to(&self, visit: &str, patient: &str, start: DateTime<Utc>) -> String {
        let start = self.local_time(start);
        let mut database = self.server.database();
        let beside = database.row("appointments", number(visit)).expect("the appointment exists");
        let appointment = json!({"PatNum": number(patient), "Op": beside["Op"], "ProvNum": beside["ProvNum"],
            "AptStatus": "Scheduled", "Pattern": "/XXXX/", "AptDateTime": start});
        database.insert("appointments", appointment).to_string()
    }

    async fn move_visit(&self, visit: &str, start: DateTime<Utc>) {
        self.change(visit, json!({"AptDateTime": self.local_time(start)}));
    }

    async fn cancel_visit(&self, visit: &str) {
        self.change(visit, json!({"AptStatus": "Broken"}));
    }
}

impl EventPractice for OpenDentalPractice {
    fn event_secret(&self) -> (&'static str, &'static str) {
        ("Authorization", KEYS.split_once('/').expect("two keys").1)
    }

    async fn subscribe(&self, endpoint: &str) {
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        for watched in ["Appointment", "AppointmentDeleted"] {
            let subscription = json!({"EndPointUrl": endpoint, "Workstation": "FRONTDESK", "WatchTable": watched,
                "PollingSeconds": 1});
            let request = client.post(format!("{}{BASE}/subscriptions", self.server.url()));
            let request = request.header("authorization", format!("ODFHIR {KEYS}"));
            let request = request.header("content-type", "application/json").body(subscription.to_string());
            let answer = request.send().await.expect("the fake answers");
            assert_eq!(answer.status(), 201, "{watched}");
        }
    }
}

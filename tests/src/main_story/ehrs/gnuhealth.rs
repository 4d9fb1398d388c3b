//! A practice on the GNU Health server from PyPI.

use std::{collections::BTreeSet, net::SocketAddr};

use chrono::{DateTime, NaiveDate, TimeZone, Utc};
use serde_json::{Value, json};

use super::super::{
    client::text,
    practice::{LOCATION, Person, StoryPractice, StoryVisit},
};
use crate::harness::{
    ehr_server::gnuhealth::{BASE_PATH, GnuHealth, LOGIN, PASSWORD, moment},
    fixtures::tomorrow,
    process::{LocationConfig, ServedEhr},
};

const ZONE: chrono_tz::Tz = chrono_tz::America::Phoenix;
const SETTINGS: &str = r#"
appointment_types = '[{"id":"CHECKUP","name":"Check-up – kurz","minutes":30}]'
country = "US"
"#;

pub struct GnuHealthPractice {
    server: GnuHealth,
    first_day: NaiveDate,
}

impl GnuHealthPractice {
    /// Returns `None` if the suite is not selected.
    pub async fn open() -> Option<GnuHealthPractice> {
        let server = GnuHealth::start().await?;
        let first_day = tomorrow(ZONE);
        let midnight = ZONE.from_local_datetime(&first_day.into()).single().expect("it has one offset all year");
        server.seed(midnight.timestamp()).await;
        Some(GnuHealthPractice { server, first_day })
    }
}

fn number(id: &str) -> i64 {
    id.parse().expect("a number of the database")
}

/// Parses a time in GNU Health's format.
fn read(value: &Value) -> DateTime<Utc> {
    let part = |name: &str| value[name].as_u64().and_then(|n| u32::try_from(n).ok()).expect("a moment");
    let year = i32::try_from(part("year")).expect("a year");
    let at = Utc.with_ymd_and_hms(year, part("month"), part("day"), part("hour"), part("minute"), part("second"));
    at.single().expect("a moment of UTC")
}

impl StoryPractice for GnuHealthPractice {
    fn address(&self) -> SocketAddr {
        self.server.address()
    }

    fn served(&self, at: SocketAddr) -> ServedEhr {
        let place = LocationConfig {
            id: LOCATION,
            foreign_id: "1".to_owned(),
            zone: ZONE,
            map_by_operatory: false,
            adapter_config: SETTINGS.to_owned(),
        };
        ServedEhr {
            adapter: "gnuhealth",
            base_url: format!("http://{at}{BASE_PATH}"),
            source: format!(
                "tryton_session = {{ user = \"{LOGIN}\", password = \"{PASSWORD}\" }}\nguest_memory_mib = 128\n"
            ),
            locations: vec![place],
        }
    }

    fn first_day(&self) -> NaiveDate {
        self.first_day
    }

    async fn patients(&self) -> BTreeSet<Person> {
        let all = self.server.search("gnuhealth.patient", json!([]), &["party.lastname"]).await;
        let person = |it: &Value| Person { id: it["id"].to_string(), last_name: text(&it["party."]["lastname"]) };
        all.iter().map(person).collect()
    }

    async fn visits(&self) -> Vec<StoryVisit> {
        let fields = ["patient", "state", "appointment_date"];
        let all = self.server.search("gnuhealth.appointment", json!([["state", "!=", "free"]]), &fields).await;
        let visit = |it: &Value| StoryVisit {
            id: it["id"].to_string(),
            patient: it["patient"].to_string(),
            start: read(&it["appointment_date"]),
            confirmed: it["state"] == "confirmed",
            cancelled: text(&it["state"]).ends_with("_cancelled"),
        };
        all.iter().map(visit).collect()
    }

    async fn log(&self, patient: &str) -> Vec<String> {
        let of = json!([["resource", "=", format!("gnuhealth.patient,{patient}")]]);
        self.server.search("ir.note", of, &["message"]).await.iter().map(|it| text(&it["message"])).collect()
    }

    async fn admit(&self, first_name: &str, last_name: &str) -> String {
        let party = json!({"name": first_name, "lastname": last_name, "is_person": true, "is_patient": true, "gender": "f",
            "fed_country": null, "create_target": false});
        let party = self.server.create("party.party", party).await;
        self.server.create("gnuhealth.patient", json!({"party": party})).await.to_string()
    }

    async fn book_next_to(&self, visit: &str, patient: &str, start: DateTime<Utc>) -> String {
        let with = ["healthprof", "institution"];
        let beside = self.server.one("gnuhealth.appointment", json!([["id", "=", number(visit)]]), &with).await;
        let start = start.timestamp();
        let appointment = json!({"patient": number(patient), "healthprof": beside["healthprof"], "institution": beside["institution"],
            "state": "confirmed", "comments": null, "appointment_date": moment(start), "appointment_date_end": moment(start + 1_800)});
        self.server.create("gnuhealth.appointment", appointment).await.to_string()
    }

    async fn move_visit(&self, visit: &str, start: DateTime<Utc>) {
        let start = start.timestamp();
        let times = json!({"appointment_date": moment(start), "appointment_date_end": moment(start + 1_800)});
        self.server.write("gnuhealth.appointment", number(visit), times).await;
    }

    async fn cancel_visit(&self, visit: &str) {
        self.server.write("gnuhealth.appointment", number(visit), json!({"state": "center_cancelled"})).await;
    }
}

//! A practice on the FHIR server from npm or, if it sends events, on SEKMET.

use std::{collections::BTreeSet, net::SocketAddr};

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use serde_json::{Value, json};

use super::super::{
    client::{moment, text},
    events::EventPractice,
    practice::{LOCATION, Person, StoryPractice, StoryVisit},
};
use crate::harness::{
    ehr_server::fhir::{FhirServer, Program, Seeded},
    fixtures::tomorrow,
    process::{LocationConfig, ServedEhr},
};
use testing::until;

const TOKEN: &str = "s3cret-of-the-clinic";
/// A zone with one offset all year, like the seed.
const ZONE: chrono_tz::Tz = chrono_tz::America::Phoenix;
const OFFSET: &str = "-07:00";
const DAYS: u32 = 3;
const SETTINGS: &str = r#"
resources = "Patient,Practitioner,PractitionerRole,Location,Schedule,Slot,Appointment,Communication"
appointment_types = '[{"id":"CHECKUP","system":"urn:clinic:types","name":"Check-up – kurz","minutes":30}]'
"#;

const EVENT_HEADER: &str = "X-Event-Secret";
const EVENT_SECRET: &str = "s3cret-of-the-events";
/// The built-in topic of SEKMET: an appointment becomes booked.
const TOPIC: &str = "http://sekmet.dev/fhir/SubscriptionTopic/appointment-booked";
const PAYLOAD_CONTENT: &str =
    "http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition/backport-payload-content";

/// The subscription through which the server reports changes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum FhirEvents {
    /// Of FHIR R4, without a payload.
    RestHook,
    /// Of the Subscriptions Backport, with the ids of the changed resources.
    Topic,
}

pub struct FhirPractice {
    server: FhirServer,
    seeded: Seeded,
    first_day: NaiveDate,
    events: FhirEvents,
}

impl FhirPractice {
    /// Returns `None` if the suite is not selected.
    pub async fn open() -> Option<FhirPractice> {
        FhirPractice::open_on(Program::Medplum, FhirEvents::RestHook).await
    }

    /// Opens a practice on a server that sends events. Returns `None` if the suite is not selected.
    pub async fn with_events(events: FhirEvents) -> Option<FhirPractice> {
        FhirPractice::open_on(Program::Sekmet, events).await
    }

    async fn open_on(program: Program, events: FhirEvents) -> Option<FhirPractice> {
        let server = FhirServer::start(program, TOKEN).await?;
        let first_day = tomorrow(ZONE);
        let seeded = server.seed(&first_day.to_string(), OFFSET, DAYS).await;
        Some(FhirPractice { server, seeded, first_day, events })
    }

    /// Returns the appointment's participant of this type.
    fn participant(appointment: &Value, resource_type: &str) -> Option<Value> {
        let participants = appointment["participant"].as_array().into_iter().flatten();
        let mut actors = participants.map(|it| it["actor"]["reference"].clone());
        actors.find(|actor| actor.as_str().is_some_and(|actor| actor.starts_with(&format!("{resource_type}/"))))
    }

    async fn appointment(&self, id: &str) -> Value {
        self.server.read("Appointment", id).await
    }

    /// Sets the status of a room's slot and returns the appointment's reference to it.
    async fn mark_slot(&self, room: &Value, start: DateTime<Utc>, status: &str) -> Value {
        let known = self.seeded.rooms.iter().position(|known| *room == format!("Location/{known}"));
        let schedule = format!("Schedule/{}", self.seeded.schedules[known.expect("a room of the practice")]);
        let slots = self.server.search("Slot", &[("schedule", &schedule)]).await;
        let mut slot = slots.into_iter().find(|slot| moment(&slot["start"]) == start).expect("it opens at that time");
        slot["status"] = json!(status);
        self.server.update(&slot).await;
        json!([{"reference": format!("Slot/{}", text(&slot["id"]))}])
    }
}

impl StoryPractice for FhirPractice {
    fn address(&self) -> SocketAddr {
        self.server.address()
    }

    fn served(&self, at: SocketAddr) -> ServedEhr {
        let place = LocationConfig {
            id: LOCATION,
            foreign_id: self.seeded.site.clone(),
            zone: ZONE,
            map_by_operatory: true,
            adapter_config: SETTINGS.to_owned(),
        };
        ServedEhr {
            adapter: "fhir",
            base_url: format!("http://{at}{}", self.server.base_path()),
            source: format!("headers = {{ Authorization = \"Bearer {TOKEN}\" }}\n"),
            locations: vec![place],
        }
    }

    fn first_day(&self) -> NaiveDate {
        self.first_day
    }

    async fn patients(&self) -> BTreeSet<Person> {
        let last_name = |it: &Value| {
            let official = it["name"].as_array().expect("names").iter().find(|name| name["use"] == "official");
            text(&official.expect("an official name")["family"])
        };
        let all = self.server.search("Patient", &[]).await;
        all.iter().map(|it| Person { id: text(&it["id"]), last_name: last_name(it) }).collect()
    }

    async fn visits(&self) -> Vec<StoryVisit> {
        let here = |it: &Value| {
            let room = FhirPractice::participant(it, "Location");
            self.seeded.rooms.iter().any(|known| room == Some(json!(format!("Location/{known}"))))
        };
        let visit = |it: &Value| {
            let patient = text(&FhirPractice::participant(it, "Patient")?);
            Some(StoryVisit {
                id: text(&it["id"]),
                patient: patient.strip_prefix("Patient/")?.to_owned(),
                start: moment(&it["start"]),
                confirmed: it["status"] == "booked",
                cancelled: it["status"] == "cancelled",
            })
        };
        self.server.search("Appointment", &[]).await.iter().filter(|it| here(it)).filter_map(visit).collect()
    }

    async fn log(&self, patient: &str) -> Vec<String> {
        let all = self.server.search("Communication", &[]).await;
        let theirs = all.iter().filter(|it| it["subject"]["reference"] == format!("Patient/{patient}"));
        theirs.map(|it| text(&it["payload"][0]["contentString"])).collect()
    }

    async fn admit(&self, first_name: &str, last_name: &str) -> String {
        let name = json!([{"use": "official", "given": [first_name], "family": last_name}]);
        let patient = json!({"resourceType": "Patient", "name": name, "birthDate": "1971-05-06"});
        text(&self.server.create(&patient).await["id"])
    }

    async fn book_next_to(&self, visit: &str, patient: &str, start: DateTime<Utc>) -> String {
        let beside = self.appointment(visit).await;
        let actor = |reference: Value| json!({"actor": {"reference": reference}, "status": "accepted"});
        let theirs =
            |of: &str| actor(FhirPractice::participant(&beside, of).expect("the appointment has this participant"));
        let room = FhirPractice::participant(&beside, "Location").expect("the appointment has this participant");
        let slot = self.mark_slot(&room, start, "busy").await;
        let appointment = json!({
            "resourceType": "Appointment", "status": "booked", "slot": slot, "start": start, "end": start + TimeDelta::minutes(30),
            "participant": [actor(format!("Patient/{patient}").into()), theirs("Practitioner"), theirs("Location")],
        });
        text(&self.server.create(&appointment).await["id"])
    }

    async fn move_visit(&self, visit: &str, start: DateTime<Utc>) {
        let mut appointment = self.appointment(visit).await;
        let room = FhirPractice::participant(&appointment, "Location").expect("the appointment has this participant");
        self.mark_slot(&room, moment(&appointment["start"]), "free").await;
        appointment["slot"] = self.mark_slot(&room, start, "busy").await;
        appointment["start"] = json!(start);
        appointment["end"] = json!(start + TimeDelta::minutes(30));
        self.server.update(&appointment).await;
    }

    async fn cancel_visit(&self, visit: &str) {
        let mut appointment = self.appointment(visit).await;
        appointment["status"] = json!("cancelled");
        self.server.update(&appointment).await;
    }
}

impl EventPractice for FhirPractice {
    fn event_secret(&self) -> (&'static str, &'static str) {
        (EVENT_HEADER, EVENT_SECRET)
    }

    /// Waits until the server has activated the subscription.
    async fn subscribe(&self, endpoint: &str) {
        let header = format!("{EVENT_HEADER}: {EVENT_SECRET}");
        let mut subscription = json!({
            "resourceType": "Subscription", "status": "requested", "reason": "Read changed appointments",
            "criteria": "Appointment?", "channel": {"type": "rest-hook", "endpoint": endpoint, "header": [header]},
        });
        if self.events == FhirEvents::Topic {
            let ids = json!({"extension": [{"url": PAYLOAD_CONTENT, "valueCode": "id-only"}]});
            subscription["criteria"] = json!(TOPIC);
            subscription["channel"]["payload"] = json!("application/fhir+json");
            subscription["channel"]["_payload"] = ids;
        }
        let id = text(&self.server.create(&subscription).await["id"]);
        until("an active subscription", async || {
            let subscription = self.server.read("Subscription", &id).await;
            if subscription["status"] == "active" { Ok(()) } else { Err(subscription) }
        })
        .await;
    }

    fn reports_only_bookings(&self) -> bool {
        self.events == FhirEvents::Topic
    }
}

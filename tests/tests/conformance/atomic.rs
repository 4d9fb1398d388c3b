//! The FHIR adapter against a test server with atomic transactions, opaque links and a capability statement. No
//! public registry has such a server. The fake does not prove the behaviour of real servers.

use std::sync::Arc;

use actix_web::{
    App, HttpRequest, HttpResponse, HttpServer,
    http::StatusCode,
    web::{self, Bytes, Data},
};
use parking_lot::Mutex;
use records::ehr::{EhrAppointment, Resource, Write};
use runtime::clock;
use serde_json::{Value, json};
use tests::conformance::{EhrAddress, EhrUnderTest, ExistingIds};

use crate::conformance::atomic_server::{AtomicServer, BASE, ServerRequest};

const TYPES: &str = r#"[{"id":"CHECKUP","name":"Check-up","minutes":30}]"#;
const HISTORY: &str = r#"[{"category":"allergies","code":"91936005","name":"Penicillin allergy"},
    {"category":"conditions","code":"I10","name":"Hypertension"}]"#;

type SharedAtomicServer = Arc<Mutex<AtomicServer>>;

pub struct Atomic {
    address: std::net::SocketAddr,
    server: SharedAtomicServer,
    site: String,
    here: ExistingIds,
    /// Sorted starts of the slots, in seconds; the last one limits the covered time.
    slots: Vec<i64>,
}

fn with<T>(server: &SharedAtomicServer, work: impl FnOnce(&mut AtomicServer) -> T) -> T {
    work(&mut server.lock())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl Atomic {
    pub fn start() -> Atomic {
        let mut server = AtomicServer::new();
        server.put(json!({"resourceType": "Questionnaire", "status": "active", "url": "http://clinic.example/q",
            "title": "Intake", "item": [{"linkId": "n", "type": "string"}]}));
        let schedule = server.all("Schedule").into_iter().find(|schedule| {
            let own = format!("Schedule/{}", text(&schedule["id"]));
            server.all("Slot").iter().any(|slot| slot["schedule"]["reference"] == own.as_str())
        });
        let schedule = schedule.unwrap().clone();
        let actor = |n: usize| text(&schedule["actor"][n]["reference"]).split('/').nth(1).map(str::to_owned);
        let own = format!("Schedule/{}", text(&schedule["id"]));
        let (mut slots, practice) = (Vec::new(), server.all("Slot").into_iter().cloned().collect::<Vec<_>>());
        for (n, mut slot) in
            practice.into_iter().filter(|slot| slot["schedule"]["reference"] == own.as_str()).enumerate()
        {
            // A fixed number of days ahead, independent of the current date.
            let start = (clock::now().0 / 1_000 / 86_400 + 60) * 86_400 + 1_800 * i64::try_from(n).unwrap();
            (slot["start"], slot["end"]) = (instant(start).into(), instant(start + 1_800).into());
            slot["status"] = "free".into();
            server.put(slot);
            slots.push(start);
        }
        let room = actor(1).unwrap();
        let site = text(&server.get("Location", &room).unwrap()["partOf"]["reference"])[9..].to_owned();
        let here = ExistingIds {
            patient: text(&server.all("Patient")[0]["id"]),
            provider: actor(0).unwrap(),
            operatory: Some(room),
            appointment_type: Some("CHECKUP".into()),
        };
        let server = Arc::new(Mutex::new(server));
        let shared = Data::new(server.clone());
        let http = HttpServer::new(move || App::new().app_data(shared.clone()).default_service(web::to(answer)))
            .workers(1)
            .disable_signals()
            .bind(("127.0.0.1", 0))
            .unwrap();
        let address = http.addrs()[0];
        actix_rt::spawn(http.run());
        Atomic { address, server, site, here, slots }
    }

    fn matching(&self, resource_type: &str, fits: impl Fn(&Value) -> bool) -> usize {
        with(&self.server, |server| server.all(resource_type).into_iter().filter(|held| fits(held)).count())
    }

    fn appointments(&self, a: &EhrAppointment) -> usize {
        let room = format!("Location/{}", a.operatory.as_deref().unwrap());
        let there = |held: &Value| {
            let at = chrono::DateTime::parse_from_rfc3339(&text(&held["start"])).unwrap().timestamp();
            let mut participants = held["participant"].as_array().unwrap().iter();
            at == a.start && participants.any(|p| p["actor"]["reference"] == room.as_str())
        };
        self.matching("Appointment", there)
    }
}

fn instant(at: i64) -> String {
    chrono::DateTime::from_timestamp(at, 0).unwrap().to_rfc3339()
}

async fn answer(server: Data<SharedAtomicServer>, request: HttpRequest, body: Bytes) -> HttpResponse {
    let headers = request.headers().iter();
    let headers = headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect();
    let uri = request.uri().to_string();
    let path = uri.strip_prefix(BASE).unwrap_or("/outside");
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let host = request.connection_info().host().to_owned();
    let asked = ServerRequest { method: request.method().as_str(), path: &path, headers, body: &body };
    let answered = with(&server, |server| server.handle(clock::now().0 / 1_000, &host, &asked));
    let mut response = HttpResponse::build(StatusCode::from_u16(answered.status).unwrap());
    for header in answered.headers {
        response.insert_header(header);
    }
    response.body(answered.body)
}

impl EhrUnderTest for Atomic {
    fn place(&self) -> EhrAddress {
        EhrAddress::Loopback(self.address)
    }

    fn base_path(&self) -> &str {
        BASE
    }

    fn settings(&self) -> Vec<(String, String)> {
        let settings = [("transactions", "atomic"), ("appointment_types", TYPES), ("history_items", HISTORY)];
        settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    fn location(&self) -> &str {
        &self.site
    }

    fn zone(&self) -> chrono_tz::Tz {
        chrono_tz::Europe::Berlin
    }

    fn existing_ids(&self) -> ExistingIds {
        self.here.clone()
    }

    /// Returns the start of slot `n`, or a time after all slots.
    fn free(&self, n: usize) -> i64 {
        let after = |n: usize| self.slots.last().unwrap() + 1_800 * i64::try_from(n + 2).unwrap();
        self.slots.get(n).copied().unwrap_or_else(|| after(n - self.slots.len()))
    }

    async fn copies(&self, write: &Write) -> usize {
        match write {
            Write::CreatePatient(p) | Write::UpdatePatient(p, _) => self.matching("Patient", |held| {
                let mut mails = held["telecom"].as_array().into_iter().flatten();
                mails.any(|point| point["value"].as_str() == p.email.as_deref())
                    && held["name"][0]["family"] == p.last_name.as_str()
            }),
            Write::CreateAppointment(a)
            | Write::RescheduleAppointment(a, _)
            | Write::ConfirmAppointment(a)
            | Write::CheckInAppointment(a)
            | Write::NoteAppointment(a)
            | Write::CancelAppointment(a, _) => self.appointments(a),
            Write::CreateWorkingHour(_) | Write::UpdateWorkingHour(_) | Write::DeleteWorkingHour(_) => {
                panic!("working hours are not written there")
            }
            Write::Record(_, entry) => {
                let field = |name: &str| text(&entry.fields()[name]);
                match entry.resource() {
                    Resource::InsurancePlans => {
                        self.matching("Organization", |held| held["name"] == field("name").as_str())
                    }
                    Resource::Coverages => {
                        self.matching("Coverage", |held| held["subscriberId"] == field("subscriber_number").as_str())
                    }
                    Resource::PatientHistoryItems => {
                        let of = |name| self.matching(name, |held| held["note"][0]["text"] == field("note").as_str());
                        of("AllergyIntolerance") + of("Condition")
                    }
                    Resource::PatientAlerts => {
                        self.matching("Flag", |held| held["code"]["text"] == field("note").as_str())
                    }
                    Resource::CommunicationLogs => self.matching("Communication", |held| {
                        held["payload"][0]["contentString"] == field("note").as_str()
                    }),
                    Resource::FormResponses => {
                        let answers: Value = serde_json::from_str(&field("answers_json")).unwrap();
                        self.matching("QuestionnaireResponse", |held| {
                            held["item"][0]["answer"][0]["valueString"] == answers["n"]
                        })
                    }
                    other => panic!("the server does not take {other:?}"),
                }
            }
        }
    }

    async fn change(&self, resource: Resource, id: &str) -> bool {
        let (name, field) = match resource {
            Resource::Patients => ("Patient", "birthDate"),
            Resource::Appointments => ("Appointment", "comment"),
            Resource::Operatories => ("Location", "name"),
            _ => return false,
        };
        with(&self.server, |server| {
            let mut held = server.get(name, id).unwrap().clone();
            held[field] = if field == "birthDate" { "1955-05-05".into() } else { format!("by staff {id}").into() };
            held["meta"]["lastUpdated"] = instant(clock::now().0 / 1_000).into();
            server.put(held);
        });
        true
    }

    async fn delete(&self, resource: Resource, id: &str) -> bool {
        let name = match resource {
            Resource::Appointments => "Appointment",
            Resource::Coverages => "Coverage",
            Resource::CommunicationLogs => "Communication",
            _ => return false,
        };
        with(&self.server, |server| server.remove(name, id));
        true
    }

    async fn refused(&self, write: Write) -> Option<Write> {
        let Write::CreatePatient(mut patient) = write else { return None };
        patient.date_of_birth = Some("28.02.1990".into());
        Some(Write::CreatePatient(patient))
    }
}

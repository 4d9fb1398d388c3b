//! The adapter with a server whose transactions are atomic and whose links are opaque (a server written for tests).

use std::{cell::RefCell, rc::Rc};

use crate::atomic_server::{AtomicServer, ServerRequest};
use adapter_sdk::{
    Adapter, AppointmentChange, Fault, Receipt, Resource, Write, WriteKind,
    http::{Error, Method, Request, Response},
    records::{Appointment, CommunicationDirection, CommunicationLog, CommunicationMode},
    testing::Host,
    time::instant_of,
};
use fhir_adapter::Fhir;
use serde_json::{Value, json};

const NOW: i64 = 1_796_000_000;
/// The second slot of the schedule on its second day.
const START: &str = "2026-12-02T14:30:00Z";

/// Runs before the server handles a request.
type Meanwhile = dyn FnMut(&mut AtomicServer, &Request) -> Option<Error>;

#[derive(Clone)]
struct AtomicPractice(Rc<RefCell<AtomicServer>>, Rc<RefCell<Option<Box<Meanwhile>>>>);

impl AtomicPractice {
    fn new() -> AtomicPractice {
        AtomicPractice(Rc::new(RefCell::new(AtomicServer::new())), Rc::default())
    }

    fn meanwhile(&self, f: impl FnMut(&mut AtomicServer, &Request) -> Option<Error> + 'static) {
        *self.1.borrow_mut() = Some(Box::new(f));
    }

    fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let site = self.id("Location", |location| location["partOf"].is_null() && location["name"] == "Harbour Dental");
        let (server, between) = (self.0.clone(), self.1.clone());
        let host = Host::new()
            .manifest(include_str!("../adapter.toml"))
            .at(NOW)
            .config("location", &site)
            .config("transactions", "atomic");
        host.answer(move |request| {
            let lost = between.borrow_mut().as_mut().and_then(|f| f(&mut server.borrow_mut(), request));
            if let Some(lost) = lost {
                return Err(lost);
            }
            let body = request.body.clone().unwrap_or_default();
            let headers = request.headers.iter().cloned().map(Into::into).collect();
            let asked = ServerRequest { method: request.method.as_str(), path: &request.path, headers, body: &body };
            let answer = server.borrow_mut().handle(NOW, "ehr.example", &asked);
            let headers = answer.headers.into_iter().map(Into::into).collect();
            Ok(Response { status: answer.status, headers, body: answer.body })
        })
        .run(work)
    }

    fn id(&self, resource_type: &str, fits: impl Fn(&Value) -> bool) -> String {
        let server = self.0.borrow();
        let found = server.all(resource_type).into_iter().find(|resource| fits(resource)).unwrap();
        found["id"].as_str().unwrap().to_owned()
    }

    /// A booking of thirty minutes in the first slot of START's hour.
    fn booking(&self) -> Appointment {
        let at = instant_of(START).unwrap();
        let slot = |s: &Value| instant_of(s["start"].as_str().unwrap()) == Some(at);
        let slot = self.id("Slot", slot);
        let server = self.0.borrow();
        let schedule = server.get("Slot", &slot).unwrap()["schedule"]["reference"].as_str().unwrap()[9..].to_owned();
        let actors = server.get("Schedule", &schedule).unwrap()["actor"].clone();
        let actor = |n: usize| actors[n]["reference"].as_str().unwrap().split('/').nth(1).map(str::to_owned);
        Appointment {
            patient: server.all("Patient")[0]["id"].as_str().map(str::to_owned),
            provider: actor(0),
            operatory: actor(1),
            start: at,
            end: at + 1_800,
            ..Appointment::default()
        }
    }

    fn push(
        &self,
        key: &str,
        write: impl FnOnce(AppointmentChange) -> Write,
        a: &Appointment,
    ) -> Result<Receipt, Fault> {
        let write = write(AppointmentChange { appointment: a.clone(), reason: None });
        self.run(|| Fhir::push(key.into(), write))
    }

    fn busy(&self) -> Vec<String> {
        let server = self.0.borrow();
        let busy =
            server.all("Slot").into_iter().filter(|slot| slot["status"] == "busy" && !slot["identifier"].is_null());
        let mut starts: Vec<String> = busy.map(|slot| slot["start"].as_str().unwrap()[11..16].to_owned()).collect();
        starts.sort();
        starts
    }

    fn writes(&self) -> Vec<String> {
        let all = self.0.borrow().seen.clone();
        all.into_iter().filter(|request| !request.starts_with("GET")).collect()
    }
}

#[test]
fn an_appointment_and_its_slots_are_one_request() {
    let practice = AtomicPractice::new();
    let mut a = practice.booking();
    let booked = practice.push("k1", Write::CreateAppointment, &a).unwrap();
    assert_eq!(practice.writes(), ["POST /"]);
    assert_eq!(practice.busy(), ["09:30"]);
    let stored = practice.0.borrow().get("Appointment", &booked.id).cloned().unwrap();
    assert_eq!(stored["slot"].as_array().unwrap().len(), 1);
    assert_eq!(stored["meta"]["versionId"].as_str(), booked.version.as_deref());

    (a.id, a.version) = (booked.id.clone(), booked.version);
    (a.start, a.end) = (a.start + 1_800, a.end + 1_800);
    let moved = practice.push("k2", Write::RescheduleAppointment, &a).unwrap();
    assert_eq!((practice.writes().len(), practice.busy()), (2, vec!["10:00".to_owned()]));
    a.version = moved.version;
    practice.push("k3", Write::CancelAppointment, &a).unwrap();
    assert_eq!((practice.writes().len(), practice.busy()), (3, Vec::new()));
    assert_eq!(practice.0.borrow().get("Appointment", &booked.id).unwrap()["status"], "cancelled");
}

#[test]
fn a_concurrently_taken_slot_leaves_no_appointment() {
    let practice = AtomicPractice::new();
    let a = practice.booking();
    let mut done = false;
    practice.meanwhile(move |server, request| {
        if request.method == Method::Post && !done {
            done = true;
            let at = instant_of(START).unwrap();
            let slots = server.all("Slot").into_iter();
            let mut theirs =
                slots.filter(|s| instant_of(s["start"].as_str().unwrap()) == Some(at)).cloned().collect::<Vec<_>>();
            theirs[0]["status"] = json!("busy");
            server.put(theirs.remove(0));
        }
        None
    });
    let before = practice.0.borrow().all("Appointment").len();
    let ended = practice.push("k1", Write::CreateAppointment, &a);
    assert!(matches!(ended, Err(Fault::RetryLater(_))), "nothing was written: {ended:?}");
    assert_eq!(practice.0.borrow().all("Appointment").len(), before);
    // A retry is refused.
    let again = practice.push("k1", Write::CreateAppointment, &a);
    assert_eq!(again, Err(Fault::rejected("the slot is not free in the EHR")));
}

#[test]
fn a_lost_transaction_is_unknown_and_written_once() {
    for carried_out in [true, false] {
        let practice = AtomicPractice::new();
        let a = practice.booking();
        let mut done = false;
        practice.meanwhile(move |server, request| {
            if request.method != Method::Post || done {
                return None;
            }
            done = true;
            if carried_out {
                let body = request.body.clone().unwrap();
                let headers = request.headers.iter().cloned().map(Into::into).collect();
                let asked = ServerRequest { method: "POST", path: "/", headers, body: &body };
                assert_eq!(server.handle(NOW, "ehr.example", &asked).status, 200);
            }
            Some(Error::NoAnswer("broke off".into()))
        });
        let before = practice.0.borrow().all("Appointment").len();
        assert!(matches!(practice.push("k1", Write::CreateAppointment, &a), Err(Fault::Unknown(_))));
        let change = AppointmentChange { appointment: a.clone(), reason: None };
        let found = practice.run(|| Fhir::find("k1".into(), Write::CreateAppointment(change))).unwrap();
        assert_eq!(found.is_some(), carried_out);
        let again = practice.push("k1", Write::CreateAppointment, &a).unwrap();
        assert!(found.is_none_or(|found| found == again));
        assert_eq!(practice.0.borrow().all("Appointment").len(), before + 1);
        assert_eq!(practice.busy(), ["09:30"]);
    }
}

#[test]
fn opaque_links_are_followed_to_their_end() {
    let practice = AtomicPractice::new();
    let mut last = None;
    for limit in [1, 2, 4] {
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let page = practice.run(|| Fhir::pull(Resource::Patients, cursor, limit)).unwrap();
            assert!(page.records.len() <= limit as usize && page.cursor.len() <= 4_096);
            seen.extend(page.records);
            cursor = Some(page.cursor);
            if page.last {
                assert!(page.whole);
                break;
            }
        }
        assert_eq!(seen.len(), practice.0.borrow().all("Patient").len());
        last = cursor;
    }
    // An expired link ends the call, not the pass.
    let stale = last.map(|cursor| {
        let mut json: Value = serde_json::from_str(&cursor).unwrap();
        (json["at"], json["started"]) = (json!({"Link": "/?_getpages=gone"}), json!(NOW));
        json.to_string()
    });
    let ended = practice.run(|| Fhir::pull(Resource::Patients, stale, 4)).unwrap();
    assert!(!ended.last && ended.records.is_empty(), "the walk begins again");
}

#[test]
fn it_describes_what_the_server_states() {
    let practice = AtomicPractice::new();
    let description = practice.run(Fhir::describe).unwrap();
    let pulls: Vec<Resource> = description.pulls.iter().map(|ability| ability.resource).collect();
    assert!(pulls.contains(&Resource::CommunicationLogs) && !pulls.contains(&Resource::Payments));
    let writes = &description.writes;
    assert!(writes.contains(&WriteKind::CreateCoverage) && !writes.contains(&WriteKind::DeleteCoverage));
    assert!(writes.contains(&WriteKind::SavePatientHistoryItem) && description.new_patients);
    let delete = practice.run(|| Fhir::push("k".into(), Write::DeleteCoverage("c".into())));
    assert!(matches!(delete, Err(Fault::Unsupported(_))), "{delete:?}");
    let log = CommunicationLog {
        id: String::new(),
        patient: practice.booking().patient.unwrap(),
        note: "Reminded".into(),
        mode: CommunicationMode::Text,
        direction: CommunicationDirection::Sent,
        occurred_at: NOW,
        extra: Vec::new(),
    };
    let once = practice.run(|| Fhir::push("k".into(), Write::CreateCommunicationLog(log.clone()))).unwrap();
    assert_eq!(practice.run(|| Fhir::push("k".into(), Write::CreateCommunicationLog(log))).unwrap(), once);
    assert_eq!(practice.0.borrow().all("Communication").len(), 1);
}

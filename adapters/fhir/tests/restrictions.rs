//! Requests to servers with restrictions: small pages, their own links, required dates.

use crate::server::{Server, json_answer};
use adapter_sdk::{
    Adapter, AppointmentChange, Fault, Page, Record, Resource, Write,
    http::{Method, Request, Response},
    records::Appointment,
    time::{instant_of, instant_text},
};
use fhir_adapter::Fhir;
use serde_json::{Value, json};

const DAY: i64 = 86_400;

fn reference(to: &str) -> Value {
    json!({"reference": to})
}

fn practice(more: impl IntoIterator<Item = Value>) -> Server {
    let fixed = [
        json!({"resourceType": "Location", "id": "site", "name": "Site"}),
        json!({"resourceType": "Location", "id": "room", "partOf": reference("Location/site")}),
        json!({"resourceType": "Practitioner", "id": "doc"}),
        json!({"resourceType": "Schedule", "id": "sch",
            "actor": [reference("Practitioner/doc"), reference("Location/room")]}),
    ];
    let dated = |mut resource: Value| {
        resource["meta"] = json!({"versionId": "1", "lastUpdated": "2026-11-20T00:00:00Z"});
        resource
    };
    Server::with_resources(fixed.into_iter().chain(more).map(dated).collect())
}

fn patients(count: usize) -> impl Iterator<Item = Value> {
    (0..count).map(|n| json!({"resourceType": "Patient", "id": format!("p{n}"), "name": [{"family": "Ek"}]}))
}

fn appointment(id: &str, start: i64) -> Value {
    json!({"resourceType": "Appointment", "id": id, "status": "booked", "start": instant_text(start),
        "end": instant_text(start + 1_800), "participant": [
            {"actor": reference("Patient/p"), "status": "accepted"},
            {"actor": reference("Practitioner/doc"), "status": "accepted"},
            {"actor": reference("Location/room"), "status": "accepted"}]})
}

fn parameter(request: &Request, name: &str) -> Vec<String> {
    let query = request.path.split_once('?').map_or("", |(_, query)| query).replace("%3A", ":");
    let values = query.split('&').filter_map(|p| p.strip_prefix(name)?.strip_prefix('='));
    values.map(str::to_owned).collect()
}

/// Refuses pages of more than `most` records, with this message.
fn limited(server: Server, most: u32, words: &'static str) -> Server {
    server.meanwhile(move |_, request| {
        let count = parameter(request, "_count").first()?.parse::<u32>().unwrap();
        let outcome = json!({"resourceType": "OperationOutcome", "issue": [{"code": "value", "diagnostics": words}]});
        (count > most).then(|| Ok(json_answer(400, &outcome)))
    })
}

/// Reads all pages of a first or later pass.
fn pass(server: &Server, resource: Resource, mut cursor: Option<String>) -> (Vec<Record>, Page) {
    let mut records = Vec::new();
    loop {
        let mut page = server.run(|| Fhir::pull(resource, cursor, 400)).unwrap_or_else(|fault| panic!("{fault:?}"));
        records.append(&mut page.records);
        if page.last {
            return (records, page);
        }
        cursor = Some(page.cursor);
    }
}

fn requests(server: &Server) -> Vec<String> {
    std::mem::take(&mut server.0.borrow_mut().requests)
}

fn booking(start: i64) -> Appointment {
    Appointment {
        patient: Some("p0".into()),
        provider: Some("doc".into()),
        operatory: Some("room".into()),
        start,
        end: start + 1_800,
        ..Appointment::default()
    }
}

fn book(server: &Server, a: &Appointment) -> Result<(), Fault> {
    let change = AppointmentChange { appointment: a.clone(), reason: None };
    server.run(|| Fhir::push("k".into(), Write::CreateAppointment(change))).map(drop)
}

#[test]
fn refused_page_sizes_are_reduced_to_the_servers_limit() {
    let start = instant_of("2026-12-01T14:00:00Z").unwrap();
    let slot = |n: i64| {
        json!({"resourceType": "Slot", "id": format!("s{n}"), "status": "free", "schedule": reference("Schedule/sch"),
            "start": instant_text(start + n * 1_800), "end": instant_text(start + (n + 1) * 1_800)})
    };
    for (most, words, asked) in [
        (100, "The _count must be between 1 and 100.", 100),
        (100, "invalid", 100),
        (60, "invalid", 50),
        (10, "bad request", 10),
    ] {
        for links in [true, false] {
            let server = practice(patients(250).chain((0..120).map(slot)));
            server.0.borrow_mut().links = links;
            let server = limited(server, most, words);
            let (records, last) = pass(&server, Resource::Patients, None);
            assert_eq!((records.len(), last.whole), (250, true), "{words}");
            let asked = format!("_count={asked}");
            let sent = requests(&server);
            assert!(sent.last().unwrap().contains(&asked), "{sent:?}");
            // The limit is kept in this pass and in later ones.
            let refused = sent.iter().filter(|path| path.contains("_count=400")).count();
            assert_eq!(refused, 1, "{sent:?}");
            pass(&server, Resource::Patients, Some(last.cursor));
            assert!(requests(&server).iter().all(|path| path.contains(&asked)));
            // Also in other searches, in reading and in writing.
            assert_eq!(pass(&server, Resource::Operatories, None).0.len(), 1);
            requests(&server);
            let (hours, last) = pass(&server, Resource::WorkingHours, None);
            assert!(hours.len() == 3 && last.whole, "{hours:?}");
            let refused = |sent: &[String]| sent.iter().filter(|path| path.contains("_count=1000")).count();
            assert_eq!(refused(&requests(&server)), 1, "once a pass");
            pass(&server, Resource::WorkingHours, Some(last.cursor));
            assert_eq!(refused(&requests(&server)), 0, "and not in the next");
            book(&server, &booking(start)).unwrap();
            assert_eq!(refused(&requests(&server)), 1, "once a write");
        }
    }
}

#[test]
fn the_limit_of_a_server_can_be_set() {
    let server = limited(practice(patients(30)), 20, "no");
    let settings = [("count_limit", "20")];
    let page = server.run_with(&settings, || Fhir::pull(Resource::Patients, None, 400)).0.unwrap();
    assert_eq!(page.records.len(), 20);
    assert_eq!(requests(&server).len(), 1);
}

#[test]
fn a_search_refused_for_another_reason_is_retried_once_with_a_small_page() {
    let server = practice([]).meanwhile(|_, r: &Request| {
        r.path.starts_with("/Patient").then(|| Ok(json_answer(400, &json!({"resourceType": "OperationOutcome"}))))
    });
    let refused = server.run(|| Fhir::pull(Resource::Patients, None, 400));
    assert!(matches!(refused, Err(Fault::Rejected(_))), "{refused:?}");
    assert_eq!(requests(&server).len(), 2);
}

fn answered(bundle: &Value) -> Response {
    json_answer(200, bundle)
}

#[test]
fn links_relative_to_the_base_are_followed() {
    for next in ["Patient?_count=10&_offset=10", "./Patient?_count=10&_offset=10", "?_count=10&_offset=10"] {
        let mut asked = 0;
        let server = practice(patients(15)).meanwhile(move |resources, request| {
            let offset = usize::from(request.path.contains("_offset=10")) * 10;
            let all: Vec<_> =
                resources.iter().filter(|r| r["resourceType"] == "Patient").skip(offset).take(10).collect();
            let link = if offset == 0 { json!([{"relation": "next", "url": next}]) } else { json!(null) };
            asked += 1;
            assert!(asked <= 2 && request.path.starts_with("/Patient?"), "{}", request.path);
            let entry: Vec<_> = all.into_iter().map(|resource| json!({"resource": resource})).collect();
            Some(Ok(answered(&json!({"resourceType": "Bundle", "total": 15, "link": link, "entry": entry}))))
        });
        let (records, last) = pass(&server, Resource::Patients, None);
        assert_eq!((records.len(), last.whole), (15, true), "{next}");
    }
}

/// Refuses searches for appointments without dates or with more than `most` days and, unless `open`, with only one
/// bound.
fn by_dates(server: Server, most: i64, open: bool) -> Server {
    server.meanwhile(move |resources, request| {
        if request.method != Method::Get || !request.path.starts_with("/Appointment?") {
            return None;
        }
        let dates = parameter(request, "date");
        let bound = |prefix: &str| dates.iter().find_map(|date| instant_of(date.strip_prefix(prefix)?));
        let (from, until) = (bound("ge"), bound("lt"));
        let fits = match (from, until) {
            (Some(from), Some(until)) => until - from <= most * DAY,
            (None, None) => false,
            _ => open,
        };
        if !fits {
            let outcome = json!({"resourceType": "OperationOutcome", "issue": [{"code": "required"}]});
            return Some(Ok(json_answer(400, &outcome)));
        }
        let since = parameter(request, "_lastUpdated").first().map(|text| text.trim_start_matches("ge").to_owned());
        let within = |a: &&Value| {
            let start = instant_of(a["start"].as_str().unwrap()).unwrap();
            from.is_none_or(|from| start >= from)
                && until.is_none_or(|until| start < until)
                && since.as_deref().is_none_or(|since| a["meta"]["lastUpdated"].as_str().unwrap() >= since)
        };
        let found = resources.iter().filter(|r| r["resourceType"] == "Appointment").filter(within);
        let entry: Vec<_> = found.map(|resource| json!({"resource": resource})).collect();
        Some(Ok(answered(&json!({"resourceType": "Bundle", "total": entry.len(), "entry": entry}))))
    })
}

#[test]
fn appointments_are_read_in_windows_if_the_server_requires_dates() {
    let now = crate::server::NOW;
    let days = [-900, -400, -365, -1, 0, 1, 29, 30, 31, 89, 90, 300, 449, 451, 900];
    let all = || days.iter().enumerate().map(move |(n, day)| appointment(&format!("a{n}"), now + day * DAY));
    for (most, window) in [(100, 90), (31, 30)] {
        for open in [true, false] {
            let server = by_dates(practice(all()), most, open);
            let (records, last) = pass(&server, Resource::Appointments, None);
            let shown = if open { days.len() } else { days.len() - 3 };
            assert_eq!((records.len(), last.whole), (shown, open), "windows of {window} days");
            // A delta uses the windows.
            requests(&server);
            let (records, last) = pass(&server, Resource::Appointments, Some(last.cursor));
            assert!(records.is_empty());
            assert!(requests(&server).iter().filter(|r| r.contains("/Appointment")).all(|r| r.contains("date=")));
            // So does the next whole pass.
            let again = || Fhir::pull(Resource::Appointments, Some(last.cursor), 400);
            server.run_with(&[("whole_pass_minutes", "0")], again).0.unwrap();
            assert!(requests(&server).iter().filter(|r| r.contains("/Appointment")).all(|r| r.contains("date=")));
        }
    }
    let server = by_dates(practice(all()), 31, true);
    let first = || Fhir::pull(Resource::Appointments, None, 400);
    server.run_with(&[("appointment_window_days", "31")], first).0.unwrap();
    assert!(requests(&server).iter().filter(|r| r.contains("/Appointment")).all(|r| r.contains("date=")), "set");
    // A server that refuses every search.
    let server = by_dates(practice(all()), 0, false);
    assert!(matches!(server.run(first), Err(Fault::Rejected(_))));
}

#[test]
fn bookings_are_written_if_the_server_requires_dates() {
    let start = instant_of("2026-12-01T14:00:00Z").unwrap();
    let slot = json!({"resourceType": "Slot", "id": "s", "status": "busy", "schedule": reference("Schedule/sch"),
        "start": instant_text(start), "end": instant_text(start + 1_800),
        "identifier": [{"system": "urn:practice-sync:write-key", "value": "given-up"}]});
    let server = by_dates(practice([slot]), 31, false);
    book(&server, &booking(start)).unwrap();
    book(&server, &booking(start)).unwrap();
    assert_eq!(server.all("Appointment").len(), 1);
    assert_eq!(server.all("Slot")[0]["identifier"][0]["value"], "k");
}

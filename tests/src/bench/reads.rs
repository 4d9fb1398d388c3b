//! Lists over HTTP, compared with a handler that sends the same bytes.

use std::{error::Error, path::Path, sync::Arc};

use serde_json::{Value, json};

use super::{
    bookings::{load, offers, report_run},
    load::{LoadOutcome as Run, Requests},
    options::{BenchResult, Options},
    practices::SUBDOMAIN,
    report::{Aim, BenchReport},
    servers::{BenchServer, WORKERS, product::API_KEY},
};
use crate::harness::http_client::{Caller, api_request, request};

const APPOINTMENTS: usize = 100;
/// Maximum number of patients in the list.
const PATIENTS: usize = 1_000;

pub(super) struct ListEndpoint {
    what: String,
    pub(super) path: String,
    rows: usize,
}

pub fn run(options: &Options, report: &mut BenchReport) -> BenchResult {
    report.section(
        "lists over HTTP",
        format!(
            "{} connections in a closed loop, {} s after {} s of warm-up; servers in processes of their own with {WORKERS} HTTP workers, \
             load generator on the same machine; the bare handler answers any path with the bytes of the list",
            options.connections, options.seconds, options.warm_up
        ),
    );
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let dir = tempfile::Builder::new().prefix("bench-reads").tempdir_in(&options.dir)?;
    let lists = runtime.block_on(fill(options, dir.path()))?;
    for list in lists {
        let bytes = runtime.block_on(bytes_of(dir.path(), &list))?;
        let file = dir.path().join("bytes");
        std::fs::write(&file, &bytes)?;
        report.note(format!("{} in {} bytes", list.what, bytes.len()));
        let bare = runtime.block_on(bare(options, &file))?;
        report_run(report, "  bare actix-web handler that sends these bytes", &bare);
        let read = runtime.block_on(product(options, dir.path(), &list))?;
        report_run(report, "  practice-sync", &read);
        report.number("  practice-sync / bare", read.per_second / bare.per_second, "", Aim::AtLeast(0.3));
    }
    Ok(())
}

pub(super) fn server(dir: &Path) -> Result<BenchServer, Box<dyn Error>> {
    let dir = dir.to_str().ok_or("a folder whose name is no text")?;
    Ok(BenchServer::start(&["product", dir, "1", "wait"])?)
}

/// Books and registers patients through the API, and returns the lists that show them.
pub(super) async fn fill(options: &Options, dir: &Path) -> Result<Vec<ListEndpoint>, Box<dyn Error>> {
    let server = server(dir)?;
    let mut caller = Caller::sign_in(server.address, API_KEY).await?;
    let few = Options { locations: 1, bookings: APPOINTMENTS, ..options.clone() };
    let place = format!("subdomain={SUBDOMAIN}&location_id=1");
    for (number, (_, token)) in
        offers(server.address, &caller, &few, |_| SUBDOMAIN.to_owned()).await?.into_iter().enumerate()
    {
        let patient = json!({"first_name": "Ada", "last_name": format!("Booked{number}"), "date_of_birth": "1990-01-01",
            "phone_number": format!("+1 555 {number:07}")});
        let body = json!({"slot_token": token, "idempotency_key": number.to_string(), "patient": patient});
        check_created(caller.post(&format!("/intent/booking/book?{place}"), &body).await?)?;
    }
    let (_, providers) = caller.get(&format!("/providers?{place}")).await?;
    let patients = PATIENTS.min(options.patients as usize);
    for number in APPOINTMENTS..patients {
        let bio = json!({"date_of_birth": "1985-05-05", "phone_number": format!("+1 555 {number:07}")});
        let body = json!({"provider": {"provider_id": providers["data"][0]["id"]},
            "patient": {"first_name": "Ada", "last_name": format!("Listed{number}"), "email": "ada@example.com", "bio": bio}});
        check_created(caller.post(&format!("/patients?{place}"), &body).await?)?;
    }
    let always = "start=2020-01-01T00:00:00Z&end=2090-01-01T00:00:00Z";
    Ok(vec![
        ListEndpoint {
            what: format!("a list of {APPOINTMENTS} appointments"),
            path: format!("/appointments?{place}&{always}&per_page={APPOINTMENTS}"),
            rows: APPOINTMENTS,
        },
        ListEndpoint {
            what: format!("a list of {patients} patients"),
            path: format!("/patients?{place}&per_page={patients}"),
            rows: patients,
        },
    ])
}

fn check_created((status, answer): (u16, Value)) -> Result<(), String> {
    if status < 300 { Ok(()) } else { Err(format!("{status}: {answer}")) }
}

async fn bytes_of(dir: &Path, list: &ListEndpoint) -> Result<Vec<u8>, Box<dyn Error>> {
    let server = server(dir)?;
    let caller = Caller::sign_in(server.address, API_KEY).await?;
    let mut connection = crate::harness::http_client::Connection::open(server.address).await?;
    let answer = connection.send(&api_request("GET", &list.path, caller.authorization(), b"")).await?;
    let rows = answer.json()["data"].as_array().map_or(0, Vec::len);
    if rows != list.rows {
        return Err(format!("{}: {rows} rows, with status {}", list.what, answer.status).into());
    }
    Ok(answer.body)
}

fn always(request: Vec<u8>) -> Requests {
    Arc::new(move |_| Some(request.clone()))
}

async fn bare(options: &Options, file: &Path) -> Result<Run, Box<dyn Error>> {
    let server = BenchServer::start(&["bytes", file.to_str().ok_or("a file whose name is no text")?])?;
    Ok(load(options).run(server.address, always(request("GET", "/list", &[], b""))).await?)
}

async fn product(options: &Options, dir: &Path, list: &ListEndpoint) -> Result<Run, Box<dyn Error>> {
    let server = server(dir)?;
    let caller = Caller::sign_in(server.address, API_KEY).await?;
    let request = api_request("GET", &list.path, caller.authorization(), b"");
    Ok(load(options).run(server.address, always(request)).await?)
}

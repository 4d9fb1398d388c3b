//! A fake of Open Dental's REST API, written from its public documentation: nobody here has met a real Open Dental. It keeps the rows, the
//! documented checks, formats, caps and throttle, and is stricter than the documentation where it says nothing: fields it does not know are
//! refused. Its own test API seeds rows, looks at them, acts as staff, and breaks things.

pub mod clinic;
mod faults;
mod office;
mod routes;
mod rules;
mod seed;
mod tables;
mod verbs;

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use actix_web::{
    App, HttpRequest, HttpResponse, HttpServer,
    dev::ServerHandle,
    http::StatusCode,
    web::{self, Bytes, Data},
};

use crate::ehr_server::Broken;

pub use faults::{Fate, Switches};
pub use office::{Office, Row};
pub use seed::Seeded;

/// The path of the API below the server.
pub const BASE: &str = "/api/v1";

/// A server on loopback. Its rows live as long as this value.
pub struct OpenDentalServer {
    pub address: SocketAddr,
    office: Arc<Mutex<Office>>,
    server: ServerHandle,
}

/// What a request asks, and what it is answered.
pub struct Asked {
    pub method: String,
    pub path: String,
    pub query: Vec<(String, String)>,
    pub authorization: Option<String>,
    pub content_type: Option<String>,
    pub body: Vec<u8>,
}

pub struct Answered {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    pub fate: Fate,
    pub delay: Duration,
}

impl OpenDentalServer {
    /// Must be called within an actix system.
    pub fn start(office: Office) -> io::Result<OpenDentalServer> {
        let office = Arc::new(Mutex::new(office));
        let shared = Data::new(office.clone());
        let server = HttpServer::new(move || App::new().app_data(shared.clone()).default_service(web::to(answer)))
            .workers(1)
            .disable_signals()
            .shutdown_timeout(0)
            .bind(("127.0.0.1", 0))?;
        let address = server.addrs()[0];
        let server = server.run();
        let handle = server.handle();
        actix_rt::spawn(server);
        Ok(OpenDentalServer { address, office, server: handle })
    }

    /// The office behind it, to be looked at, to act as staff, and to be made unpleasant.
    pub fn office(&self) -> MutexGuard<'_, Office> {
        self.office.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub async fn stop(self) {
        self.server.stop(false).await;
    }
}

async fn answer(office: Data<Arc<Mutex<Office>>>, request: HttpRequest, body: Bytes) -> HttpResponse {
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let asked = Asked {
        method: request.method().to_string(),
        path: request.uri().path().to_owned(),
        query: pairs(request.uri().query().unwrap_or_default()),
        authorization: header("authorization"),
        content_type: header("content-type"),
        body: body.to_vec(),
    };
    let answered = office.lock().unwrap_or_else(PoisonError::into_inner).handle(&asked);
    tokio::time::sleep(answered.delay).await;
    if answered.fate != Fate::Answered {
        return HttpResponse::Ok().body(Broken);
    }
    let status = StatusCode::from_u16(answered.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = HttpResponse::build(status);
    for header in answered.headers {
        response.insert_header(header);
    }
    response.body(answered.body)
}

/// The parameters of a query, decoded.
fn pairs(query: &str) -> Vec<(String, String)> {
    let url = reqwest::Url::parse(&format!("http://office/?{query}"));
    url.map(|url| url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
        .unwrap_or_default()
}

//! In-process servers on loopback. A test reads and changes their state while clients send HTTP requests.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll},
    time::Duration,
};

use actix_web::{
    App, HttpRequest, HttpResponse, HttpServer,
    body::{BodySize, MessageBody},
    dev::ServerHandle,
    http::StatusCode,
    web::{self, Bytes, Data},
};
use parking_lot::{Mutex, MutexGuard};

/// A received request. Header names are in lower case.
pub struct FakeRequest {
    pub method: String,
    pub path: String,
    /// The undecoded query.
    pub query: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl FakeRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(held, _)| held == name).map(|(_, value)| value.as_str())
    }

    /// Returns the decoded parameters of the query.
    pub fn parameters(&self) -> Vec<(String, String)> {
        let url = reqwest::Url::parse(&format!("http://server/?{}", self.query));
        url.map(|url| url.query_pairs().into_owned().collect()).unwrap_or_default()
    }
}

pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub delay: Duration,
    /// Breaks the connection before the first byte of the body. For the client, this equals a refused connection,
    /// which cannot be simulated after an accept.
    pub lost: bool,
}

/// The handler of a server.
pub trait Respond: Send + 'static {
    fn respond(&mut self, request: FakeRequest) -> Response;
}

/// A server. Its state lives as long as this value.
pub struct FakeServer<T> {
    pub address: SocketAddr,
    held: Arc<Mutex<T>>,
    server: ServerHandle,
}

impl<T: Respond> FakeServer<T> {
    /// Starts a server. Must be called within an actix system.
    pub fn serving(holds: T) -> io::Result<FakeServer<T>> {
        let held = Arc::new(Mutex::new(holds));
        let shared = Data::new(held.clone());
        let server = HttpServer::new(move || App::new().app_data(shared.clone()).default_service(web::to(answer::<T>)))
            .workers(1)
            .disable_signals()
            .shutdown_timeout(0)
            .bind(("127.0.0.1", 0))?;
        let address = server.addrs()[0];
        let server = server.run();
        let handle = server.handle();
        actix_rt::spawn(server);
        Ok(FakeServer { address, held, server: handle })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the state, to be read or changed.
    pub fn state(&self) -> MutexGuard<'_, T> {
        self.held.lock()
    }

    /// Returns the state for a task, which must not extend its life.
    pub(super) fn weak_state(&self) -> Weak<Mutex<T>> {
        Arc::downgrade(&self.held)
    }

    pub async fn stop(self) {
        self.server.stop(false).await;
    }
}

async fn answer<T: Respond>(held: Data<Arc<Mutex<T>>>, request: HttpRequest, body: Bytes) -> HttpResponse {
    let headers = request.headers().iter();
    let asked = FakeRequest {
        method: request.method().to_string(),
        path: request.uri().path().to_owned(),
        query: request.uri().query().unwrap_or_default().to_owned(),
        headers: headers
            .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
            .collect(),
        body: body.to_vec(),
    };
    let answered = held.lock().respond(asked);
    tokio::time::sleep(answered.delay).await;
    if answered.lost {
        return HttpResponse::Ok().body(Broken);
    }
    let status = StatusCode::from_u16(answered.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = HttpResponse::build(status);
    for header in answered.headers {
        response.insert_header(header);
    }
    response.body(answered.body)
}

/// A body that breaks off at its beginning.
struct Broken;

impl MessageBody for Broken {
    type Error = io::Error;

    fn size(&self) -> BodySize {
        BodySize::Sized(1)
    }

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, io::Error>>> {
        Poll::Ready(Some(Err(io::ErrorKind::ConnectionReset.into())))
    }
}

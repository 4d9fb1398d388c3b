//! The HTTP server on loopback and the interface for tests. The only module that uses actix.

use std::{
    io,
    net::SocketAddr,
    ops::{Deref, DerefMut},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use actix_web::{
    App, HttpRequest, HttpResponse, HttpServer,
    body::{BodySize, MessageBody},
    dev::ServerHandle,
    http::StatusCode,
    rt,
    web::{self, Bytes, Data, PayloadConfig},
};
use parking_lot::{Mutex, MutexGuard};

use crate::{
    CallSelector, CloudAppointment, CloudEhrSettings, CloudPatient, CloudPractice, InjectedFault, Markup,
    RequestCounts, SessionOver, UnixClock,
    application::{Application, COOKIE},
    dispatch::{self, DispatchReply},
    web::{WebRequest, WebResponse},
};

/// Maximum size of a request body.
const MAX_BODY: usize = 1 << 20;

/// A running cloud EHR. Clones share one instance.
#[derive(Clone)]
pub struct CloudEhr {
    address: SocketAddr,
    clock: UnixClock,
    application: Arc<Mutex<Application>>,
    server: ServerHandle,
}

/// The practice's records, locked while the guard lives.
pub struct PracticeGuard<'a>(MutexGuard<'a, Application>);

impl Deref for PracticeGuard<'_> {
    type Target = CloudPractice;

    fn deref(&self) -> &CloudPractice {
        &self.0.practice
    }
}

impl DerefMut for PracticeGuard<'_> {
    fn deref_mut(&mut self) -> &mut CloudPractice {
        &mut self.0.practice
    }
}

impl CloudEhr {
    /// Starts the application. Must be called within an actix system.
    pub fn start(settings: CloudEhrSettings) -> io::Result<CloudEhr> {
        let application = Arc::new(Mutex::new(Application::new(&settings)));
        let shared = Data::new(SharedApplication { application: application.clone(), clock: settings.clock.clone() });
        let server = HttpServer::new(move || {
            App::new().app_data(shared.clone()).app_data(PayloadConfig::new(MAX_BODY)).default_service(web::to(answer))
        })
        .workers(1)
        .disable_signals()
        .shutdown_timeout(0)
        .bind(("127.0.0.1", settings.port))?;
        let address = server.addrs()[0];
        let server = server.run();
        let handle = server.handle();
        rt::spawn(server);
        Ok(CloudEhr { address, clock: settings.clock, application, server: handle })
    }

    pub async fn stop(&self) {
        self.server.stop(false).await;
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns `http://127.0.0.1:PORT`. The application is below `/app`.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Locks the records for reading and for changes by staff.
    pub fn practice(&self) -> PracticeGuard<'_> {
        PracticeGuard(self.application())
    }

    pub fn appointments(&self) -> Vec<CloudAppointment> {
        self.practice().appointments()
    }

    pub fn patients(&self) -> Vec<CloudPatient> {
        self.practice().patients()
    }

    /// Logs a user in without a password and returns the `Cookie` header of the new session. The user's other session
    /// ends.
    pub fn log_in(&self, user: &str) -> String {
        let token = self.application().sessions.open(user, (self.clock)());
        format!("{COOKIE}={token}")
    }

    /// Returns the users with a session.
    pub fn logged_in(&self) -> Vec<String> {
        self.application().sessions.users()
    }

    /// Ends all sessions as idle.
    pub fn expire_sessions(&self) {
        self.application().sessions.expire_all();
    }

    /// Replaces the CSRF tokens of all sessions.
    pub fn renew_csrf(&self) {
        self.application().sessions.renew_csrf();
    }

    pub fn set_idle_seconds(&self, seconds: i64) {
        self.application().sessions.idle_seconds = seconds;
    }

    /// Switches to another release.
    pub fn set_markup(&self, markup: Markup) {
        self.application().markup = markup;
    }

    pub fn set_session_over(&self, session_over: SessionOver) {
        self.application().session_over = session_over;
    }

    pub fn set_calls_per_minute(&self, allowed: Option<u32>) {
        self.application().quota.per_minute = allowed;
    }

    pub fn inject(&self, on: CallSelector, fault: InjectedFault) {
        self.application().fault_plan.add(on, fault);
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.application().fault_plan.clear();
    }

    /// Returns the number of calls with a fault so far.
    pub fn injected_faults(&self) -> usize {
        self.application().fault_plan.injected()
    }

    pub fn counts(&self) -> RequestCounts {
        self.application().counts
    }

    fn application(&self) -> MutexGuard<'_, Application> {
        self.application.lock()
    }
}

struct SharedApplication {
    application: Arc<Mutex<Application>>,
    clock: UnixClock,
}

async fn answer(shared: Data<SharedApplication>, request: HttpRequest, body: Bytes) -> HttpResponse {
    let headers = request.headers().iter();
    let asked = WebRequest {
        method: request.method().to_string(),
        path: request.uri().path().to_owned(),
        query: request.uri().query().unwrap_or_default().to_owned(),
        headers: headers
            .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
            .collect(),
        body: body.to_vec(),
    };
    let reply = {
        let mut application = shared.application.lock();
        dispatch::handle(&mut application, (shared.clock)(), &asked)
    };
    match reply {
        DispatchReply::Answered(answer) => response(answer),
        DispatchReply::Late(answer, after) => {
            rt::time::sleep(after).await;
            response(answer)
        }
        DispatchReply::Lost => HttpResponse::Ok().body(Broken),
    }
}

fn response(answer: WebResponse) -> HttpResponse {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = HttpResponse::build(status);
    // Pages use only their own resources, and browsers on shared computers store nothing.
    response.insert_header(("cache-control", "no-store"));
    response.insert_header(("x-content-type-options", "nosniff"));
    response.insert_header(("x-frame-options", "DENY"));
    response.insert_header(("referrer-policy", "same-origin"));
    response.insert_header(("content-security-policy", "default-src 'self'; style-src 'self' 'unsafe-inline'"));
    for header in answer.headers {
        response.append_header(header);
    }
    response.body(answer.body)
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

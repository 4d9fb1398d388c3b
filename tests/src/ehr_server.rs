//! The simulated EHR as a server of its own on loopback: what an adapter reaches over the network, kept alive by whoever tests.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
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
use engine::{
    clock,
    sandbox_ehr::{Delivery, Profile, SandboxEhr, SandboxRequest},
};

/// One practice's EHR. Its records live as long as this value.
pub struct EhrServer {
    pub address: SocketAddr,
    ehr: Arc<Mutex<SandboxEhr>>,
    server: ServerHandle,
}

impl EhrServer {
    /// Must be called within an actix system.
    pub fn start(profile: Profile) -> io::Result<EhrServer> {
        let ehr = Arc::new(Mutex::new(SandboxEhr::new(profile)));
        let shared = Data::new(ehr.clone());
        let server = HttpServer::new(move || App::new().app_data(shared.clone()).default_service(web::to(answer)))
            .workers(1)
            .disable_signals()
            .shutdown_timeout(0)
            .bind(("127.0.0.1", 0))?;
        let address = server.addrs()[0];
        let server = server.run();
        let handle = server.handle();
        actix_rt::spawn(server);
        Ok(EhrServer { address, ehr, server: handle })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The EHR itself, to be looked at and to be made unpleasant.
    pub fn ehr(&self) -> MutexGuard<'_, SandboxEhr> {
        self.ehr.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub async fn stop(self) {
        self.server.stop(false).await;
    }
}

async fn answer(ehr: Data<Arc<Mutex<SandboxEhr>>>, request: HttpRequest, body: Bytes) -> HttpResponse {
    let headers = request.headers().iter();
    let asked = SandboxRequest {
        method: request.method().to_string(),
        path: request.uri().path().to_owned(),
        query: request.uri().query().unwrap_or_default().to_owned(),
        headers: headers
            .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
            .collect(),
        body: body.to_vec(),
    };
    let reply = ehr.lock().unwrap_or_else(PoisonError::into_inner).handle(clock::now().0, &asked);
    tokio::time::sleep(Duration::from_millis(reply.delay_ms)).await;
    match reply.delivery {
        Delivery::Answered => {
            let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let mut response = HttpResponse::build(status);
            for header in reply.headers {
                response.insert_header(header);
            }
            response.body(reply.body)
        }
        // The connection breaks before the first byte of the body. That nobody accepts connections cannot be had from one that
        // was accepted: the caller learns as little from this.
        Delivery::Lost | Delivery::Refused => HttpResponse::Ok().body(Broken),
    }
}

/// A body that breaks off at its beginning.
pub(crate) struct Broken;

impl MessageBody for Broken {
    type Error = io::Error;

    fn size(&self) -> BodySize {
        BodySize::Sized(1)
    }

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, io::Error>>> {
        Poll::Ready(Some(Err(io::ErrorKind::ConnectionReset.into())))
    }
}

//! `adapter ehr`: serves the simulated EHR for adapter development.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    process::ExitCode,
    time::Duration,
};

use actix_web::{
    App, HttpRequest, HttpResponse, HttpServer,
    http::StatusCode,
    rt::System,
    web::{self, Bytes, Data},
};
use engine::clock;
use parking_lot::Mutex;
use sandbox_ehr::{Delivery, SandboxEhr, SandboxRequest};

use crate::terminal::{fail, print_line};

/// Serves the EHR until the process stops. Data is kept in memory only.
pub(super) fn run(port: u16) -> ExitCode {
    let at = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    System::new().block_on(serve(at)).map_or_else(|error| fail(format_args!("{at}: {error}")), |()| ExitCode::SUCCESS)
}

async fn serve(at: SocketAddr) -> io::Result<()> {
    let ehr = Data::new(Mutex::new(SandboxEhr::new(sandbox_host::practice())));
    let locations: Vec<&str> = sandbox_host::LOCATIONS.map(|(location, _)| location).to_vec();
    let server = HttpServer::new(move || App::new().app_data(ehr.clone()).default_service(web::to(answer)));
    let server = server.workers(1).bind(at)?;
    for address in server.addrs() {
        print_line(format_args!(
            "the simulated EHR is at http://{address}, with the locations {}",
            locations.join(" and ")
        ));
    }
    server.run().await
}

async fn answer(ehr: Data<Mutex<SandboxEhr>>, request: HttpRequest, body: Bytes) -> HttpResponse {
    let headers = request.headers().iter();
    let headers = headers.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
    let asked = SandboxRequest {
        method: request.method().to_string(),
        path: request.uri().path().to_owned(),
        query: request.uri().query().unwrap_or_default().to_owned(),
        headers: headers.collect(),
        body: body.to_vec(),
    };
    let reply = ehr.lock().handle(clock::now().0, &asked);
    actix_web::rt::time::sleep(Duration::from_millis(reply.delay_ms)).await;
    if reply.delivery != Delivery::Answered {
        // A lost answer. Adapters must not take this status for a response of the EHR.
        return HttpResponse::new(StatusCode::GATEWAY_TIMEOUT);
    }
    let mut response = HttpResponse::build(StatusCode::from_u16(reply.status).unwrap_or(StatusCode::BAD_GATEWAY));
    for header in reply.headers {
        response.insert_header(header);
    }
    response.body(reply.body)
}

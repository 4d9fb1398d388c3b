//! HTTP server: workers, timeouts, connection limits and TLS. `guard` wraps every request, `listener` and `connection`
//! every connection of clients and operators.

mod connection;
pub mod guard;
mod library_errors;
mod limits;
mod listener;

use std::{io, net::SocketAddr, time::Duration};

use actix_web::{
    App, Error, HttpResponse, HttpServer,
    body::BoxBody,
    dev::{Server, ServiceFactory, ServiceRequest, ServiceResponse},
    http::KeepAlive,
    middleware::from_fn,
    web::{self, Data},
};
use endpoints::{openapi, resources::documentation::Documents, routes::table};
use framework::{
    access::api::Api,
    http::context::{InternalListener, OperatorsListener},
    nodes::forward::MEMBERS_CHANGED,
};

use crate::server::{
    guard::guard,
    limits::{BACKLOG, DISCONNECT_TIMEOUT, for_requests},
    listener::Listener,
};

pub(crate) use self::limits::LAST_SECOND;

/// Longer than the idle timeout of the other nodes.
const INTERNAL_KEEP_ALIVE: Duration = Duration::from_secs(60);

pub fn app(
    api: Data<Api>,
) -> App<
    impl ServiceFactory<ServiceRequest, Config = (), Response = ServiceResponse<BoxBody>, Error = Error, InitError = ()>,
> {
    App::new()
        .app_data(api)
        .app_data(Documents(|audience, version| openapi::document_for(audience, version).text()))
        .configure(table::serve)
        .wrap(from_fn(guard))
}

/// Creates the app of the operators' listener, which includes the console.
pub fn operators_app(
    api: Data<Api>,
) -> App<
    impl ServiceFactory<ServiceRequest, Config = (), Response = ServiceResponse<BoxBody>, Error = Error, InitError = ()>,
> {
    app(api).app_data(OperatorsListener).configure(operator_console::serve)
}

/// Starts the clients' listener on a bound port. Runs until its handle stops it.
pub fn start(api: Data<Api>, listener: std::net::TcpListener) -> io::Result<(Server, SocketAddr)> {
    let address = listener.local_addr()?;
    let (connections, certificate) = (api.connections.clone(), api.certificates.clients.clone());
    let workers = api.edge().rules.workers;
    let per_worker = connections.limit.div_ceil(workers);
    let server = Listener { api: api.clone(), connections, certificate, workers, per_worker };
    Ok((server.serve(listener, move || app(api.clone()))?, address))
}

/// Starts the operators' listener, with a single worker.
pub fn start_operators(api: Data<Api>, listener: std::net::TcpListener) -> io::Result<Server> {
    let (connections, certificate) = (api.operators_connections.clone(), api.certificates.operators.clone());
    let per_worker = connections.limit;
    let server = Listener { api: api.clone(), connections, certificate, workers: 1, per_worker };
    server.serve(listener, move || operators_app(api.clone()))
}

/// Starts the internal listener: the same endpoints, for other nodes that prove the shared secret.
pub fn start_internal(api: Data<Api>, listener: std::net::TcpListener) -> io::Result<Server> {
    let edge = api.edge();
    let (workers, shutdown) = (edge.rules.workers, for_requests(edge.rules.shutdown_timeout).as_secs());
    let server = HttpServer::new(move || {
        app(api.clone()).app_data(InternalListener).route(MEMBERS_CHANGED, web::post().to(handle_members_changed))
    })
    .workers(workers)
    .backlog(BACKLOG)
    .keep_alive(KeepAlive::Timeout(INTERNAL_KEEP_ALIVE))
    .client_disconnect_timeout(DISCONNECT_TIMEOUT)
    .shutdown_timeout(shutdown)
    .disable_signals()
    .listen(listener)?
    .run();
    Ok(server)
}

/// Handles the notice that the cluster members have changed or are about to.
async fn handle_members_changed(api: Data<Api>) -> HttpResponse {
    api.engine.refresh_members();
    HttpResponse::NoContent().finish()
}

pub fn listen(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    std::net::TcpListener::bind(address)
}

//! Listener for clients or operators. Connections are counted, limited and wrapped before the HTTP library sees them.

use std::{fmt::Debug, io, sync::Arc, time::Duration};

use actix_http::{HttpService, Request, error::DispatchError};
use actix_service::{IntoServiceFactory, ServiceFactoryExt, map_config};
use actix_web::{
    Error,
    body::BoxBody,
    dev::{AppConfig, Response, Server, Service, ServiceFactory, fn_service},
    web::Data,
};
use framework::{
    access::api::Api,
    http::{connections::Connections, response_body::WRITE_BUFFER, tls::Certificate},
};
use rustls::ServerConfig;
use socket2::SockRef;
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::TlsAcceptor;

use super::{
    connection::{ClientConnection, ClientStream},
    limits::{BACKLOG, DISCONNECT_TIMEOUT, for_requests},
};

/// Kernel send buffer per connection; the default grows up to 4 MiB for a client that does not read.
const SEND_BUFFER: usize = 64 * 1024;
/// Maximum time without acknowledgement of sent bytes, or with a closed receive window.
#[cfg(target_os = "linux")]
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

/// Settings of a listener with untrusted clients.
pub(super) struct Listener {
    pub api: Data<Api>,
    pub connections: Arc<Connections>,
    pub certificate: Option<Arc<Certificate>>,
    pub workers: usize,
    pub per_worker: usize,
}

impl Listener {
    pub(super) fn serve<F, I, S>(self, socket: std::net::TcpListener, app: F) -> io::Result<Server>
    where
        F: Fn() -> I + Send + Clone + 'static,
        I: IntoServiceFactory<S, Request>,
        S: ServiceFactory<Request, Config = AppConfig> + 'static,
        S::Error: Into<Error>,
        S::InitError: Debug,
        S::Response: Into<Response<BoxBody>>,
        <S::Service as Service<Request>>::Future: 'static,
    {
        let Listener { api, connections, certificate, workers, per_worker } = self;
        let rules = api.edge().rules.clone();
        let tls = match certificate {
            Some(certificate) => {
                let mut config: ServerConfig = certificate.config()?;
                config.alpn_protocols = vec![b"http/1.1".to_vec()];
                Some(TlsAcceptor::from(Arc::new(config)))
            }
            None => None,
        };
        let server = Server::build()
            .workers(workers)
            .max_concurrent_connections(per_worker)
            .backlog(BACKLOG)
            .shutdown_timeout(for_requests(rules.shutdown_timeout).as_secs())
            // The caller stops the server.
            .disable_signals();
        let stopping = server.graceful_shutdown_signal();
        let server = server.listen("http", socket, move || {
            let (api, connections, tls) = (api.clone(), connections.clone(), tls.clone());
            let stopping = stopping.clone();
            let http = HttpService::build()
                .graceful_shutdown_signal(move || {
                    let stopping = stopping.clone();
                    async move { stopping.notified().await }
                })
                .keep_alive(rules.keep_alive)
                .client_request_timeout(rules.header_timeout)
                .client_disconnect_timeout(DISCONNECT_TIMEOUT)
                .h1_write_buffer_size(WRITE_BUFFER)
                .on_connect_ext(|connection: &ClientConnection, data| drop(data.insert(connection.live())))
                .h1(map_config(app().into_factory().map_err(|error| error.into().error_response()), |()| {
                    AppConfig::default()
                }));
            fn_service(move |stream: TcpStream| {
                let accepted = accept(api.clone(), connections.clone(), tls.clone(), stream);
                async move { accepted.await.map_err(DispatchError::Io) }
            })
            .and_then(http)
        })?;
        Ok(server.run())
    }
}

/// Accepts a connection. Refuses it unread if its address has its share already.
async fn accept(
    api: Data<Api>,
    connections: Arc<Connections>,
    tls: Option<TlsAcceptor>,
    stream: TcpStream,
) -> io::Result<(ClientConnection, Option<std::net::SocketAddr>)> {
    let peer = stream.peer_addr()?;
    let edge = api.edge();
    let is_proxy = edge.rules.trusted_proxies.iter().any(|network| network.contains(&peer.ip().to_canonical()));
    let seat = connections.enter((!is_proxy).then(|| peer.ip()), edge.rules.max_connections_per_address);
    let seat = seat.ok_or(io::ErrorKind::ConnectionRefused)?;
    bound(&stream)?;
    let stream = match tls {
        Some(acceptor) => {
            let mut stream = timeout(edge.rules.header_timeout, acceptor.accept(stream)).await??;
            stream.get_mut().1.set_buffer_limit(Some(WRITE_BUFFER));
            ClientStream::Tls(Box::new(stream))
        }
        None => ClientStream::Plain(stream),
    };
    Ok((ClientConnection::new(stream, edge.rules.body_timeout, seat), Some(peer)))
}

/// Limits the kernel's memory and retries for a connection.
fn bound(stream: &TcpStream) -> io::Result<()> {
    let socket = SockRef::from(stream);
    socket.set_send_buffer_size(SEND_BUFFER)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(SEND_TIMEOUT))?;
    Ok(())
}

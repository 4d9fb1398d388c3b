//! GET /workstations/connect: a WebSocket between a workstation's extension and the engine's gateway
//! (`adapters/extension/PROTOCOL.md`). The gateway has the rules of the protocol, this module the limits of a socket.

mod frame_limits;

use std::{net::IpAddr, pin::Pin, rc::Rc, time::Duration};

use actix_web::{
    FromRequest, HttpRequest, dev,
    error::PayloadError,
    http::header::{HeaderMap, ORIGIN, SEC_WEBSOCKET_PROTOCOL},
    web::{self, Bytes, Data, Payload},
};
use actix_ws::{AggregatedMessage, AggregatedMessageStream, CloseCode, CloseReason};
use bytestring::ByteString;
use engine::{
    Place,
    workstations::{
        ByeReason, Messages, Session, ToWorkstation,
        limits::{FRAME_BYTES, FRAMES, HELLO},
        protocol::SUBPROTOCOL,
    },
};
use framework::{http::context::from_node, nodes::socket::NodeSocket};
use futures_core::Stream;
use tokio::{sync::OwnedSemaphorePermit, time::timeout};

use crate::{
    prelude::*,
    resources::workstation::workstation_socket::frame_limits::{FrameLimits, LimitedBytes},
};

type BoxedPayloadStream = Pin<Box<dyn Stream<Item = Result<Bytes, PayloadError>>>>;

const PATH: &str = "/workstations/connect";
/// Maximum length of `hello`: a token and a version. Its sender is not authenticated yet.
const HELLO_BYTES: u64 = 4_096;
/// Time limit for a workstation that does not read, once all buffers are full.
const UNREAD: Duration = Duration::from_secs(10);
/// Frames longer than this are parsed on the blocking pool, because the thread also serves API requests.
const LONG_FRAME: usize = 64 << 10;
/// Seconds until a retry, if the limit of connections is reached.
const FULL: u64 = 60;

pub async fn connect(request: HttpRequest, payload: Payload) -> HttpResult {
    let api = request.app_data::<Data<Api>>().cloned().ok_or_else(ApiError::internal)?;
    check_origin(request.headers())?;
    check_subprotocol(request.headers())?;
    let seat = api.seats.clone().try_acquire_owned().map_err(|_| ApiError::unavailable(FULL))?;
    let gauge = FrameLimits::new(HELLO_BYTES, FRAMES);
    let walled: BoxedPayloadStream = Box::pin(LimitedBytes::new(payload.into_inner(), gauge.clone()));
    let walled =
        Payload::from_request(&request, &mut dev::Payload::from(walled)).await.map_err(|_| ApiError::internal())?;
    let handshake = actix_ws::handle_with_protocols(&request, walled, &[SUBPROTOCOL]);
    let (response, out, frames) = handshake
        .map_err(|error| ApiError::bad(format!("The request is not a valid WebSocket handshake: {error}.")))?;
    let frames = frames.max_frame_size(FRAME_BYTES).aggregate_continuations().max_continuation_size(FRAME_BYTES);
    let socket = Socket { out, frames, gauge };
    let of_client = ConnectionOrigin { handed_on: from_node(&request).is_some(), client: api.client(&request) };
    actix_web::rt::spawn(socket.serve(api, of_client, seat));
    Ok(response)
}

struct ConnectionOrigin {
    /// Forwarded by another node, which considers the location to be on this node.
    handed_on: bool,
    client: Option<IpAddr>,
}

/// Accepts extensions and programs, but no web pages: browsers let any page open a WebSocket, but send its origin.
fn check_origin(headers: &HeaderMap) -> Result<(), ApiError> {
    let extension = |origin: &str| origin.split_once("://").is_some_and(|(scheme, _)| scheme.ends_with("-extension"));
    let all = headers.get_all(ORIGIN).all(|origin| origin.to_str().is_ok_and(extension));
    if all { Ok(()) } else { Err(Failure::OriginRefused.into()) }
}

fn check_subprotocol(headers: &HeaderMap) -> Result<(), ApiError> {
    let mut offered = headers.get_all(SEC_WEBSOCKET_PROTOCOL).filter_map(|names| names.to_str().ok());
    let ours = offered.any(|names| names.split(',').any(|name| name.trim() == SUBPROTOCOL));
    if ours { Ok(()) } else { Err(ApiError::bad(format!("Sec-WebSocket-Protocol must name {SUBPROTOCOL}."))) }
}

/// The node that serves the workstation's location.
enum StartedSession {
    Here(Session, Messages),
    Elsewhere(Box<NodeSocket>),
}

/// Starts a session on the node of the location, which the first frame identifies. While the location moves, or if the
/// sending node was wrong, the workstation is closed and reconnects.
async fn begin(api: &Api, came: &ConnectionOrigin, hello: &str) -> Result<StartedSession, ByeReason> {
    let gateway = api.engine.gateway();
    if let Some(peers) = &api.peers {
        let location = gateway.location_of(hello)?;
        let institution = api.engine.setup().locations.get(&location).ok_or(ByeReason::Shutdown)?.institution;
        match api.engine.place(institution) {
            Place::Mine => {}
            Place::Elsewhere(node) if !came.handed_on => {
                let socket = peers.socket(&node, PATH, SUBPROTOCOL, came.client, FRAME_BYTES).await;
                let mut socket = socket.ok_or(ByeReason::Shutdown)?;
                return if socket.send(hello).await {
                    Ok(StartedSession::Elsewhere(Box::new(socket)))
                } else {
                    Err(ByeReason::Shutdown)
                };
            }
            Place::Elsewhere(_) | Place::Unsettled => return Err(ByeReason::Shutdown),
        }
    }
    gateway.connect(hello, came.client).map(|(session, messages)| StartedSession::Here(session, messages))
}

struct Socket {
    out: actix_ws::Session,
    frames: AggregatedMessageStream,
    gauge: Rc<FrameLimits>,
}

enum Incoming {
    Text(ByteString),
    /// The peer closed, or the connection broke.
    Gone,
    Wrong(ByeReason),
}

impl Socket {
    async fn serve(mut self, api: Data<Api>, came: ConnectionOrigin, _seat: OwnedSemaphorePermit) {
        let begun = match timeout(HELLO, self.receive()).await {
            Ok(Incoming::Text(hello)) => begin(&api, &came, &hello).await,
            Ok(Incoming::Gone) => return,
            Ok(Incoming::Wrong(reason)) => Err(reason),
            Err(_) => Err(ByeReason::Protocol),
        };
        let mut out = self.out.clone();
        self.gauge.max_message.set(FRAME_BYTES as u64);
        match begun {
            Ok(StartedSession::Elsewhere(node)) => self.relay(*node, &mut out).await,
            Ok(StartedSession::Here(session, messages)) => {
                // The first one to end ends both: the engine has no more messages, or the peer is gone.
                tokio::select! {
                    () = send_all(messages, &mut out) => {}
                    () = self.listen(Arc::new(session)) => {}
                }
            }
            Err(reason) => drop(send(&ToWorkstation::Bye { reason }, &mut out).await),
        }
        // Has no effect if the peer closed.
        drop(timeout(UNREAD, out.close(Some(CloseReason::from(CloseCode::Normal)))).await);
    }

    /// Relays in both directions until one peer ends.
    async fn relay(&mut self, mut node: NodeSocket, out: &mut actix_ws::Session) {
        loop {
            tokio::select! {
                message = node.receive() => {
                    let Some(text) = message else { break };
                    if !matches!(timeout(UNREAD, out.text(text)).await, Ok(Ok(()))) {
                        break;
                    }
                }
                heard = self.receive() => match heard {
                    Incoming::Text(frame) if timeout(UNREAD, node.send(&frame)).await == Ok(true) => {}
                    Incoming::Wrong(reason) => {
                        _ = send(&ToWorkstation::Bye { reason }, out).await;
                        break;
                    }
                    Incoming::Text(_) | Incoming::Gone => break,
                },
            }
        }
        node.close().await;
    }

    /// Reads until the peer is gone. The gateway reports protocol errors.
    async fn listen(&mut self, session: Arc<Session>) {
        loop {
            match self.receive().await {
                Incoming::Text(frame) => {
                    if !received(&session, frame).await {
                        return pending_forever().await;
                    }
                }
                Incoming::Gone => return,
                Incoming::Wrong(reason) => {
                    session.end(reason);
                    return pending_forever().await;
                }
            }
        }
    }

    async fn receive(&mut self) -> Incoming {
        loop {
            match self.frames.recv().await {
                Some(Ok(AggregatedMessage::Text(text))) => return Incoming::Text(text),
                Some(Ok(AggregatedMessage::Ping(bytes))) => {
                    let answered = timeout(UNREAD, self.out.pong(&bytes)).await;
                    if !matches!(answered, Ok(Ok(()))) {
                        return Incoming::Gone;
                    }
                }
                Some(Ok(AggregatedMessage::Pong(_))) => {}
                Some(Ok(AggregatedMessage::Binary(_))) => return Incoming::Wrong(ByeReason::Protocol),
                Some(Ok(AggregatedMessage::Close(_))) | None => return Incoming::Gone,
                Some(Err(_)) if self.gauge.breach().is_some() => return Incoming::Wrong(ByeReason::Flood),
                Some(Err(actix_ws::ProtocolError::Io(error))) if error.kind() != std::io::ErrorKind::InvalidData => {
                    return Incoming::Gone;
                }
                Some(Err(_)) => return Incoming::Wrong(ByeReason::Protocol),
            }
        }
    }
}

/// Never completes, so that only the end of the engine's messages ends the connection.
async fn pending_forever() {
    std::future::pending().await
}

/// Passes a frame to the session. Returns `false` if the session accepts no more frames.
async fn received(session: &Arc<Session>, frame: ByteString) -> bool {
    if frame.len() <= LONG_FRAME {
        return session.received(&frame).is_ok();
    }
    let session = session.clone();
    let read = web::block(move || session.received(&frame).is_ok()).await;
    // The pool ends only with the process.
    read.unwrap_or(false)
}

/// Sends the engine's messages until they end or the peer does not read.
async fn send_all(mut messages: Messages, out: &mut actix_ws::Session) {
    while let Some(message) = messages.recv().await {
        if send(&message, out).await.is_none() {
            return;
        }
    }
}

/// Returns `None` if the peer does not read.
async fn send(message: &ToWorkstation, out: &mut actix_ws::Session) -> Option<()> {
    timeout(UNREAD, out.text(message.text())).await.ok()?.ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use actix_web::http::header::HeaderValue;

    use super::*;

    fn headers(pairs: &[(actix_web::http::header::HeaderName, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name.clone(), HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn extensions_and_programs_may_connect_and_web_pages_may_not() {
        assert_eq!(check_origin(&headers(&[])), Ok(()));
        for origin in ["chrome-extension://abcdefghijklmnop", "moz-extension://2c127fa4-62c7-7e4f-90e5-472b45eecfdc"] {
            assert_eq!(check_origin(&headers(&[(ORIGIN, origin)])), Ok(()), "{origin}");
        }
        for origin in ["https://ehr.example", "http://localhost", "null", "", "chrome-extension", "file://"] {
            assert_eq!(check_origin(&headers(&[(ORIGIN, origin)])), Err(Failure::OriginRefused.into()), "{origin}");
        }
        let both = [(ORIGIN, "chrome-extension://abc"), (ORIGIN, "https://ehr.example")];
        assert_eq!(check_origin(&headers(&both)), Err(Failure::OriginRefused.into()));
    }

    #[test]
    fn the_protocol_is_named() {
        assert_eq!(check_subprotocol(&headers(&[(SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL)])), Ok(()));
        assert_eq!(check_subprotocol(&headers(&[(SEC_WEBSOCKET_PROTOCOL, "x, practice-sync.workstation.v1")])), Ok(()));
        for other in ["", "practice-sync.workstation.v2", "practice-sync.workstation.v11"] {
            assert!(check_subprotocol(&headers(&[(SEC_WEBSOCKET_PROTOCOL, other)])).is_err(), "{other}");
        }
        assert!(check_subprotocol(&headers(&[])).is_err());
    }
}

//! Forwarding of calls to other nodes, with client address and request id. Responses are streamed back.

use std::{
    net::IpAddr,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use actix_web::{
    HttpResponse,
    body::SizedStream,
    http::{
        Method, StatusCode,
        header::{
            CONNECTION, CONTENT_LENGTH, DATE, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING,
            UPGRADE, USER_AGENT,
        },
    },
    web::Bytes,
};

use futures_util::future::join_all;
use tokio::time::timeout;

use super::proof::{Called, Proof, Proofs};
use crate::{
    http::{context::REQUEST_ID, errors::ApiError},
    values::secret::Secret,
};

pub const PROOF: HeaderName = HeaderName::from_static("x-node-proof");
/// Address of the original client.
pub(super) const CLIENT: HeaderName = HeaderName::from_static("x-node-client");

/// Marks part of a call that already counted against the rate limits.
pub(super) const COUNTED: HeaderName = HeaderName::from_static("x-node-counted");

/// Marks a call whose placement the sender does not know.
pub(super) const UNPLACED: HeaderName = HeaderName::from_static("x-node-unplaced");

/// User-Agent between nodes.
pub const AGENT: &str = "practice-sync-node";
/// Path of the notice that the members have changed.
pub const MEMBERS_CHANGED: &str = "/node/look";

/// Connect timeout within one network. A node that does not accept in this time counts as down.
const CONNECT: Duration = Duration::from_secs(1);
/// Idle timeout, shorter than that of the other node.
const IDLE: Duration = Duration::from_secs(5);

/// Hop-by-hop headers, which are not forwarded.
const OF_THE_HOP: [HeaderName; 8] =
    [CONNECTION, CONTENT_LENGTH, DATE, EXPECT, HOST, TRANSFER_ENCODING, UPGRADE, HeaderName::from_static("keep-alive")];

pub struct Peers {
    pub(super) proofs: Proofs,
    client: reqwest::Client,
    forwarded: AtomicU64,
    failed: AtomicU64,
}

pub struct NodeCall<'a> {
    pub method: &'a Method,
    /// Path with query.
    pub path: &'a str,
    pub headers: &'a HeaderMap,
    pub id: &'a str,
    /// Address of the original client.
    pub client: Option<IpAddr>,
    /// `true` for part of a call that already counted against the rate limits.
    pub counted: bool,
    /// `true` if the sender does not know the placement, in which case the receiver may forward the call once more.
    pub unplaced: bool,
    pub body: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotForwarded {
    /// The other node did not receive the call.
    NotSent,
    /// The outcome at the other node is unknown.
    NoAnswer,
}

impl Peers {
    pub fn new(secret: &Secret) -> Result<Peers, String> {
        // Traffic between nodes is plain HTTP, but the client requires a crypto provider.
        engine::webhooks::egress::install_crypto();
        let client = reqwest::Client::builder()
            .no_proxy()
            .http1_only()
            .tcp_nodelay(true)
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT)
            .pool_idle_timeout(IDLE)
            .build();
        let client = client.map_err(|error| format!("no HTTP client for the other nodes: {error}"))?;
        let (forwarded, failed) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Peers { proofs: Proofs::new(secret), client, forwarded, failed })
    }

    /// Returns the numbers of forwarded calls, and of those without a response.
    pub fn counts(&self) -> (u64, u64) {
        (self.forwarded.load(Ordering::Relaxed), self.failed.load(Ordering::Relaxed))
    }

    /// Forwards a call to the node with the advertised address `node`.
    pub async fn forward(&self, node: &str, call: &NodeCall<'_>) -> Result<HttpResponse, NotForwarded> {
        Ok(handed_back(call.method, self.call(node, call).await?))
    }

    /// Notifies other nodes of a membership change. A node that misses the notice polls later.
    pub async fn notify_members_changed(&self, nodes: &[String]) {
        let headers = HeaderMap::from_iter([(USER_AGENT, HeaderValue::from_static(AGENT))]);
        let (client, counted, unplaced, body) = (None, false, false, Bytes::new());
        let method = &Method::POST;
        let call =
            NodeCall { method, path: MEMBERS_CHANGED, headers: &headers, id: "", client, counted, unplaced, body };
        let notices = nodes.iter().map(|node| timeout(CONNECT, self.send(node, &call)));
        drop(join_all(notices).await);
    }

    /// Returns the body of another node's response with status 200.
    pub async fn fetch(&self, node: &str, call: &NodeCall<'_>) -> Result<Bytes, NotForwarded> {
        let answer = self.call(node, call).await?;
        if answer.status() != reqwest::StatusCode::OK {
            tracing::warn!(
                node,
                status = answer.status().as_u16(),
                "another node returned an error for its part of a call"
            );
            return Err(NotForwarded::NotSent);
        }
        answer.bytes().await.map_err(|_| NotForwarded::NoAnswer)
    }

    async fn call(&self, node: &str, call: &NodeCall<'_>) -> Result<reqwest::Response, NotForwarded> {
        self.forwarded.fetch_add(1, Ordering::Relaxed);
        let answered = self.send(node, call).await;
        if let Err(why) = &answered {
            self.failed.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(node, ?why, "another node did not respond to a forwarded call");
        }
        answered
    }

    async fn send(&self, node: &str, call: &NodeCall<'_>) -> Result<reqwest::Response, NotForwarded> {
        let NodeCall { method, path, headers, id, client, counted, unplaced, body } = call;
        let proof = self.proofs.prove_call(&Called { method: method.as_str(), path, client: *client });
        let method = reqwest::Method::from_bytes(method.as_str().as_bytes()).map_err(|_| NotForwarded::NotSent)?;
        let mut sending = self.client.request(method, format!("{node}{path}"));
        // Drops node headers sent by the client.
        let travels =
            |name: &HeaderName| !OF_THE_HOP.contains(name) && ![PROOF, CLIENT, COUNTED, UNPLACED].contains(name);
        for (name, value) in headers.iter().filter(|(name, _)| travels(name)) {
            sending = sending.header(name.as_str(), value.as_bytes());
        }
        let mut own = reqwest::header::HeaderMap::new();
        let mut set = |name: &HeaderName, value: &str| {
            let name = reqwest::header::HeaderName::from_bytes(name.as_str().as_bytes());
            if let (Ok(name), Ok(value)) = (name, reqwest::header::HeaderValue::from_str(value)) {
                own.insert(name, value);
            }
        };
        set(&PROOF, &proof.text());
        set(&CLIENT, &client.map(|client| client.to_string()).unwrap_or_default());
        set(&REQUEST_ID, id);
        if *counted {
            set(&COUNTED, "1");
        }
        if *unplaced {
            set(&UNPLACED, "1");
        }
        // Replaces the client's headers of these names.
        let sent = sending.headers(own).body(body.clone()).send().await;
        let answer = sent.map_err(|error| match error.is_connect() {
            true => NotForwarded::NotSent,
            false => NotForwarded::NoAnswer,
        })?;
        let proven = answer.headers().get(PROOF.as_str()).and_then(|text| Proof::parse(text.to_str().ok()?));
        if !proven.is_some_and(|proven| self.proofs.verifies_answer(&proven, &proof)) {
            tracing::error!(node, "the server at the address of another node does not have the shared secret");
            return Err(NotForwarded::NoAnswer);
        }
        Ok(answer)
    }
}

/// Converts the response of another node into one of this node.
fn handed_back(method: &Method, answer: reqwest::Response) -> HttpResponse {
    let status = StatusCode::from_u16(answer.status().as_u16()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut headers = HeaderMap::new();
    for (name, value) in answer.headers() {
        let name = HeaderName::from_bytes(name.as_str().as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value.as_bytes()))
            && !OF_THE_HOP.contains(&name)
            && name != PROOF
        {
            headers.append(name, value);
        }
    }
    let length = answer.headers().get(CONTENT_LENGTH.as_str()).and_then(|length| length.to_str().ok()?.parse().ok());
    let mut response = HttpResponse::build(status);
    let mut response = match length {
        // A 304 never has a body; a stream, even an empty one, would write its end to the connection.
        // The response to HEAD has a length without the body.
        _ if status == StatusCode::NOT_MODIFIED => response.finish(),
        Some(length) if method == Method::HEAD => response.no_chunking(length).finish(),
        Some(length) => response.body(SizedStream::new(length, answer.bytes_stream())),
        None => response.streaming(answer.bytes_stream()),
    };
    for (name, value) in headers {
        response.headers_mut().append(name, value);
    }
    response
}

impl From<NotForwarded> for ApiError {
    fn from(why: NotForwarded) -> ApiError {
        match why {
            NotForwarded::NotSent => ApiError::unavailable(1),
            NotForwarded::NoAnswer => engine::EngineError::OutcomeUnknown.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;
    use crate::http::context::TOOL;

    /// Clients could otherwise forge their address and evade the rate limits.
    #[actix_web::test]
    async fn node_headers_of_clients_are_not_forwarded() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let node = format!("http://{}", listener.local_addr().unwrap());
        let heard = actix_web::rt::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (mut text, mut bytes) = (String::new(), [0; 4_096]);
            while !text.contains("\r\n\r\n") {
                let read = stream.read(&mut bytes).await.unwrap();
                text.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
            text.to_lowercase()
        });
        let mut headers = HeaderMap::new();
        for name in [PROOF, CLIENT, COUNTED, UNPLACED] {
            headers.insert(name, HeaderValue::from_static("from-the-client"));
        }
        headers.insert(USER_AGENT, HeaderValue::from_static("an-application"));
        // Set by the sender. The guard has removed that of a client.
        headers.insert(TOOL, HeaderValue::from_static("book"));
        let (client, body) = (Some(IpAddr::from([192, 0, 2, 7])), Bytes::new());
        let call = NodeCall {
            method: &Method::GET,
            path: "/patients",
            headers: &headers,
            id: "its-id",
            client,
            counted: false,
            unplaced: false,
            body,
        };
        let peers = Peers::new(&Secret::from_bytes([7; 32])).unwrap();
        // The test server does not have the secret.
        assert_eq!(peers.forward(&node, &call).await.err(), Some(NotForwarded::NoAnswer));
        let heard = heard.await.unwrap();
        assert!(!heard.contains("from-the-client") && !heard.contains("x-node-counted"), "{heard}");
        for header in [
            "x-node-client: 192.0.2.7",
            "x-node-proof: ",
            "x-request-id: its-id",
            "user-agent: an-application",
            "x-node-tool: book",
        ] {
            assert!(heard.contains(header), "{header}: {heard}");
        }
    }
}

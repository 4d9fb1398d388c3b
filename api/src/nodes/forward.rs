//! A call that another node answers: handed on once, with whose call it is and its id, and its answer handed back as it comes.

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

pub(crate) const PROOF: HeaderName = HeaderName::from_static("x-node-proof");
/// Whose call it is.
pub(super) const CLIENT: HeaderName = HeaderName::from_static("x-node-client");

/// On a part of a call that was counted already.
pub(super) const COUNTED: HeaderName = HeaderName::from_static("x-node-counted");

/// On a call whose place the node that hands it on does not know.
pub(super) const UNPLACED: HeaderName = HeaderName::from_static("x-node-unplaced");

/// Nodes name themselves to each other.
pub(crate) const AGENT: &str = "practice-sync-node";
/// Where a node is told to look who the members are.
pub(crate) const LOOK: &str = "/node/look";

/// Between two nodes of one network; one that does not take a connection in this time is gone.
const CONNECT: Duration = Duration::from_secs(1);
/// Less than the other node keeps an idle connection.
const IDLE: Duration = Duration::from_secs(5);

/// Of one connection, or of this hop: not the call's.
const OF_THE_HOP: [HeaderName; 8] =
    [CONNECTION, CONTENT_LENGTH, DATE, EXPECT, HOST, TRANSFER_ENCODING, UPGRADE, HeaderName::from_static("keep-alive")];

/// The way to the other nodes.
pub struct Peers {
    proofs: Proofs,
    client: reqwest::Client,
    forwarded: AtomicU64,
    failed: AtomicU64,
}

/// A call to another node.
pub(crate) struct NodeCall<'a> {
    pub method: &'a Method,
    /// With its query.
    pub path: &'a str,
    pub headers: &'a HeaderMap,
    pub id: &'a str,
    /// Whose call it is.
    pub client: Option<IpAddr>,
    /// It is part of a call that was counted already.
    pub counted: bool,
    /// Who hands it on does not know its place: it may be handed on once more.
    pub unplaced: bool,
    pub body: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotForwarded {
    /// The other node has nothing of it.
    NotSent,
    /// What it made of it is not known.
    NoAnswer,
}

impl Peers {
    pub fn new(secret: &Secret) -> Result<Peers, String> {
        // What nodes say is plain, but no client is made without.
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

    /// Calls handed on, and those of them that got no answer.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.forwarded.load(Ordering::Relaxed), self.failed.load(Ordering::Relaxed))
    }

    pub(super) fn proofs(&self) -> &Proofs {
        &self.proofs
    }

    /// `node`: its address, as it says itself.
    pub(crate) async fn forward(&self, node: &str, call: &NodeCall<'_>) -> Result<HttpResponse, NotForwarded> {
        Ok(handed_back(call.method, self.call(node, call).await?))
    }

    /// Tells other nodes to look who the members are, before they would by themselves. One that does not hear it looks later.
    pub(crate) async fn tell_to_look(&self, nodes: &[String]) {
        let headers = HeaderMap::from_iter([(USER_AGENT, HeaderValue::from_static(AGENT))]);
        let (client, counted, unplaced, body) = (None, false, false, Bytes::new());
        let method = &Method::POST;
        let call = NodeCall { method, path: LOOK, headers: &headers, id: "", client, counted, unplaced, body };
        let telling = nodes.iter().map(|node| timeout(CONNECT, self.answer(node, &call)));
        drop(join_all(telling).await);
    }

    /// The body of what another node answers with 200.
    pub(crate) async fn ask(&self, node: &str, call: &NodeCall<'_>) -> Result<Bytes, NotForwarded> {
        let answer = self.call(node, call).await?;
        if answer.status() != reqwest::StatusCode::OK {
            tracing::warn!(node, status = answer.status().as_u16(), "another node did not answer its part");
            return Err(NotForwarded::NotSent);
        }
        answer.bytes().await.map_err(|_| NotForwarded::NoAnswer)
    }

    async fn call(&self, node: &str, call: &NodeCall<'_>) -> Result<reqwest::Response, NotForwarded> {
        self.forwarded.fetch_add(1, Ordering::Relaxed);
        let answered = self.answer(node, call).await;
        if let Err(why) = &answered {
            self.failed.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(node, ?why, "another node did not answer a call that was handed on");
        }
        answered
    }

    async fn answer(&self, node: &str, call: &NodeCall<'_>) -> Result<reqwest::Response, NotForwarded> {
        let NodeCall { method, path, headers, id, client, counted, unplaced, body } = call;
        let proof = self.proofs.of_call(&Called { method: method.as_str(), path, client: *client });
        let method = reqwest::Method::from_bytes(method.as_str().as_bytes()).map_err(|_| NotForwarded::NotSent)?;
        let mut sending = self.client.request(method, format!("{node}{path}"));
        // What only nodes say is never a client's word.
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
        // In the place of what a client calls so.
        let sent = sending.headers(own).body(body.clone()).send().await;
        let answer = sent.map_err(|error| match error.is_connect() {
            true => NotForwarded::NotSent,
            false => NotForwarded::NoAnswer,
        })?;
        let proven = answer.headers().get(PROOF.as_str()).and_then(|text| Proof::parse(text.to_str().ok()?));
        if !proven.is_some_and(|proven| self.proofs.is_of_answer(&proven, &proof)) {
            tracing::error!(node, "what answers at the address of another node does not have the secret of the nodes");
            return Err(NotForwarded::NoAnswer);
        }
        Ok(answer)
    }
}

/// The answer of another node as this one's.
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
        // Its body does not come, and its length is said all the same.
        // It never has a body: a stream, even an empty one, would leave its end on the connection.
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
            NotForwarded::NotSent => ApiError::Unavailable { retry_after: 1 },
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

    /// A client that could say what nodes say would choose its address and be counted by no limit.
    #[actix_web::test]
    async fn what_only_nodes_say_is_not_taken_from_a_client() {
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
        // Whoever answers does not have the secret.
        assert_eq!(peers.forward(&node, &call).await.err(), Some(NotForwarded::NoAnswer));
        let heard = heard.await.unwrap();
        assert!(!heard.contains("from-the-client") && !heard.contains("x-node-counted"), "{heard}");
        for said in ["x-node-client: 192.0.2.7", "x-node-proof: ", "x-request-id: its-id", "user-agent: an-application"]
        {
            assert!(heard.contains(said), "{said}: {heard}");
        }
    }
}

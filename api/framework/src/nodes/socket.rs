//! WebSocket to another node, which forwards the frames of a client's WebSocket.

use std::{net::IpAddr, time::Duration};

use actix_web::http::header::{SEC_WEBSOCKET_PROTOCOL, USER_AGENT};
use futures_util::{SinkExt, StreamExt};
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{Message, client::IntoClientRequest, http::HeaderValue, protocol::WebSocketConfig},
};

use super::{
    forward::{AGENT, CLIENT, PROOF, Peers},
    proof::{Called, Proof},
};

/// Timeout of connection and handshake.
const OPENING: Duration = Duration::from_secs(5);

pub struct NodeSocket(WebSocketStream<TcpStream>);

impl Peers {
    /// Opens a WebSocket to the node with the advertised address `node`. Returns `None` and logs the reason if the node
    /// refuses.
    pub async fn socket(
        &self,
        node: &str,
        path: &str,
        subprotocol: &str,
        client: Option<IpAddr>,
        max_message: usize,
    ) -> Option<NodeSocket> {
        let proof = self.proofs.prove_call(&Called { method: "GET", path, client });
        let opened = timeout(OPENING, open(node, path, subprotocol, client, max_message, &proof)).await;
        let why = match opened {
            Ok(Ok((socket, proven))) if proven.as_ref().is_some_and(|it| self.proofs.verifies_answer(it, &proof)) => {
                return Some(NodeSocket(socket));
            }
            Ok(Ok(_)) => "the server does not have the shared secret".to_owned(),
            Ok(Err(error)) => error,
            Err(_) => "it does not answer".to_owned(),
        };
        tracing::warn!(node, why, "another node refused the WebSocket of a workstation");
        None
    }
}

async fn open(
    node: &str,
    path: &str,
    subprotocol: &str,
    client: Option<IpAddr>,
    max_message: usize,
    proof: &Proof,
) -> Result<(WebSocketStream<TcpStream>, Option<Proof>), String> {
    let message_of = |error: &dyn std::fmt::Display| error.to_string();
    let address = node.strip_prefix("http://").unwrap_or(node);
    let mut request = format!("ws://{address}{path}").into_client_request().map_err(|error| message_of(&error))?;
    let client = client.map(|client| client.to_string()).unwrap_or_default();
    let headers = [
        (PROOF, proof.text()),
        (CLIENT, client),
        (SEC_WEBSOCKET_PROTOCOL, subprotocol.to_owned()),
        (USER_AGENT, AGENT.to_owned()),
    ];
    for (name, value) in headers {
        let name = tokio_tungstenite::tungstenite::http::HeaderName::from_bytes(name.as_str().as_bytes());
        let value = HeaderValue::from_str(&value).map_err(|error| message_of(&error))?;
        request.headers_mut().insert(name.map_err(|error| message_of(&error))?, value);
    }
    let stream = TcpStream::connect(address).await.map_err(|error| message_of(&error))?;
    stream.set_nodelay(true).map_err(|error| message_of(&error))?;
    let limits = WebSocketConfig::default().max_message_size(Some(max_message)).max_frame_size(Some(max_message));
    let opened = client_async_with_config(request, stream, Some(limits)).await;
    let (socket, answer) = opened.map_err(|error| message_of(&error))?;
    let proven = answer.headers().get(PROOF.as_str()).and_then(|text| Proof::parse(text.to_str().ok()?));
    Ok((socket, proven))
}

impl NodeSocket {
    /// Returns `false` if the connection is closed.
    pub async fn send(&mut self, text: &str) -> bool {
        self.0.send(Message::text(text)).await.is_ok()
    }

    /// Receives a message. Returns `None` once the connection is closed.
    pub async fn receive(&mut self) -> Option<String> {
        loop {
            match self.0.next().await? {
                Ok(Message::Text(text)) => return Some(text.as_str().to_owned()),
                // The socket itself answers pings.
                Ok(Message::Ping(_) | Message::Pong(_)) => {}
                Ok(Message::Close(_) | Message::Binary(_) | Message::Frame(_)) | Err(_) => return None,
            }
        }
    }

    pub async fn close(mut self) {
        // The result is irrelevant, because the other node may have closed already.
        drop(timeout(OPENING, self.0.close(None)).await);
    }
}

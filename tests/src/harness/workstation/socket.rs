//! The workstation's end of the protocol, message by message, for valid and invalid messages.

use std::{io, net::SocketAddr, time::Duration};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use testing::PATIENCE;
use tokio::{io::AsyncWriteExt, net::TcpStream};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{Error, Message, client::IntoClientRequest, http::HeaderValue, protocol::WebSocketConfig},
};

pub const SUBPROTOCOL: &str = "practice-sync.workstation.v1";
/// The origin of an extension's service worker.
pub const ORIGIN: &str = "chrome-extension://abcdefghijklmnopabcdefghijklmnop";

pub struct Socket(WebSocketStream<TcpStream>);

/// Headers of the handshake; `None` omits one.
pub struct Handshake<'a> {
    pub origin: Option<&'a str>,
    pub subprotocol: Option<&'a str>,
}

impl Default for Handshake<'_> {
    fn default() -> Self {
        Handshake { origin: Some(ORIGIN), subprotocol: Some(SUBPROTOCOL) }
    }
}

impl Socket {
    pub async fn open(address: SocketAddr) -> io::Result<Socket> {
        Socket::shake(address, &Handshake::default()).await.map_err(|status| io::Error::other(format!("{status:?}")))
    }

    /// Connects. Returns the status if the server rejects the handshake.
    pub async fn shake(address: SocketAddr, handshake: &Handshake<'_>) -> Result<Socket, Option<u16>> {
        let url = format!("ws://{address}/workstations/connect");
        let mut request = url.into_client_request().map_err(|_| None)?;
        let headers = [("origin", handshake.origin), ("sec-websocket-protocol", handshake.subprotocol)];
        for (name, value) in headers.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            request.headers_mut().insert(name, HeaderValue::from_str(value).map_err(|_| None)?);
        }
        let stream = TcpStream::connect(address).await.map_err(|_| None)?;
        stream.set_nodelay(true).map_err(|_| None)?;
        // Small buffers, because benchmarks open many connections.
        let config = WebSocketConfig::default().read_buffer_size(4_096).write_buffer_size(4_096);
        match client_async_with_config(request, stream, Some(config)).await {
            Ok((socket, _)) => Ok(Socket(socket)),
            Err(Error::Http(answer)) => Err(Some(answer.status().as_u16())),
            Err(_) => Err(None),
        }
    }

    pub async fn send(&mut self, message: &Value) -> io::Result<()> {
        self.send_text(message.to_string()).await
    }

    pub async fn send_text(&mut self, text: impl Into<String>) -> io::Result<()> {
        self.send_raw(Message::text(text.into())).await
    }

    pub async fn send_raw(&mut self, message: Message) -> io::Result<()> {
        self.0.send(message).await.map_err(io::Error::other)
    }

    /// Queues a message without waiting until it is sent.
    pub async fn feed(&mut self, message: &Value) -> io::Result<()> {
        self.0.feed(Message::text(message.to_string())).await.map_err(io::Error::other)
    }

    /// Sends only the header of a text frame of this length.
    pub async fn claim(&mut self, length: u64) -> io::Result<()> {
        let mut head = vec![0x81, 0xff];
        head.extend(length.to_be_bytes());
        head.extend([0; 4]);
        self.0.get_mut().write_all(&head).await
    }

    /// Returns the next message, or `None` if the engine closed the connection.
    pub async fn receive(&mut self) -> Option<Value> {
        loop {
            match self.0.next().await? {
                Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap_or(Value::Null)),
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// Returns the next message of a type and answers pings. Returns `None` if the connection closes or times out.
    pub async fn receive_kind(&mut self, kind: &str) -> Option<Value> {
        tokio::time::timeout(PATIENCE, async {
            loop {
                let message = self.receive().await?;
                if message["type"] == kind {
                    return Some(message);
                }
                if message["type"] == "ping" {
                    self.send(&json!({"type": "pong", "n": message["n"]})).await.ok()?;
                }
            }
        })
        .await
        .ok()?
    }

    /// Returns the engine's reason for closing. Returns `None` if it gives no reason or does not close.
    pub async fn bye(&mut self) -> Option<String> {
        Some(self.receive_kind("bye").await?["reason"].as_str()?.to_owned())
    }

    /// Returns whether the connection is closed within this time.
    pub async fn ends_within(&mut self, time: Duration) -> bool {
        tokio::time::timeout(time, async { while self.receive().await.is_some() {} }).await.is_ok()
    }

    pub async fn hello(&mut self, token: &str) -> io::Result<()> {
        self.send(&json!({"type": "hello", "token": token, "extension": "1.0.0"})).await
    }

    pub async fn state(&mut self, logged_in: bool, paused: bool) -> io::Result<()> {
        let session = if logged_in { "in" } else { "out" };
        self.send(&json!({"type": "state", "session": session, "paused": paused, "awaiting": 0})).await
    }

    /// Waits for the lease and returns its number.
    pub async fn leased(&mut self) -> Option<u64> {
        loop {
            if let Some(lease) = self.receive_kind("lease").await?["lease"].as_u64() {
                return Some(lease);
            }
        }
    }
}

//! The HTTP client of tests and benchmarks: HTTP/1.1 over one persistent connection, without retries.

use std::{io, net::SocketAddr};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Maximum size of an answer; a longer one is a server error.
const MAX_ANSWER: usize = 64 << 20;
const VERSION: &str = "v3.0.0";
const AGENT: &str = "practice-sync-tests/1.0";

pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

#[derive(Debug)]
pub struct HttpAnswer {
    pub status: u16,
    pub body: Vec<u8>,
}

impl HttpAnswer {
    /// Parses the body; `Null` if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// Returns the bytes of a request.
pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nuser-agent: {AGENT}\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

impl Connection {
    pub async fn open(address: SocketAddr) -> io::Result<Connection> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, buffer: Vec::with_capacity(4_096) })
    }

    /// Sends a request and waits for its answer. After an error, the connection cannot be used again.
    pub async fn send(&mut self, request: &[u8]) -> io::Result<HttpAnswer> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        let (status, head, length) = loop {
            self.read_some().await?;
            if let Some(end) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                let (status, length) = parse_head(&self.buffer[..end])?;
                break (status, end + 4, length);
            }
        };
        while self.buffer.len() < head + length {
            self.read_some().await?;
        }
        if self.buffer.len() > head + length {
            return Err(invalid("more than one answer"));
        }
        Ok(HttpAnswer { status, body: self.buffer[head..].to_vec() })
    }

    async fn read_some(&mut self) -> io::Result<()> {
        if self.buffer.len() > MAX_ANSWER {
            return Err(invalid("an answer without end"));
        }
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

fn parse_head(head: &[u8]) -> io::Result<(u16, usize)> {
    let head = std::str::from_utf8(head).map_err(|_| invalid("a head that is no text"))?;
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| invalid("no status"))?;
    let mut headers = lines.filter_map(|line| line.split_once(':'));
    let length = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length = length.and_then(|(_, value)| value.trim().parse().ok());
    // A 204 response has no body and no length.
    let length = length.or((status == 204).then_some(0)).ok_or_else(|| invalid("no content-length"))?;
    Ok((status, length))
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// A client of the API with a persistent connection and a bearer token.
pub struct Caller {
    connection: Connection,
    authorization: String,
    version: &'static str,
}

impl Caller {
    /// Exchanges an API key for a token (specification 5.2).
    pub async fn sign_in(address: SocketAddr, api_key: &str) -> io::Result<Caller> {
        let connection = Connection::open(address).await?;
        let mut caller = Caller { connection, authorization: api_key.to_owned(), version: VERSION };
        let (status, answer) = caller.call("POST", "/authenticates", None).await?;
        let token = answer["data"]["token"].as_str().filter(|_| status == 201);
        caller.authorization = format!("Bearer {}", token.ok_or_else(|| invalid(&format!("{status}: {answer}")))?);
        Ok(caller)
    }

    /// Connects to the operators' listener.
    pub async fn operator(address: SocketAddr, token: &str) -> io::Result<Caller> {
        let connection = Connection::open(address).await?;
        let mut caller = Caller { connection, authorization: format!("Bearer {token}"), version: VERSION };
        // The server soon closes connections without requests.
        caller.get("/healthz").await?;
        Ok(caller)
    }

    /// Opens another connection with the same token.
    pub async fn another(&self, address: SocketAddr) -> io::Result<Caller> {
        let connection = Connection::open(address).await?;
        Ok(Caller { connection, authorization: self.authorization.clone(), version: self.version })
    }

    /// Changes the API version of later requests.
    pub fn at(self, version: &'static str) -> Caller {
        Caller { version, ..self }
    }

    pub fn authorization(&self) -> &str {
        &self.authorization
    }

    pub async fn get(&mut self, path: &str) -> io::Result<(u16, Value)> {
        self.call("GET", path, None).await
    }

    pub async fn post(&mut self, path: &str, body: &Value) -> io::Result<(u16, Value)> {
        self.call("POST", path, Some(body)).await
    }

    pub async fn patch(&mut self, path: &str, body: &Value) -> io::Result<(u16, Value)> {
        self.call("PATCH", path, Some(body)).await
    }

    pub async fn delete(&mut self, path: &str) -> io::Result<(u16, Value)> {
        self.call("DELETE", path, None).await
    }

    async fn call(&mut self, method: &str, path: &str, body: Option<&Value>) -> io::Result<(u16, Value)> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = versioned(method, path, &self.authorization, self.version, body.as_bytes());
        let answer = self.connection.send(&request).await?;
        Ok((answer.status, answer.json()))
    }
}

/// Returns a request to the API with the required headers.
pub fn api_request(method: &str, path: &str, authorization: &str, body: &[u8]) -> Vec<u8> {
    versioned(method, path, authorization, VERSION, body)
}

fn versioned(method: &str, path: &str, authorization: &str, version: &str, body: &[u8]) -> Vec<u8> {
    let mut headers = vec![("authorization", authorization), ("svc-api-version", version)];
    if !body.is_empty() {
        headers.push(("content-type", "application/json"));
    }
    request(method, path, &headers, body)
}

//! A proxy between adapter and EHR. It forwards and counts requests and injects faults into some. A shut proxy
//! simulates an EHR that is down and keeps its records. It supports plain HTTP/1.1 with one request per connection, so
//! that bytes are forwarded unchanged.

use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
    time::timeout,
};

pub use crate::fault_injector::{FaultInjector, InjectedFault, When};

const MAX_HEAD: usize = 64 << 10;
const MAX_BODY: usize = 64 << 20;
const EXCHANGE: Duration = Duration::from_secs(60);

pub struct FlakyProxy {
    address: SocketAddr,
    server: SocketAddr,
    pub injector: FaultInjector,
    /// `None` while the proxy is shut.
    task: Option<JoinHandle<()>>,
}

impl FlakyProxy {
    pub async fn to(server: SocketAddr) -> FlakyProxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let address = listener.local_addr().expect("it is bound");
        let injector = FaultInjector::default();
        let task = tokio::spawn(serve(listener, server, injector.clone()));
        FlakyProxy { address, server, injector, task: Some(task) }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes all connections and refuses new ones.
    pub async fn shut(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
            let _ = task.await;
        }
    }

    pub async fn open(&mut self) {
        if self.task.is_none() {
            let listener = TcpListener::bind(self.address).await.expect("the port is still ours");
            self.task = Some(tokio::spawn(serve(listener, self.server, self.injector.clone())));
        }
    }
}

impl Drop for FlakyProxy {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// Accepts connections; all end with this task.
async fn serve(listener: TcpListener, server: SocketAddr, injector: FaultInjector) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        let injector = injector.clone();
        connections.spawn(async move {
            // The client notices a broken connection itself.
            let _ = timeout(EXCHANGE, exchange(client, server, &injector)).await;
        });
    }
}

async fn exchange(mut client: TcpStream, server: SocketAddr, injector: &FaultInjector) -> io::Result<()> {
    let Some(request) = read_request(&mut client).await? else { return Ok(()) };
    let fault = injector.next();
    let answer = match &fault {
        Some(InjectedFault::LoseRequest) => return Ok(()),
        Some(InjectedFault::Answer(status, headers, body)) => answer(*status, headers, body),
        _ => forward(server, &request).await?,
    };
    match fault {
        Some(InjectedFault::LoseReply) => return Ok(()),
        Some(InjectedFault::Half) => return client.write_all(&answer[..middle(&answer)]).await,
        Some(InjectedFault::Slow(pause)) => tokio::time::sleep(pause).await,
        _ => (),
    }
    client.write_all(&answer).await?;
    client.shutdown().await
}

/// Reads the whole request and marks it as the last of its connection. Returns `None` if the client sent nothing.
async fn read_request(client: &mut TcpStream) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let head = loop {
        if client.read_buf(&mut bytes).await? == 0 {
            return if bytes.is_empty() { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        }
        match head_end(&bytes) {
            Some(end) => break end,
            None if bytes.len() > MAX_HEAD => return Err(io::ErrorKind::InvalidData.into()),
            None => (),
        }
    };
    let length = header(&bytes[..head], "content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
    if length > MAX_BODY {
        return Err(io::ErrorKind::InvalidData.into());
    }
    while bytes.len() < head + length {
        if client.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(Some(last_of_its_connection(&bytes, head)))
}

async fn forward(server: SocketAddr, request: &[u8]) -> io::Result<Vec<u8>> {
    let mut server = TcpStream::connect(server).await?;
    server.write_all(request).await?;
    let mut answer = Vec::new();
    loop {
        match server.read_buf(&mut answer).await {
            Ok(0) => break,
            Ok(_) if answer.len() > MAX_BODY => return Err(io::ErrorKind::InvalidData.into()),
            Ok(_) => (),
            // The response was complete before the reset.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset && !answer.is_empty() => break,
            Err(error) => return Err(error),
        }
    }
    let head = head_end(&answer).ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok(last_of_its_connection(&answer, head))
}

/// Returns the same message with `connection: close`.
fn last_of_its_connection(message: &[u8], head: usize) -> Vec<u8> {
    let text = String::from_utf8_lossy(&message[..head - 4]).into_owned();
    let kept = text.split("\r\n").filter(|line| {
        let name = line.split(':').next().unwrap_or_default();
        !["connection", "keep-alive"].iter().any(|hop| name.eq_ignore_ascii_case(hop))
    });
    let mut bytes = kept.collect::<Vec<_>>().join("\r\n").into_bytes();
    bytes.extend_from_slice(b"\r\nconnection: close\r\n\r\n");
    bytes.extend_from_slice(&message[head..]);
    bytes
}

fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status} Injected\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    format!("{text}\r\n{body}").into_bytes()
}

/// Returns the position at which a response is cut off: in its body, or in its head if the body is empty.
fn middle(answer: &[u8]) -> usize {
    match head_end(answer) {
        Some(head) if head < answer.len() => head + (answer.len() - head) / 2,
        _ => answer.len() / 2,
    }
}

fn head_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

fn header(head: &[u8], name: &str) -> Option<String> {
    let text = std::str::from_utf8(head).ok()?;
    let mut lines = text.split("\r\n").filter_map(|line| line.split_once(':'));
    lines.find(|(held, _)| held.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned())
}

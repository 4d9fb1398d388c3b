//! A receiver of webhooks on loopback, also one that misbehaves.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
    time::timeout,
};

/// The time a test waits for messages.
const PATIENCE: Duration = Duration::from_secs(120);

/// The answer to a message.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A status and a short body.
    Status(u16),
    /// A redirect to this URL.
    Redirect(String),
    /// No answer, on an open connection.
    Hang,
    /// A 200 after a pause.
    Slow(Duration),
    /// A closed connection instead of an answer.
    Reset,
    /// A status and a body without end.
    Endless(u16),
    /// A status and an announced body that is never sent.
    Unfinished(u16),
}

/// A message that arrived.
#[derive(Clone, Debug)]
pub struct Received {
    /// The path of the request.
    pub path: String,
    /// Headers by lower-case name.
    pub headers: HashMap<String, String>,
    /// The body, unchanged.
    pub body: Vec<u8>,
}

impl Received {
    /// Parses the body.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// An HTTP server that keeps the messages it receives. It stops when it is dropped.
pub struct Receiver {
    /// The address it listens on.
    pub address: SocketAddr,
    seen: Arc<ReceiverState>,
    task: JoinHandle<()>,
}

type Script = dyn Fn(usize, &Received) -> Answer + Send + Sync;

/// The state that connections share.
struct ReceiverState {
    script: Box<Script>,
    messages: watch::Sender<Vec<Received>>,
    at_once: AtomicUsize,
    most_at_once: AtomicUsize,
}

impl Receiver {
    /// Starts a receiver at `/hook` whose answer depends on the number of the message, counted from 0.
    pub async fn start(answer: impl Fn(usize) -> Answer + Send + Sync + 'static) -> Receiver {
        Receiver::scripted(move |number, message| {
            assert_eq!(message.path, "/hook");
            answer(number)
        })
        .await
    }

    /// Starts a receiver whose answer depends on the number of the message, counted from 0, and the message.
    pub async fn scripted(script: impl Fn(usize, &Received) -> Answer + Send + Sync + 'static) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (messages, none) = (watch::Sender::default(), AtomicUsize::default);
        let seen =
            Arc::new(ReceiverState { script: Box::new(script), messages, at_once: none(), most_at_once: none() });
        let shared = seen.clone();
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, shared.clone()));
            }
        });
        Receiver { address, seen, task }
    }

    /// Returns the URL of `/hook`.
    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// Returns the messages in the order of their arrival.
    pub fn received(&self) -> Vec<Received> {
        self.seen.messages.borrow().clone()
    }

    /// Returns the largest number of messages that were waiting for an answer concurrently.
    pub fn most_at_once(&self) -> usize {
        self.seen.most_at_once.load(Ordering::SeqCst)
    }

    /// Waits until this many messages have arrived, and returns all.
    pub async fn wait_for(&self, messages: usize) -> Vec<Received> {
        let mut seen = self.seen.messages.subscribe();
        let arrived = timeout(PATIENCE, seen.wait_for(|seen| seen.len() >= messages)).await;
        arrived.unwrap_or_else(|_| panic!("{messages} messages did not arrive")).unwrap().clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, seen: Arc<ReceiverState>) {
    while let Some(message) = read_message(&mut stream).await {
        let mut number = 0;
        seen.messages.send_modify(|messages| {
            number = messages.len();
            messages.push(message.clone());
        });
        let at_once = seen.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        seen.most_at_once.fetch_max(at_once, Ordering::SeqCst);
        let head = match (seen.script)(number, &message) {
            Answer::Status(status) => format!("{status} x\r\ncontent-length: 2\r\n\r\nok"),
            Answer::Redirect(to) => format!("302 x\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n"),
            Answer::Slow(time) => {
                tokio::time::sleep(time).await;
                "200 x\r\ncontent-length: 0\r\n\r\n".to_owned()
            }
            Answer::Hang => std::future::pending().await,
            Answer::Unfinished(status) => {
                let head = format!("HTTP/1.1 {status} x\r\ncontent-length: 2\r\n\r\n");
                let _ = stream.write_all(head.as_bytes()).await;
                seen.at_once.fetch_sub(1, Ordering::SeqCst);
                std::future::pending().await
            }
            Answer::Reset => return,
            Answer::Endless(status) => {
                let chunk = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
                let head = format!("HTTP/1.1 {status} x\r\ntransfer-encoding: chunked\r\n\r\n");
                let _ = stream.write_all(head.as_bytes()).await;
                while stream.write_all(chunk.as_bytes()).await.is_ok() {}
                return;
            }
        };
        seen.at_once.fetch_sub(1, Ordering::SeqCst);
        let _ = stream.write_all(format!("HTTP/1.1 {head}").as_bytes()).await;
    }
}

/// Reads one POST. Returns `None` if the client closes the connection.
async fn read_message(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let text = String::from_utf8(bytes[..head].to_vec()).unwrap();
    let (request, headers) = text.split_once("\r\n").unwrap();
    let path = request.strip_prefix("POST ").and_then(|rest| rest.strip_suffix(" HTTP/1.1"));
    let path = path.unwrap_or_else(|| panic!("{request}")).to_owned();
    let headers: HashMap<String, String> = headers
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length: usize = headers["content-length"].parse().unwrap();
    let mut body = bytes[head + 4..].to_vec();
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some(Received { path, headers, body })
}

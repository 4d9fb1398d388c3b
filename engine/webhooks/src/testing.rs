//! Doubles for tests: receivers on loopback that misbehave on purpose, and a clock that is set by hand.
#![allow(clippy::unwrap_used)]

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use location::time::{Millis, Timestamp};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Status(u16),
    /// A redirect to there.
    Redirect(String),
    /// Takes the message and says nothing.
    Hang,
    /// Takes the message, waits, answers 200.
    Slow(Duration),
    /// Closes the connection in the middle.
    Reset,
    /// This status and a body without end.
    Endless(u16),
    /// This status and a body of which nothing comes.
    Unfinished(u16),
}

#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub headers: HashMap<String, String>,
    pub body: Vec<u8>,
}

impl Received {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// An HTTP server whose answers are a function of the message's number, from 0.
pub(crate) struct Receiver {
    pub address: SocketAddr,
    seen: Arc<Seen>,
    task: tokio::task::JoinHandle<()>,
}

#[derive(Default)]
struct Seen {
    messages: Mutex<Vec<Received>>,
    at_once: AtomicUsize,
    most_at_once: AtomicUsize,
}

impl Receiver {
    pub(crate) async fn start(answer: impl Fn(usize) -> Answer + Send + Sync + 'static) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen::default());
        let (log, answer) = (seen.clone(), Arc::new(answer));
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, log.clone(), answer.clone()));
            }
        });
        Receiver { address, seen, task }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.seen.messages.lock().unwrap().clone()
    }

    pub(crate) fn most_at_once(&self) -> usize {
        self.seen.most_at_once.load(Ordering::SeqCst)
    }

    pub(crate) async fn wait_for(&self, messages: usize) -> Vec<Received> {
        let received = || (self.received().len() >= messages).then(|| self.received());
        eventually(&format!("{messages} messages"), received).await
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, seen: Arc<Seen>, answer: Arc<dyn Fn(usize) -> Answer + Send + Sync>) {
    while let Some(message) = read_message(&mut stream).await {
        let number = {
            let mut messages = seen.messages.lock().unwrap();
            messages.push(message);
            messages.len() - 1
        };
        let at_once = seen.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        seen.most_at_once.fetch_max(at_once, Ordering::SeqCst);
        let head = match answer(number) {
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
    assert!(text.starts_with("POST /hook HTTP/1.1"), "{text}");
    let headers: HashMap<String, String> = text
        .lines()
        .skip(1)
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
    Some(Received { headers, body })
}

/// Looks again and again, for at most ten seconds of real time.
pub(crate) async fn eventually<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    for _ in 0..2_000 {
        if let Some(found) = look() {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("never came to: {what}");
}

/// A clock that stands still until it is set.
#[derive(Clone)]
pub(crate) struct HandClock(Arc<AtomicI64>);

impl HandClock {
    pub(crate) fn at(start: Timestamp) -> HandClock {
        HandClock(Arc::new(AtomicI64::new(start.0)))
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }

    pub(crate) fn set(&self, to: Timestamp) {
        self.0.store(to.0, Ordering::SeqCst);
    }

    pub(crate) fn advance(&self, by: Millis) {
        self.0.fetch_add(by, Ordering::SeqCst);
    }
}

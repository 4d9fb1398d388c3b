//! A simulated workstation with the extension's protocol: it pairs, lends its user's session, and can misbehave in
//! every way that the engine must tolerate.

mod browser;
pub mod gated_process;
pub mod socket;

use std::{
    io,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tokio::{sync::mpsc, task::JoinHandle};

pub use self::browser::{Browser, BrowserEhr, BrowserFailure};
use self::socket::Socket;
use crate::harness::http_client::{Connection, HttpAnswer, request};

/// Maximum number of messages per second, half of them received and half sent.
const TURNS_PER_SECOND: u32 = 80;

/// Time limit for a connection, and pause between two attempts.
const LET_IN: Duration = Duration::from_secs(60);
const COMES_BACK: Duration = Duration::from_millis(100);

/// Handling of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Behaviour {
    Honest,
    /// The answer is sent three times.
    Replayed,
    Delayed(Duration),
    /// The answer is delayed until another request was answered.
    Reordered,
    /// A wrong answer precedes the correct one.
    Forged(Forgery),
    /// Performed, and never answered.
    Silent,
    /// Performed; then the socket breaks without an answer.
    Gone,
    /// The session ends before the request is sent.
    LoggedOutBefore,
    /// Performed; then the session ends and the answer is lost.
    LoggedOutAfter,
    /// Not performed; the answer has this number of bytes.
    Huge(usize),
    /// Not performed; the answer is the login page with status 200.
    LoginPage,
    /// Not performed; the answer is a redirect to another host.
    Redirected,
    /// The staff declines the write.
    Declined,
    /// The extension refuses the request.
    Refused,
    /// Performed; the answer has a date of another year.
    Skewed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgery {
    Lease,
    Number,
    Location,
}

type Judge = Box<dyn FnMut(&Value) -> Behaviour + Send>;

/// Events at a workstation, visible to the test.
#[derive(Default)]
pub struct Seen {
    /// Requests in order of arrival.
    pub requests: Vec<Value>,
    pub leases: Vec<Option<u64>>,
    pub bye: Option<String>,
    /// The latest report on waiting writes.
    pub queue: Option<Value>,
}

/// A paired workstation. Its token outlives its sockets.
pub struct TestWorkstation {
    address: SocketAddr,
    pub token: String,
    pub id: String,
    pub install: String,
    pub ehr: BrowserEhr,
    pub browser: Arc<Browser>,
    approval: bool,
    approved: Arc<Mutex<Vec<String>>>,
    judge: Arc<Mutex<Judge>>,
    seen: Arc<Mutex<Seen>>,
}

/// An open connection, which is broken when dropped.
pub struct Running {
    task: JoinHandle<()>,
    orders: mpsc::UnboundedSender<Order>,
    seen: Arc<Mutex<Seen>>,
}

enum Order {
    State { logged_in: bool, paused: bool },
    Raw(String),
    Approve,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Exchanges a pairing code for a token and returns the answer.
pub async fn exchange(address: SocketAddr, code: &str, name: &str, install: &str) -> io::Result<HttpAnswer> {
    let body = json!({"code": code, "name": name, "install": install}).to_string();
    let headers = [("content-type", "application/json"), ("origin", socket::ORIGIN)];
    let sent = request("POST", "/workstations/pair", &headers, body.as_bytes());
    Connection::open(address).await?.send(&sent).await
}

fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

impl TestWorkstation {
    pub async fn pair(address: SocketAddr, code: &str, name: &str) -> io::Result<TestWorkstation> {
        let install = uuid::Uuid::new_v4().to_string();
        let answer = exchange(address, code, name, &install).await?;
        let paired = answer.json();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let (Some(token), Some(id)) = (text(&paired["token"]), text(&paired["workstation"])) else {
            return Err(io::Error::other(format!("not paired: {} {paired}", answer.status)));
        };
        let honest: Judge = Box::new(|_| Behaviour::Honest);
        Ok(TestWorkstation {
            address,
            token,
            id,
            install,
            ehr: BrowserEhr::from_json(&paired["ehr"]),
            browser: Arc::default(),
            approval: false,
            approved: Arc::default(),
            judge: Arc::new(Mutex::new(honest)),
            seen: Arc::default(),
        })
    }

    /// Handles future requests as `judge` decides.
    pub fn behave(&self, judge: impl FnMut(&Value) -> Behaviour + Send + 'static) {
        *locked(&self.judge) = Box::new(judge);
    }

    /// Makes writes wait for the staff's approval.
    pub fn asks_staff(self) -> TestWorkstation {
        TestWorkstation { approval: true, ..self }
    }

    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        locked(&self.seen)
    }

    /// Opens an authenticated socket.
    pub async fn socket(&self) -> io::Result<Socket> {
        self.welcomed().await.map(|(socket, _)| socket)
    }

    /// Opens an authenticated socket and returns the engine's welcome message, too.
    async fn welcomed(&self) -> io::Result<(Socket, Value)> {
        let mut socket = Socket::open(self.address).await?;
        socket.hello(&self.token).await?;
        match tokio::time::timeout(LET_IN, socket.receive()).await.ok().flatten() {
            Some(message) if message["type"] == "welcome" => Ok((socket, message)),
            Some(message) if message["reason"] == "shutdown" => Err(io::ErrorKind::ConnectionAborted.into()),
            message => Err(io::Error::other(format!("no welcome, but {message:?}"))),
        }
    }

    /// Reconnects after rejections, like the extension: the location's adapter may still be in preparation.
    async fn let_in(&self) -> io::Result<(Socket, Value)> {
        let since = Instant::now();
        loop {
            match self.welcomed().await {
                Err(away) if away.kind() == io::ErrorKind::ConnectionAborted && since.elapsed() < LET_IN => {
                    tokio::time::sleep(COMES_BACK).await;
                }
                ended => return ended,
            }
        }
    }

    /// Connects, reports the login state and handles requests.
    pub async fn start(&self) -> io::Result<Running> {
        let (mut socket, welcome) = self.let_in().await?;
        // The welcome message may contain more than the pairing, if the adapter was not ready then.
        let ehr = BrowserEhr::from_json(&welcome["ehr"]);
        let logged_in = self.browser.logged_in(&ehr).await;
        socket.state(logged_in, false).await?;
        let (orders, taken) = mpsc::unbounded_channel();
        let (answers, ready) = mpsc::unbounded_channel();
        let work = Work {
            ehr,
            browser: self.browser.clone(),
            approval: self.approval,
            approved: self.approved.clone(),
            judge: self.judge.clone(),
            seen: self.seen.clone(),
            answers,
            kept: Arc::default(),
            lease: None,
        };
        let task = tokio::spawn(work.run(socket, taken, ready));
        Ok(Running { task, orders, seen: self.seen.clone() })
    }
}

impl Running {
    pub fn state(&self, logged_in: bool, paused: bool) {
        let _ = self.orders.send(Order::State { logged_in, paused });
    }

    pub fn raw(&self, message: &Value) {
        let _ = self.orders.send(Order::Raw(message.to_string()));
    }

    /// Approves all waiting writes.
    pub fn approve(&self) {
        let _ = self.orders.send(Order::Approve);
    }

    pub fn ended(&self) -> bool {
        self.task.is_finished()
    }

    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        locked(&self.seen)
    }
}

/// The result of a request.
enum Reply {
    /// Messages to send, in order.
    Messages(Vec<Value>),
    /// The message, after the session was found to have ended.
    LoggedOut(Value),
    Break,
}

struct Work {
    ehr: BrowserEhr,
    browser: Arc<Browser>,
    approval: bool,
    /// Ids of approved writes.
    approved: Arc<Mutex<Vec<String>>>,
    judge: Arc<Mutex<Judge>>,
    seen: Arc<Mutex<Seen>>,
    answers: mpsc::UnboundedSender<Reply>,
    /// An answer to be sent after another one.
    kept: Arc<Mutex<Vec<Value>>>,
    lease: Option<u64>,
}

impl Work {
    async fn run(
        mut self,
        mut socket: Socket,
        mut orders: mpsc::UnboundedReceiver<Order>,
        mut answers: mpsc::UnboundedReceiver<Reply>,
    ) {
        let (mut waiting, mut pace) = (Vec::new(), Pace::default());
        loop {
            pace.rest().await;
            let sent = tokio::select! {
                message = socket.receive() => {
                    let Some(message) = message else { return };
                    match message["type"].as_str().unwrap_or_default() {
                        "ping" => socket.send(&json!({"type": "pong", "n": message["n"]})).await,
                        "lease" => {
                            self.lease = message["lease"].as_u64();
                            locked(&self.seen).leases.push(self.lease);
                            Ok(())
                        }
                        "queue" => {
                            locked(&self.seen).queue = Some(message);
                            Ok(())
                        }
                        "bye" => {
                            locked(&self.seen).bye = message["reason"].as_str().map(str::to_owned);
                            return;
                        }
                        "request" => {
                            self.taken(message, &mut waiting);
                            Ok(())
                        }
                        _ => Ok(()),
                    }
                }
                received = answers.recv() => match received {
                    None | Some(Reply::Break) => return,
                    Some(Reply::Messages(messages)) => all(&mut socket, messages).await,
                    Some(Reply::LoggedOut(answer)) => match socket.state(false, false).await {
                        Ok(()) => socket.send(&answer).await,
                        broken => broken,
                    },
                },
                order = orders.recv() => match order {
                    None => return,
                    Some(Order::State { logged_in, paused }) => socket.state(logged_in, paused).await,
                    Some(Order::Raw(text)) => socket.send_text(text).await,
                    Some(Order::Approve) => {
                        let writes = std::mem::take(&mut waiting);
                        locked(&self.approved).extend(writes.iter().cloned());
                        let none = json!({"type": "state", "session": "in", "paused": false, "awaiting": 0});
                        all(&mut socket, vec![json!({"type": "approved", "writes": writes}), none]).await
                    }
                },
            };
            if sent.is_err() {
                return;
            }
        }
    }

    /// Handles a request concurrently with others.
    fn taken(&self, request: Value, waiting: &mut Vec<String>) {
        locked(&self.seen).requests.push(request.clone());
        if request["lease"].as_u64() != self.lease {
            return;
        }
        let write = request["write"]["id"].as_str().map(str::to_owned);
        if let Some(id) = write.filter(|id| self.approval && !locked(&self.approved).contains(id)) {
            if !waiting.contains(&id) {
                waiting.push(id);
            }
            let failed = Err(BrowserFailure { kind: "approval", reason: "waits for the staff".to_owned() });
            let state = json!({"type": "state", "session": "in", "paused": false, "awaiting": waiting.len()});
            let _ = self.answers.send(Reply::Messages(vec![about(&request, failed), state]));
            return;
        }
        let manner = (locked(&self.judge))(&request);
        let (ehr, browser) = (self.ehr.clone(), self.browser.clone());
        let (answers, kept) = (self.answers.clone(), self.kept.clone());
        tokio::spawn(async move {
            let answer = dealt_with(&ehr, &browser, &request, manner, &kept).await;
            let _ = answers.send(answer);
        });
    }
}

/// Limits frames like the extension: the engine closes a connection with more than fifty frames per second.
struct Pace {
    second: Instant,
    turns: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Pace { second: Instant::now(), turns: 0 }
    }
}

impl Pace {
    async fn rest(&mut self) {
        if self.second.elapsed() >= Duration::from_secs(1) {
            *self = Pace::default();
        }
        self.turns += 1;
        if self.turns > TURNS_PER_SECOND {
            tokio::time::sleep_until((self.second + Duration::from_secs(1)).into()).await;
            *self = Pace::default();
        }
    }
}

async fn all(socket: &mut Socket, messages: Vec<Value>) -> io::Result<()> {
    for message in messages {
        socket.send(&message).await?;
    }
    Ok(())
}

async fn dealt_with(
    ehr: &BrowserEhr,
    browser: &Browser,
    request: &Value,
    manner: Behaviour,
    kept: &Mutex<Vec<Value>>,
) -> Reply {
    let failed = |kind, reason: &str| about(request, Err(BrowserFailure { kind, reason: reason.to_owned() }));
    match manner {
        Behaviour::Honest => {
            if !browser.logged_in(ehr).await {
                return Reply::LoggedOut(failed("logged_out", "the probe says so"));
            }
            match browser.perform(ehr, request).await {
                Err(BrowserFailure { reason, .. }) if reason == "logged out" => {
                    Reply::LoggedOut(failed("no_answer", "logged out"))
                }
                result => {
                    let mut messages = vec![about(request, result)];
                    messages.append(&mut locked(kept));
                    Reply::Messages(messages)
                }
            }
        }
        Behaviour::Replayed => Reply::Messages(vec![performed(ehr, browser, request).await; 3]),
        Behaviour::Delayed(time) => {
            let answer = performed(ehr, browser, request).await;
            tokio::time::sleep(time).await;
            Reply::Messages(vec![answer])
        }
        Behaviour::Reordered => {
            let answer = performed(ehr, browser, request).await;
            locked(kept).push(answer);
            Reply::Messages(Vec::new())
        }
        Behaviour::Forged(forgery) => {
            let answer = performed(ehr, browser, request).await;
            Reply::Messages(vec![forged(&answer, forgery), answer])
        }
        Behaviour::Silent => {
            performed(ehr, browser, request).await;
            Reply::Messages(Vec::new())
        }
        Behaviour::Gone => {
            performed(ehr, browser, request).await;
            Reply::Break
        }
        Behaviour::LoggedOutBefore => {
            browser.forget();
            Reply::LoggedOut(failed("logged_out", "the probe says so"))
        }
        Behaviour::LoggedOutAfter => {
            performed(ehr, browser, request).await;
            browser.forget();
            Reply::LoggedOut(failed("no_answer", "logged out"))
        }
        Behaviour::Huge(bytes) => Reply::Messages(vec![made_up(request, 200, "application/json", &vec![b'x'; bytes])]),
        Behaviour::LoginPage => {
            Reply::Messages(vec![made_up(request, 200, "text/html", b"<!doctype html><form action=/login></form>")])
        }
        Behaviour::Redirected => {
            let mut answer = made_up(request, 302, "text/html", b"");
            answer["headers"] = json!([["location", "https://elsewhere.example/"]]);
            Reply::Messages(vec![answer])
        }
        Behaviour::Refused => Reply::Messages(vec![failed("refused", "the path is not granted")]),
        Behaviour::Skewed => {
            let mut answer = performed(ehr, browser, request).await;
            let date = json!(["date", "Thu, 01 Jan 1970 00:00:00 GMT"]);
            if let Some(headers) = answer["headers"].as_array_mut() {
                headers.retain(|header| header[0] != "date");
                headers.push(date);
            }
            Reply::Messages(vec![answer])
        }
        Behaviour::Declined => Reply::Messages(vec![failed("declined", "the staff said no")]),
    }
}

async fn performed(ehr: &BrowserEhr, browser: &Browser, request: &Value) -> Value {
    about(request, browser.perform(ehr, request).await)
}

/// Returns the message with the result of a request.
pub fn about(request: &Value, result: Result<Value, BrowserFailure>) -> Value {
    let mut message = match result {
        Ok(answer) => answer,
        Err(failure) => json!({"kind": failure.kind, "reason": failure.reason}),
    };
    message["type"] = json!(if message.get("kind").is_some() { "failure" } else { "answer" });
    for field in ["lease", "number", "location"] {
        message[field] = request[field].clone();
    }
    message
}

/// Returns an answer that does not come from the EHR.
pub fn made_up(request: &Value, status: u16, kind: &str, body: &[u8]) -> Value {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let answer = json!({"status": status, "headers": [["content-type", kind]], "body": STANDARD.encode(body)});
    about(request, Ok(answer))
}

fn forged(answer: &Value, forgery: Forgery) -> Value {
    let field = match forgery {
        Forgery::Lease => "lease",
        Forgery::Number => "number",
        Forgery::Location => "location",
    };
    let mut forged = answer.clone();
    forged[field] = json!(answer[field].as_u64().unwrap_or_default() + 1);
    // The status reveals whether the engine accepted the answer.
    forged["status"] = json!(500);
    forged
}

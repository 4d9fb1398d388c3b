//! Playback of responses recorded from a real GNU Health server; each request must equal the recorded one. With
//! `GNUHEALTH_RECORD=host:port` the requests are sent to that server (`tests/gnuhealth/server.py`, on a fresh practice)
//! and the fixtures are written again:
//!
//! ```text
//! GNUHEALTH_RECORD=127.0.0.1:PORT cargo test -p gnuhealth-adapter --test gnuhealth stories:: -- --test-threads 1
//! ```

use std::{
    cell::RefCell,
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::PathBuf,
    rc::Rc,
};

use adapter_sdk::{
    http::{Error, Header, Method, Request, Response},
    testing::Host,
};
use serde_json::{Value, json};

/// 2026-11-21T08:00:00Z, so that requests with the current time are reproducible.
pub const NOW: i64 = 1_795_248_000;
/// `practice-sync` and the password of the tests' practice.
const CREDENTIALS: &str = "cHJhY3RpY2Utc3luYzpzM2NyZXQtb2YtdGhlLWNsaW5pYw==";
const TYPES: &str = r#"[{"id":"CHECKUP","name":"Check-up","minutes":30}]"#;

#[derive(Clone)]
pub struct Tape(Rc<RefCell<Reel>>);

struct Reel {
    path: PathBuf,
    exchanges: Vec<Value>,
    at: usize,
    recording: Option<String>,
}

impl Tape {
    pub fn open(name: &str) -> Tape {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(format!("{name}.json"));
        let recording = std::env::var("GNUHEALTH_RECORD").ok();
        let exchanges = match recording {
            Some(_) => Vec::new(),
            None => serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap(),
        };
        Tape(Rc::new(RefCell::new(Reel { path, exchanges, at: 0, recording })))
    }

    /// Runs a call of the adapter.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let reel = self.0.clone();
        let host = Host::new()
            .manifest(include_str!("../../adapter.toml"))
            .at(NOW)
            .offset_seconds(-5 * 3_600)
            .config("location", "1")
            .config("country", "US");
        let host = host.config("appointment_types", TYPES);
        host.answer(move |request| reel.borrow_mut().answer(request)).run(work)
    }

    /// A call by staff, also recorded.
    pub fn staff(&self, method: &str, params: Value) -> Value {
        let body = json!({"id": 1, "method": method, "params": params}).to_string().into_bytes();
        let request = Request { method: Method::Post, path: "/".into(), headers: Vec::new(), body: Some(body) };
        let answer = self.0.borrow_mut().answer(&request).unwrap();
        let mut body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert!(body.get("result").is_some(), "{method}: {body}");
        body["result"].take()
    }

    /// Checks that every recorded request was made, or saves the recording.
    pub fn end(self) {
        let reel = self.0.borrow();
        if reel.recording.is_some() {
            fs::write(&reel.path, format!("{:#}\n", Value::Array(reel.exchanges.clone()))).unwrap();
        }
        assert_eq!(reel.at, reel.exchanges.len());
    }
}

impl Reel {
    fn answer(&mut self, request: &Request) -> Result<Response, Error> {
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/"));
        let asked: Value = serde_json::from_slice(request.body.as_deref().unwrap()).unwrap();
        if let Some(server) = self.recording.clone() {
            let (status, date, answer) = ask(&server, request.body.as_deref().unwrap());
            let asked = json!({"method": asked["method"], "params": asked["params"]});
            self.exchanges.push(json!({"asked": asked, "status": status, "date": date, "answered": answer}));
        }
        let exchange = self.exchanges.get(self.at).unwrap_or_else(|| panic!("not recorded: {asked}"));
        self.at += 1;
        assert_eq!(exchange["asked"]["method"], asked["method"]);
        assert_eq!(exchange["asked"]["params"], asked["params"]);
        let status = u16::try_from(exchange["status"].as_u64().unwrap()).unwrap();
        let headers = vec![Header::new("date", exchange["date"].as_str().unwrap())];
        Ok(Response { status, headers, body: exchange["answered"].to_string().into_bytes() })
    }
}

fn ask(server: &str, body: &[u8]) -> (u16, String, Value) {
    let mut stream = TcpStream::connect(server).unwrap();
    let head = format!(
        "POST /gnuhealth/ HTTP/1.1\r\nhost: {server}\r\nauthorization: Basic {CREDENTIALS}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let text = String::from_utf8(answer).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let date = head.lines().find_map(|line| line.strip_prefix("Date: ")).unwrap_or_default().to_owned();
    (status, date, serde_json::from_str(body).unwrap_or(Value::Null))
}

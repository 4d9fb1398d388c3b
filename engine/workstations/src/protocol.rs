//! The messages of `adapters/extension/PROTOCOL.md`, version 1. Unknown fields are ignored, unknown messages are an
//! error.

use std::fmt;

use adapter_host::WriteTag;
use records::sync_state::LastWrite;
use serde::{Deserialize, Serialize};

use super::limits::{FRAME_BYTES, HEADERS};

pub const VERSION: u32 = 1;
/// The WebSocket's subprotocol.
pub const SUBPROTOCOL: &str = "practice-sync.workstation.v1";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromWorkstation {
    Hello(Hello),
    State(WorkstationState),
    Answer(RequestAnswer),
    Failure(Failure),
    /// The staff decided about these writes.
    Approved {
        #[serde(default)]
        writes: Vec<String>,
    },
    Pong {
        n: u64,
    },
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub token: String,
    #[serde(default)]
    pub extension: String,
}

impl fmt::Debug for Hello {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hello({:?}, redacted)", self.extension)
    }
}

/// The login state of the EHR session at a workstation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Login {
    In,
    Out,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkstationState {
    pub session: Login,
    #[serde(default)]
    pub paused: bool,
    /// Writes that wait for the staff's approval.
    #[serde(default)]
    pub awaiting: u32,
}

/// The request that an answer claims to belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestRef {
    pub lease: u64,
    pub number: u64,
    pub location: u32,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestAnswer {
    #[serde(flatten)]
    pub claim: RequestRef,
    pub status: u16,
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    #[serde(default, with = "base64_text")]
    pub body: Vec<u8>,
}

/// Omits the EHR's response, which may contain patient data.
impl fmt::Debug for RequestAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestAnswer({:?}, {}, {} bytes, redacted)", self.claim, self.status, self.body.len())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    #[serde(flatten)]
    pub claim: RequestRef,
    pub kind: FailureKind,
    #[serde(default)]
    pub reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    NotSent,
    NoAnswer,
    Refused,
    LoggedOut,
    Approval,
    Declined,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToWorkstation {
    Welcome(Welcome),
    /// The lease under which this workstation gets the requests from now on; `None` if it is on standby.
    Lease {
        lease: Option<u64>,
    },
    Request(Request),
    Queue(Queue),
    Ping {
        n: u64,
    },
    /// The connection ends now.
    Bye {
        reason: ByeReason,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    pub protocol: u32,
    pub workstation: uuid::Uuid,
    pub location: LocationName,
    pub ehr: EhrAccess,
    pub approval: bool,
    pub heartbeat_seconds: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocationName {
    pub id: u32,
    pub name: String,
}

/// The web application and the paths that may be requested.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EhrAccess {
    /// `https://ehr.example`.
    pub origin: String,
    /// `/app`, or empty.
    pub base_path: String,
    /// Prefixes below the base path.
    pub paths: Vec<String>,
    /// A path below the base path that returns 200 with JSON if and only if a user is logged in.
    pub probe: String,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    #[serde(flatten)]
    pub claim: RequestRef,
    pub method: String,
    /// Path and query below the base path.
    pub path: String,
    pub headers: Vec<(String, String)>,
    #[serde(with = "base64_or_null")]
    pub body: Option<Vec<u8>>,
    pub deadline_ms: u64,
    pub max_body: usize,
    /// `None` for reads.
    pub write: Option<WriteTag>,
}

/// Omits the path and body, which may contain patient data.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({:?}, {}, redacted)", self.claim, self.method)
    }
}

/// Figures for the extension's popup, without patient data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    pub waiting: u64,
    pub oldest_seconds: u64,
    pub last: Vec<LastWrite>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum ByeReason {
    #[error("the token is unknown or revoked")]
    Token,
    #[error("the workstation was revoked")]
    Revoked,
    #[error("the installation connected or was paired again")]
    Replaced,
    #[error("invalid message")]
    Protocol,
    #[error("too many or too large frames")]
    Flood,
    #[error("the engine is shutting down")]
    Shutdown,
}

impl FromWorkstation {
    /// Reads one text frame.
    pub fn parse(frame: &str) -> Result<FromWorkstation, ByeReason> {
        if frame.len() > FRAME_BYTES {
            return Err(ByeReason::Flood);
        }
        match serde_json::from_str(frame) {
            Ok(FromWorkstation::Answer(answer)) if answer.headers.len() > HEADERS => Err(ByeReason::Protocol),
            Ok(message) => Ok(message),
            Err(_) => Err(ByeReason::Protocol),
        }
    }
}

impl ToWorkstation {
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("messages have string keys and serialise")
    }
}

mod base64_text {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(from)?;
        STANDARD.decode(text.as_bytes()).map_err(|_| D::Error::custom("not base64"))
    }
}

mod base64_or_null {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(bytes: &Option<Vec<u8>>, to: S) -> Result<S::Ok, S::Error> {
        bytes.as_ref().map(|bytes| STANDARD.encode(bytes)).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<u8>>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| STANDARD.decode(text).map_err(|_| D::Error::custom("not base64"))).transpose()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};

    use super::*;

    const CLAIM: RequestRef = RequestRef { lease: 7, number: 3, location: 101 };

    fn parsed(message: Value) -> FromWorkstation {
        let read = FromWorkstation::parse(&message.to_string()).unwrap();
        let again = serde_json::to_string(&read).unwrap();
        assert_eq!(FromWorkstation::parse(&again), Ok(read.clone()), "what is written is read again");
        read
    }

    #[test]
    fn messages_of_an_extension_are_parsed() {
        let hello = parsed(json!({"type": "hello", "token": "psw_1", "extension": "1.0.0", "new": [1]}));
        assert_eq!(hello, FromWorkstation::Hello(Hello { token: "psw_1".into(), extension: "1.0.0".into() }));
        assert!(!format!("{hello:?}").contains("psw_1"), "tokens are not printed");
        let state = parsed(json!({"type": "state", "session": "in", "paused": false, "awaiting": 2}));
        let FromWorkstation::State(state) = state else { panic!("a state") };
        assert_eq!((state.session, state.paused, state.awaiting), (Login::In, false, 2));
        let answer = json!({"type": "answer", "lease": 7, "number": 3, "location": 101, "status": 200,
            "headers": [["Content-Type", "application/json"]], "body": "e30="});
        let FromWorkstation::Answer(answer) = parsed(answer) else { panic!("an answer") };
        assert_eq!((answer.claim, answer.status, &answer.body[..]), (CLAIM, 200, &b"{}"[..]));
        assert!(!format!("{answer:?}").contains("{}"), "bodies are not printed");
        for kind in ["not_sent", "no_answer", "refused", "logged_out", "approval", "declined"] {
            let failure =
                json!({"type": "failure", "lease": 7, "number": 3, "location": 101, "kind": kind, "reason": "r"});
            let FromWorkstation::Failure(failure) = parsed(failure) else { panic!("a failure") };
            assert_eq!((failure.claim, json!(failure.kind)), (CLAIM, json!(kind)));
        }
        parsed(json!({"type": "approved", "writes": ["w", "w2"]}));
        parsed(json!({"type": "pong", "n": 3}));
    }

    #[test]
    fn invalid_messages_end_the_connection() {
        let answer = |with: Value| {
            let mut answer = json!({"type": "answer", "lease": 7, "number": 3, "location": 101, "status": 200});
            answer.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
            answer
        };
        for message in [
            json!({"type": "whisper"}),
            json!({"token": "psw_1"}),
            json!([]),
            json!({"type": "state", "session": "perhaps"}),
            answer(json!({"lease": -1})),
            answer(json!({"lease": null})),
            answer(json!({"lease": 1.5})),
            answer(json!({"status": 70_000})),
            answer(json!({"body": "not base64!"})),
            answer(json!({"headers": vec![["a", "b"]; HEADERS + 1]})),
        ] {
            assert_eq!(FromWorkstation::parse(&message.to_string()), Err(ByeReason::Protocol), "{message}");
        }
        let huge = answer(json!({"body": "A".repeat(FRAME_BYTES)}));
        assert_eq!(FromWorkstation::parse(&huge.to_string()), Err(ByeReason::Flood));
        let most = answer(json!({"body": "A".repeat(8 * 1024 * 1024 / 3 * 4)}));
        assert!(FromWorkstation::parse(&most.to_string()).is_ok());
    }

    #[test]
    fn messages_of_the_engine_match_the_protocol() {
        let ehr = EhrAccess {
            origin: "https://ehr.example".into(),
            base_path: "/app".into(),
            paths: vec!["/api/".into()],
            probe: "/api/session".into(),
        };
        let workstation = uuid::Uuid::nil();
        let location = LocationName { id: 101, name: "Main Street".into() };
        let welcome = Welcome { protocol: VERSION, workstation, location, ehr, approval: true, heartbeat_seconds: 20 };
        let tag = WriteTag { id: "w".into(), kind: "appointment-insert".into(), at: Some("2026-12-01T09:00".into()) };
        let request = Request {
            claim: CLAIM,
            method: "POST".into(),
            path: "/api/visits?x=1".into(),
            headers: vec![("accept".into(), "application/json".into())],
            body: Some(b"{}".to_vec()),
            deadline_ms: 1_500,
            max_body: 8 << 20,
            write: Some(tag),
        };
        let read = Request { body: None, write: None, ..request.clone() };
        for (message, text) in [
            (
                ToWorkstation::Welcome(welcome),
                json!({"type": "welcome", "protocol": 1, "workstation": workstation,
                    "location": {"id": 101, "name": "Main Street"},
                    "ehr": {"origin": "https://ehr.example", "base_path": "/app", "paths": ["/api/"], "probe": "/api/session"},
                    "approval": true, "heartbeat_seconds": 20}),
            ),
            (ToWorkstation::Lease { lease: Some(7) }, json!({"type": "lease", "lease": 7})),
            (ToWorkstation::Lease { lease: None }, json!({"type": "lease", "lease": null})),
            (
                ToWorkstation::Request(request),
                json!({"type": "request", "lease": 7, "number": 3, "location": 101, "method": "POST",
                    "path": "/api/visits?x=1", "headers": [["accept", "application/json"]], "body": "e30=",
                    "deadline_ms": 1_500, "max_body": 8 << 20,
                    "write": {"id": "w", "kind": "appointment-insert", "at": "2026-12-01T09:00"}}),
            ),
            (
                ToWorkstation::Request(read),
                json!({"type": "request", "lease": 7, "number": 3, "location": 101, "method": "POST",
                    "path": "/api/visits?x=1", "headers": [["accept", "application/json"]], "body": null,
                    "deadline_ms": 1_500, "max_body": 8 << 20, "write": null}),
            ),
            (
                ToWorkstation::Queue(Queue::default()),
                json!({"type": "queue", "waiting": 0, "oldest_seconds": 0, "last": []}),
            ),
            (ToWorkstation::Ping { n: 4 }, json!({"type": "ping", "n": 4})),
            (ToWorkstation::Bye { reason: ByeReason::Replaced }, json!({"type": "bye", "reason": "replaced"})),
        ] {
            assert_eq!(serde_json::from_str::<Value>(&message.text()).unwrap(), text);
            assert_eq!(serde_json::from_value::<ToWorkstation>(text).unwrap(), message);
        }
    }
}

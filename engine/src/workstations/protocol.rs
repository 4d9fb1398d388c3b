//! The words of `adapters/extension/PROTOCOL.md`, version 1. Unknown fields are ignored, unknown messages are an error.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::limits::{FRAME_BYTES, HEADERS};
use crate::adapter_host::WriteTag;

pub const VERSION: u32 = 1;
/// The WebSocket's subprotocol.
pub const SUBPROTOCOL: &str = "practice-sync.workstation.v1";

/// What a workstation says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromWorkstation {
    Hello(Hello),
    State(State),
    Answer(Answer),
    Failure(Failure),
    /// The staff said yes to these writes.
    Approved {
        #[serde(default)]
        writes: Vec<Approved>,
    },
    Pong {
        n: u64,
    },
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub token: String,
    /// The extension's version.
    #[serde(default)]
    pub extension: String,
}

impl fmt::Debug for Hello {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hello({:?}, redacted)", self.extension)
    }
}

/// How the EHR's session stands at a workstation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Login {
    In,
    Out,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    pub session: Login,
    #[serde(default)]
    pub paused: bool,
    #[serde(default)]
    pub awaiting: Awaiting,
}

/// Writes that wait for the staff's yes: how many, or which.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Awaiting {
    Count(u32),
    Writes(Vec<Approved>),
}

impl Default for Awaiting {
    fn default() -> Awaiting {
        Awaiting::Count(0)
    }
}

impl Awaiting {
    pub fn count(&self) -> u32 {
        match self {
            Awaiting::Count(count) => *count,
            Awaiting::Writes(writes) => u32::try_from(writes.len()).unwrap_or(u32::MAX),
        }
    }
}

/// A write the staff was asked about, by its id or whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Approved {
    Id(String),
    Write { id: String },
}

/// Which request an answer claims to be for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub lease: u64,
    pub number: u64,
    pub location: u32,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    #[serde(flatten)]
    pub claim: Claim,
    pub status: u16,
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    #[serde(default, with = "base64_text")]
    pub body: Vec<u8>,
}

/// What an EHR says can hold patient data.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Answer({:?}, {}, {} bytes, redacted)", self.claim, self.status, self.body.len())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    #[serde(flatten)]
    pub claim: Claim,
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

/// What the engine says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToWorkstation {
    Welcome(Welcome),
    /// This workstation does the work from now on; none: it stands by.
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
    pub location: Place,
    pub ehr: EhrAccess,
    pub approval: bool,
    pub heartbeat_seconds: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub id: u32,
    pub name: String,
}

/// What of which web application may be asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EhrAccess {
    /// `https://ehr.example`.
    pub origin: String,
    /// `/app`, or nothing.
    pub base_path: String,
    /// Prefixes below the base path.
    pub paths: Vec<String>,
    /// A path below the base path that answers 200 with JSON exactly while somebody is logged in.
    pub probe: String,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    #[serde(flatten)]
    pub claim: Claim,
    pub method: String,
    /// Path and query below the base path.
    pub path: String,
    pub headers: Vec<(String, String)>,
    #[serde(with = "base64_or_null")]
    pub body: Option<Vec<u8>>,
    pub deadline_ms: u64,
    pub max_body: usize,
    /// None for what only reads.
    pub write: Option<WriteTag>,
}

/// Paths and bodies can hold patient data.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({:?}, {}, redacted)", self.claim, self.method)
    }
}

/// For the extension's popup. No patient data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    pub waiting: u64,
    pub oldest_seconds: u64,
    pub last: Vec<LastWrite>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastWrite {
    pub kind: String,
    /// Local time of the appointment it is about.
    pub at: Option<String>,
    /// `written` or `failed`.
    pub state: String,
    /// RFC 3339, by the engine's clock.
    pub when: String,
}

/// Why a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum ByeReason {
    #[error("the token is not, or no more, that of a workstation")]
    Token,
    #[error("the workstation was revoked")]
    Revoked,
    #[error("the same installation connected again, or was paired again")]
    Replaced,
    #[error("a message is not one of the protocol")]
    Protocol,
    #[error("too many or too large frames")]
    Flood,
    #[error("the engine stops")]
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

    pub fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(from)?;
        STANDARD.decode(text.as_bytes()).map_err(|_| D::Error::custom("not base64"))
    }
}

mod base64_or_null {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub fn serialize<S: Serializer>(bytes: &Option<Vec<u8>>, to: S) -> Result<S::Ok, S::Error> {
        bytes.as_ref().map(|bytes| STANDARD.encode(bytes)).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<u8>>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| STANDARD.decode(text).map_err(|_| D::Error::custom("not base64"))).transpose()
    }
}

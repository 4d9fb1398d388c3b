//! The way through the session of a staff member who is logged in at a workstation, as an adapter's calls see it.

use std::{fmt, future::Future, pin::Pin, time::Duration};

use serde::{Deserialize, Serialize};

use super::transport::HttpResponse;

/// What a request is part of, for the staff who approve it. No patient data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteTag {
    /// The same over all tries of a write.
    pub id: String,
    /// Such as `appointment-insert`.
    pub kind: String,
    /// The appointment's local time.
    #[serde(default)]
    pub at: Option<String>,
}

/// A request below the location's base URL. No credentials: the session has them.
#[derive(Clone, PartialEq, Eq)]
pub struct GateRequest {
    /// GET, POST, PUT, PATCH or DELETE.
    pub method: String,
    /// Path and query below the base URL.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
    /// Longest body of an answer.
    pub max_response_body: usize,
    /// None for what only reads.
    pub write: Option<WriteTag>,
}

/// Paths and bodies can hold patient data.
impl fmt::Debug for GateRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GateRequest({}, {:?}, redacted)", self.method, self.write)
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// The EHR cannot have seen it: no workstation, nobody logged in, no turn in time.
    #[error("not sent: {0}")]
    NotSent(String),
    /// Not sent: the staff has to say yes first.
    #[error("not sent: {0}")]
    Approval(String),
    /// The EHR may have seen it and acted upon it.
    #[error("no answer: {0}")]
    NoAnswer(String),
    /// The workstation does not allow it.
    #[error("refused: {0}")]
    Refused(String),
    /// The staff said no.
    #[error("declined: {0}")]
    Declined(String),
}

pub type GateFuture<'a> = Pin<Box<dyn Future<Output = Result<HttpResponse, GateError>> + Send + 'a>>;

/// Sends a request once. It runs on the adapter host's threads and must not block them.
pub trait Gate: Send + Sync + 'static {
    fn is_open(&self) -> bool;
    fn send(&self, request: GateRequest, deadline: Duration) -> GateFuture<'_>;
}

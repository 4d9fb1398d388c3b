//! The gate of an adapter's calls: requests through the session of a staff member logged in at a workstation.

use std::{fmt, future::Future, pin::Pin, time::Duration};

use serde::{Deserialize, Serialize};

use super::HttpResponse;

/// The write to which a request belongs, for the staff who approve it. Contains no patient data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteTag {
    /// The same for all tries of a write.
    pub id: String,
    /// For example `appointment-insert`.
    pub kind: String,
    /// The appointment's local time.
    #[serde(default)]
    pub at: Option<String>,
}

/// A request below the location's base URL, without credentials: the session has them.
#[derive(Clone, PartialEq, Eq)]
pub struct GateRequest {
    /// GET, POST, PUT, PATCH or DELETE.
    pub method: String,
    /// Path and query below the base URL.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
    /// Maximum length of a response body.
    pub max_response_body: usize,
    /// `None` for reads.
    pub write: Option<WriteTag>,
}

/// Omits the path and body, which may contain patient data.
impl fmt::Debug for GateRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GateRequest({}, {:?}, redacted)", self.method, self.write)
    }
}

/// The reason why there is no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// The EHR cannot have received the request: no workstation, no login, or no permit in time.
    #[error("not sent: {0}")]
    NotSent(String),
    /// Not sent: the staff must approve the write first.
    #[error("not sent: {0}")]
    Approval(String),
    /// The EHR may have received and processed the request.
    #[error("no answer: {0}")]
    NoAnswer(String),
    /// The workstation does not permit the request.
    #[error("refused: {0}")]
    Refused(String),
    /// The staff declined the write.
    #[error("declined: {0}")]
    Declined(String),
}

pub type GateFuture<'a> = Pin<Box<dyn Future<Output = Result<HttpResponse, GateError>> + Send + 'a>>;

/// Sends a request once. Runs on the adapter host's threads or a caller's, and must not block them.
pub trait Gate: Send + Sync + 'static {
    fn is_open(&self) -> bool;
    fn send(&self, request: GateRequest, deadline: Duration) -> GateFuture<'_>;
}

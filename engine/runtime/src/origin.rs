//! The request that caused an operation: its id, and the caller if the request may change data. Only logs and stored
//! records use it. It is therefore a task-local up to the entry of the engine, and an argument from there on.

use std::{future::Future, net::IpAddr, ops::Deref, sync::Arc};

use location::LocationId;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// A request. Dereferences to its id.
#[derive(Clone, Debug)]
pub struct Origin {
    id: Arc<str>,
    call: Option<CallKind>,
    change: Option<Arc<OriginChange>>,
}

/// The kind of a call, known with and without an audit trail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// An intent: a patient acts through a client.
    Intent,
    /// Any other call of a client or an operator.
    Other,
}

impl Origin {
    /// Adds the kind of the call. Without it, the origin is a call that has been answered.
    pub fn called_by(self, call: CallKind) -> Origin {
        Origin { call: Some(call), ..self }
    }

    pub fn call(&self) -> Option<CallKind> {
        self.call
    }

    /// Adds the context of a request whose changes belong in the audit trail.
    pub fn changing(self, change: Option<Arc<OriginChange>>) -> Origin {
        Origin { change, ..self }
    }

    pub fn change(&self) -> Option<&Arc<OriginChange>> {
        self.change.as_ref()
    }
}

impl From<&str> for Origin {
    fn from(id: &str) -> Origin {
        Origin { id: id.into(), call: None, change: None }
    }
}

impl Deref for Origin {
    type Target = str;

    fn deref(&self) -> &str {
        &self.id
    }
}

/// The caller of a change, for the audit trail. Stored in the journal record of the change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    pub request_id: String,
    /// Name of an API key or of an operator's token, never the secret.
    pub name: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub operator: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<IpAddr>,
    pub route: String,
    /// Name of the agents' tool that became the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

/// A call that may change data, and the records that its commits changed.
#[derive(Debug)]
pub struct OriginChange {
    pub caller: Arc<Caller>,
    committed: Mutex<Vec<RecordName>>,
}

/// A record in the audit trail: its kind and its id.
pub type RecordName = (&'static str, u64);

/// A record in the journal of a location.
pub type DecisionId = (LocationId, u64);

impl OriginChange {
    pub fn new(caller: impl Into<Arc<Caller>>) -> Arc<OriginChange> {
        Arc::new(OriginChange { caller: caller.into(), committed: Mutex::default() })
    }

    /// Adds changed records, which are durable together with the caller.
    pub fn committed(&self, records: impl IntoIterator<Item = RecordName>) {
        self.committed.lock().extend(records);
    }

    pub fn has_committed(&self, record: RecordName) -> bool {
        self.committed.lock().contains(&record)
    }

    /// Returns `true` if a location has committed a change of the call.
    pub fn is_committed(&self) -> bool {
        !self.committed.lock().is_empty()
    }
}

tokio::task_local! {
    static ORIGIN: Option<Origin>;
}

/// Runs work on behalf of a request.
pub fn on_behalf_of<F: Future>(origin: Option<Origin>, work: F) -> impl Future<Output = F::Output> {
    ORIGIN.scope(origin, work)
}

/// Returns the request that caused the current task, if any.
pub fn current() -> Option<Origin> {
    ORIGIN.try_with(Clone::clone).ok().flatten()
}

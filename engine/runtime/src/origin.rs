//! For which request something is done: the id its client gave it, or it was given here, and who calls where it changes something. Logs and
//! what is stored name it, and nothing else asks for it; so it travels beside the arguments of whoever handles the request, up to the door
//! of the engine. From there on it is handed on like anything else.

use std::{
    future::Future,
    mem,
    net::IpAddr,
    ops::Deref,
    sync::{Arc, Mutex, PoisonError},
};

use location::ids::LocationId;
use serde::{Deserialize, Serialize};

/// A request; it reads as its id.
#[derive(Clone, Debug)]
pub struct Origin {
    id: Arc<str>,
    change: Option<Arc<Change>>,
}

impl Origin {
    /// What it changes is to be in the audit trail.
    pub fn changing(self, change: Arc<Change>) -> Origin {
        Origin { change: Some(change), ..self }
    }

    pub fn change(&self) -> Option<&Arc<Change>> {
        self.change.as_ref()
    }
}

impl From<&str> for Origin {
    fn from(id: &str) -> Origin {
        Origin { id: id.into(), change: None }
    }
}

impl Deref for Origin {
    type Target = str;

    fn deref(&self) -> &str {
        &self.id
    }
}

/// Whose call changes something, for the audit trail. It stands in the journal, in the record of what the call did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    pub request_id: String,
    /// Of an API key or of an operator's token; never the secret itself.
    pub name: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub operator: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<IpAddr>,
    pub route: String,
}

/// A call that may change something, and what of it is durable with its caller.
#[derive(Debug)]
pub struct Change {
    pub caller: Caller,
    decisions: Mutex<Vec<DecisionId>>,
}

/// A record in the journal of a location.
pub type DecisionId = (LocationId, u64);

impl Change {
    pub fn new(caller: Caller) -> Arc<Change> {
        Arc::new(Change { caller, decisions: Mutex::default() })
    }

    pub fn committed(&self, decision: DecisionId) {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner).push(decision);
    }

    /// What was committed since this was last asked.
    pub fn take(&self) -> Vec<DecisionId> {
        mem::take(&mut *self.decisions.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

tokio::task_local! {
    static ORIGIN: Option<Origin>;
}

/// Does work for a request.
pub async fn on_behalf_of<F: Future>(origin: Option<Origin>, work: F) -> F::Output {
    ORIGIN.scope(origin, work).await
}

/// The request whose work this is. None: it is nobody's.
pub fn current() -> Option<Origin> {
    ORIGIN.try_with(Clone::clone).ok().flatten()
}

//! The simulated EHR inside this process. It is called without a network, and its changes are stored in the engine's
//! store.

use std::{sync::Arc, time::Duration};

use engine::{
    adapter_host::{HttpRequest, HttpResponse, Transport, TransportError, TransportFuture},
    clock,
    simulated::{ControlError, SimulatedEhr, SimulatedFuture},
    store::{Batch, CommitError, Direction, Store, StoreError, keys},
};
use sandbox_ehr::{
    Behaviours, Change, Control, Delivery, Profile, SandboxEhr, SandboxReply, SandboxRequest, records::Resource,
};
use serde_json::Value;
use tokio::sync::Mutex;

/// Number of changes read at a time during a restore.
const PAGE: usize = 5_000;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("a change of the simulated EHR cannot be read: {0}")]
    Change(#[from] serde_json::Error),
}

pub struct InProcessEhr {
    store: Arc<dyn Store>,
    source: u32,
    /// Locked during the commit, so that a change is rolled back if it is not stored.
    ehr: Mutex<HostedState>,
}

struct HostedState {
    profile: Profile,
    ehr: SandboxEhr,
    /// Sequence number of the next change.
    next: u64,
}

impl InProcessEhr {
    /// Restores the EHR of a data source.
    pub fn open(store: Arc<dyn Store>, source: u32, profile: Profile) -> Result<Arc<InProcessEhr>, OpenError> {
        let ehr = Mutex::new(read(&*store, source, profile)?);
        Ok(Arc::new(InProcessEhr { store, source, ehr }))
    }

    pub(crate) fn is_kept_in(&self, store: &Arc<dyn Store>) -> bool {
        Arc::ptr_eq(&self.store, store)
    }

    /// Changes the locations as a restart would. The switches stay.
    pub(crate) async fn set_profile(&self, profile: Profile) -> Result<(), OpenError> {
        let mut guard = self.ehr.lock().await;
        if guard.profile != profile {
            self.read_again(&mut guard, profile)?;
        }
        Ok(())
    }

    fn read_again(&self, kept: &mut HostedState, profile: Profile) -> Result<(), OpenError> {
        let switches = kept.ehr.behaviours().clone();
        *kept = read(&*self.store, self.source, profile)?;
        kept.ehr.control(Control::Behave(switches)).expect("switches can always be set");
        Ok(())
    }

    /// Handles a request and stores its changes before returning the reply.
    pub async fn handle(&self, request: &SandboxRequest) -> Result<SandboxReply, CommitError> {
        let mut guard = self.ehr.lock().await;
        let reply = guard.ehr.handle(clock::now().0, request);
        self.keep(&mut guard, &reply.changes).await?;
        Ok(reply)
    }

    /// Applies a change by staff or an operator, without the adapter.
    pub async fn apply(&self, control: Control) -> Result<Vec<Change>, ControlError> {
        let mut guard = self.ehr.lock().await;
        let changes = guard.ehr.control(control).map_err(refused)?;
        self.keep(&mut guard, &changes).await?;
        Ok(changes)
    }

    pub async fn behaviours(&self) -> Behaviours {
        self.ehr.lock().await.ehr.behaviours().clone()
    }

    /// Stores the changes, or rolls them back.
    async fn keep(&self, kept: &mut HostedState, changes: &[Change]) -> Result<(), CommitError> {
        if changes.is_empty() {
            return Ok(());
        }
        let mut batch = Batch::new();
        for (number, change) in (kept.next..).zip(changes) {
            let value = serde_json::to_vec(change).expect("changes have string keys and serialise");
            batch.put(keys::sandbox_change(self.source, number), value);
        }
        let committed = self.store.commit(batch).await;
        if committed.is_ok() {
            kept.next += changes.len() as u64;
        } else if let Err(error) = self.read_again(kept, kept.profile.clone()) {
            tracing::error!(%error, "the simulated EHR contains changes that could not be stored");
        }
        committed
    }

    /// Returns the EHR's view of a record as JSON.
    pub async fn view(&self, resource: Resource, id: &str) -> Option<String> {
        let guard = self.ehr.lock().await;
        guard.ehr.record(resource, id).and_then(|record| serde_json::to_string(record).ok())
    }
}

/// Restores the EHR of a data source from its changes.
fn read(store: &dyn Store, source: u32, profile: Profile) -> Result<HostedState, OpenError> {
    let mut changes: Vec<Change> = Vec::new();
    let mut range = keys::sandbox_changes(source);
    loop {
        let page = store.scan(range.clone(), Direction::Forward, PAGE)?;
        for (_, bytes) in &page {
            changes.push(serde_json::from_slice(bytes)?);
        }
        match page.last() {
            Some((last, _)) if page.len() == PAGE => range = range.after(last),
            _ => break,
        }
    }
    let next = changes.len() as u64;
    Ok(HostedState { ehr: SandboxEhr::replay(profile.clone(), changes), next, profile })
}

impl SimulatedEhr for InProcessEhr {
    fn switches(&self) -> SimulatedFuture<'_, Value> {
        Box::pin(async { serde_json::to_value(self.behaviours().await).expect("switches have string keys") })
    }

    fn control(&self, control: Value) -> SimulatedFuture<'_, Result<Vec<Value>, ControlError>> {
        Box::pin(async {
            let control =
                serde_json::from_value(control).map_err(|error| ControlError::Malformed(error.to_string()))?;
            Ok(self.apply(control).await?.iter().map(Change::to_json).collect())
        })
    }
}

/// Converts a refusal of the simulated EHR.
fn refused(error: sandbox_ehr::ControlError) -> ControlError {
    match error {
        sandbox_ehr::ControlError::Malformed(error) => ControlError::Malformed(error.to_string()),
        sandbox_ehr::ControlError::NotFound => ControlError::NotFound,
        refused @ sandbox_ehr::ControlError::Refused(_) => ControlError::Refused(refused.to_string()),
    }
}

impl Transport for InProcessEhr {
    fn send(&self, request: HttpRequest, deadline: Duration) -> TransportFuture<'_> {
        Box::pin(async move {
            let request = SandboxRequest {
                method: request.method,
                path: request.url.path().to_owned(),
                query: request.url.query().unwrap_or_default().to_owned(),
                headers: request.headers,
                body: request.body.unwrap_or_default(),
            };
            let reply = self.handle(&request).await.map_err(|error| TransportError::NoAnswer(error.to_string()))?;
            let delay = Duration::from_millis(reply.delay_ms);
            match reply.delivery {
                Delivery::Refused => Err(TransportError::NotSent("the connection is refused".to_owned())),
                Delivery::Lost => {
                    tokio::time::sleep(deadline).await;
                    Err(TransportError::NoAnswer("no answer before the deadline".to_owned()))
                }
                Delivery::Answered if delay >= deadline => {
                    tokio::time::sleep(deadline).await;
                    Err(TransportError::NoAnswer("no answer before the deadline".to_owned()))
                }
                Delivery::Answered => {
                    tokio::time::sleep(delay).await;
                    Ok(HttpResponse { status: reply.status, headers: reply.headers, body: reply.body })
                }
            }
        })
    }
}

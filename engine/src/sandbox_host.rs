//! The simulated EHR inside this process: reached without a network, its changes kept in the engine's store.

use std::{sync::Arc, time::Duration};

use tokio::sync::Mutex;

use crate::{
    adapter_host::{HttpRequest, HttpResponse, Transport, TransportError, TransportFuture},
    clock,
    sandbox_ehr::{
        Behaviours, Change, Control, ControlError, Delivery, Profile, SandboxEhr, SandboxReply, SandboxRequest,
        records::Resource,
    },
    store::{Batch, CommitError, Direction, Store, StoreError, keys},
};

/// Changes read at a time while it is rebuilt.
const PAGE: usize = 5_000;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("a change of the simulated EHR cannot be read: {0}")]
    Change(#[from] serde_json::Error),
}

#[derive(Debug, thiserror::Error)]
pub enum ControlFault {
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error(transparent)]
    Commit(#[from] CommitError),
}

pub struct Hosted {
    store: Arc<dyn Store>,
    source: u32,
    /// Locked over the commit: what was not kept was not done.
    ehr: Mutex<(SandboxEhr, u64)>,
}

impl Hosted {
    /// The EHR of a data source as it stood when the process ended.
    pub fn open(store: Arc<dyn Store>, source: u32, profile: Profile) -> Result<Arc<Hosted>, OpenError> {
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
        Ok(Arc::new(Hosted { store, source, ehr: Mutex::new((SandboxEhr::replay(profile, changes), next)) }))
    }

    /// Answers a request once its changes are kept.
    pub async fn handle(&self, request: &SandboxRequest) -> Result<SandboxReply, CommitError> {
        let mut guard = self.ehr.lock().await;
        let (ehr, next) = &mut *guard;
        let reply = ehr.handle(clock::now().0, request);
        self.keep(next, &reply.changes).await?;
        Ok(reply)
    }

    /// Does what staff or an operator want of it, behind the adapter's back.
    pub async fn control(&self, control: Control) -> Result<Vec<Change>, ControlFault> {
        let mut guard = self.ehr.lock().await;
        let (ehr, next) = &mut *guard;
        let changes = ehr.control(control)?;
        self.keep(next, &changes).await?;
        Ok(changes)
    }

    pub async fn behaviours(&self) -> Behaviours {
        self.ehr.lock().await.0.behaviours().clone()
    }

    async fn keep(&self, next: &mut u64, changes: &[Change]) -> Result<(), CommitError> {
        if changes.is_empty() {
            return Ok(());
        }
        let mut batch = Batch::new();
        for (number, change) in (*next..).zip(changes) {
            let value = serde_json::to_vec(change).expect("changes have string keys and serialise");
            batch.put(keys::sandbox_change(self.source, number), value);
        }
        self.store.commit(batch).await?;
        *next += changes.len() as u64;
        Ok(())
    }

    /// The EHR's own view of a record, as JSON.
    pub async fn view(&self, resource: Resource, id: &str) -> Option<String> {
        let guard = self.ehr.lock().await;
        guard.0.record(resource, id).and_then(|record| serde_json::to_string(record).ok())
    }
}

impl Transport for Hosted {
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
                Delivery::Refused => Err(TransportError::NotSent("nobody accepts the connection".to_owned())),
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

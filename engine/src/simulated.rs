//! Simulated EHRs in this process, for demos and tests, provided by the caller that starts the engine. The engine
//! reaches them through an adapter like any other EHR, but without a network.

use std::{collections::BTreeMap, future::Future, pin::Pin, sync::Arc};

use adapter_host::Transport;
use serde_json::Value;
use setup::Setup;
use store::{CommitError, Store};

use crate::connections::IN_PROCESS;

pub type SimulatedFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
/// Simulated EHRs by data source.
pub type SimulatedEhrs = BTreeMap<u32, Arc<dyn SimulatedEhr>>;

/// The reason why a simulated EHR refused a command.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error("{0}")]
    Malformed(String),
    #[error("no such record")]
    NotFound,
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Commit(#[from] CommitError),
}

/// An EHR with switches for faults.
pub trait SimulatedEhr: Transport {
    /// Returns the switches and their state, by name.
    fn switches(&self) -> SimulatedFuture<'_, Value>;
    /// Acts on behalf of staff or an operator, without the adapter. Returns the changes.
    fn control(&self, control: Value) -> SimulatedFuture<'_, Result<Vec<Value>, ControlError>>;
}

/// Opens the in-process EHRs of data sources.
pub trait OpenSimulated {
    fn open<'a>(
        &'a self,
        setup: &'a Setup,
        store: &'a Arc<dyn Store>,
    ) -> SimulatedFuture<'a, Result<SimulatedEhrs, String>>;
}

/// Used by builds without simulated EHRs.
pub struct NoSimulatedEhrs;

impl OpenSimulated for NoSimulatedEhrs {
    fn open<'a>(
        &'a self,
        setup: &'a Setup,
        _: &'a Arc<dyn Store>,
    ) -> SimulatedFuture<'a, Result<SimulatedEhrs, String>> {
        let wanted = simulated_sources(setup).next();
        Box::pin(async move {
            match wanted {
                None => Ok(SimulatedEhrs::new()),
                Some(id) => Err(format!(
                    "data source {id}: this build has no simulated EHR for `{IN_PROCESS}`; name the address of an EHR"
                )),
            }
        })
    }
}

/// Returns the in-process data sources.
pub fn simulated_sources(setup: &Setup) -> impl Iterator<Item = u32> {
    setup.sources.values().filter(|source| source.base_url == IN_PROCESS).map(|source| source.id)
}

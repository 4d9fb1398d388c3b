//! EHRs that live in this process: whoever starts the engine hands them in, for demos and rehearsals. The engine reaches them as it
//! reaches any other, through an adapter, only without a network.

use std::{collections::BTreeMap, future::Future, pin::Pin, sync::Arc};

use adapter_host::Transport;
use serde_json::Value;
use setup::Setup;
use store::{CommitError, Store};

use crate::connections::IN_PROCESS;

pub type SimulatedFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
/// By data source.
pub type SimulatedEhrs = BTreeMap<u32, Arc<dyn SimulatedEhr>>;

/// Why a simulated EHR did not do what it was told.
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

/// An EHR that can be told to misbehave.
pub trait SimulatedEhr: Transport {
    /// Its switches and how they stand, by name.
    fn switches(&self) -> SimulatedFuture<'_, Value>;
    /// Does what staff or an operator want of it, behind the adapter's back; answers what that changed.
    fn control(&self, control: Value) -> SimulatedFuture<'_, Result<Vec<Value>, ControlError>>;
}

/// Opens the EHRs of the data sources that live in this process.
pub trait OpenSimulated {
    fn open<'a>(
        &'a self,
        setup: &'a Setup,
        store: &'a Arc<dyn Store>,
    ) -> SimulatedFuture<'a, Result<SimulatedEhrs, String>>;
}

/// A build that has none.
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

/// Data sources that live in this process.
pub fn simulated_sources(setup: &Setup) -> impl Iterator<Item = u32> {
    setup.sources.values().filter(|source| source.base_url == IN_PROCESS).map(|source| source.id)
}

//! Opens an engine on a data directory: the store there or in a database, the adapters of the setup, and simulated
//! EHRs.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use adapter_host::{Host, HostError, Transport};
use setup::{Setup, StoreEngine};
use store::{EmbeddedStore, EngineKind, Store, StoreConfig, StoreError};
use webhooks::{subscriptions::Audience, views::Views};

use crate::{
    Engine, Incomplete, Parts, StartError,
    data_dir::DataDir,
    database,
    simulated::{OpenSimulated, SimulatedEhrs},
};

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the data directory {dir} cannot be used: {source}")]
    Directory { dir: PathBuf, source: io::Error },
    #[error(transparent)]
    Incomplete(#[from] Incomplete),
    #[error(
        "the store {dir} is damaged: restore it from a backup, or copy the intact values into another directory with `practice-sync store \
         salvage` ({source})"
    )]
    DamagedStore { dir: PathBuf, source: StoreError },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Host(#[from] HostError),
    #[error("{0}")]
    Simulated(String),
    #[error(transparent)]
    Start(#[from] StartError),
}

/// Time limit for adapters at a start, so that an ordinary start ends with all of them ready.
const STARTING: Duration = Duration::from_secs(5);

impl OpenError {
    fn from_store(error: StoreError, dir: &Path) -> Self {
        match error {
            damaged @ StoreError::Damaged { .. } => Self::DamagedStore { dir: dir.to_path_buf(), source: damaged },
            other => Self::Store(other),
        }
    }
}

/// An opened engine, and its simulated EHRs by data source.
pub struct Opened {
    pub engine: Arc<Engine>,
    pub simulated: SimulatedEhrs,
}

/// Opens or creates the store in `dir`, and starts the engine. Must be called within an actix system.
pub async fn open(
    setup: Setup,
    dir: &Path,
    views: Arc<dyn Views>,
    audience: Arc<dyn Audience>,
    simulated: &dyn OpenSimulated,
) -> Result<Opened, OpenError> {
    let unusable = |source| OpenError::Directory { dir: dir.to_path_buf(), source };
    std::fs::create_dir_all(dir).map_err(unusable)?;
    let data = DataDir::new(dir);
    let mut owners = None;
    let store: Arc<dyn Store> = match setup.engine.store_engine {
        StoreEngine::Sled => Arc::new(embedded(&setup, &data, EngineKind::Sled)?),
        StoreEngine::Fjall => Arc::new(embedded(&setup, &data, EngineKind::Fjall)?),
        StoreEngine::Postgres => {
            let known = owners.insert(database::owners_of(&setup)).clone();
            Arc::new(database::open(&setup, &data, known).await?)
        }
    };
    data.note()?;

    let cache = setup.engine.adapter_cache.clone().unwrap_or_else(|| dir.join("adapters"));
    let host = Host::new(setup.engine.guests.clone(), &cache)?;
    let mut parts = Parts { audience, ..Parts::new(store.clone(), views) };
    let loading = host.load_all(setup.engine.adapters.clone(), &parts.adapters);
    // Compiled adapters are ready at once. The others are prepared while all other locations are served.
    drop(tokio::time::timeout(STARTING, loading).await);
    (parts.owners, parts.key_file) = (owners, Some(data.key));
    parts.host = Some(host);
    let simulated = simulated.open(&setup, &store).await.map_err(OpenError::Simulated)?;
    parts.in_process = simulated.iter().map(|(id, ehr)| (*id, ehr.clone() as Arc<dyn Transport>)).collect();
    let engine = Arc::new(Engine::start(setup, parts).await?);
    Ok(Opened { engine, simulated })
}

fn embedded(setup: &Setup, data: &DataDir, engine: EngineKind) -> Result<EmbeddedStore, OpenError> {
    let rules = &setup.engine;
    let config = StoreConfig {
        engine,
        floor_bytes: rules.store_floor_bytes,
        cache_bytes: rules.store_cache_bytes,
        verify: rules.store_verify,
        audit: !rules.store_verify,
        compact_ratio: rules.store_compact_ratio,
        ..StoreConfig::new(&data.store, data.key(rules.accept_empty_store)?)
    };
    EmbeddedStore::open(config).map_err(|error| OpenError::from_store(error, &data.store))
}

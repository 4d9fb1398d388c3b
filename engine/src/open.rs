//! An engine on a data directory: the embedded store, the adapters of the setup, and simulated EHRs where it asks for them.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use adapter_host::{Host, HostError, Transport};
use location::time::{DAY, SECOND};
use runtime::clock;
use sandbox_ehr::{LocationProfile, OffsetFrom, Profile};
use setup::{Setup, zones};
use store::{Batch, CommitError, SledConfig, SledStore, Store, StoreError, keys};
use webhooks::{shapes::Shapes, subscriptions::Audience};

use crate::{
    connections::IN_PROCESS,
    data_dir::{DataDir, Incomplete},
    engine::{Engine, Parts, StartError},
    sandbox_host::{Hosted, OpenError as SandboxError},
};

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the data directory {dir} cannot be used: {source}")]
    Directory { dir: PathBuf, source: io::Error },
    #[error(transparent)]
    Incomplete(#[from] Incomplete),
    #[error(
        "the store {dir} is damaged: restore it from a backup, or copy what is sound into another directory with `practice-sync store \
         salvage` ({source})"
    )]
    DamagedStore { dir: PathBuf, source: StoreError },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Commit(#[from] CommitError),
    #[error(transparent)]
    Host(#[from] HostError),
    #[error("data source {id}: {source}")]
    Sandbox { id: u32, source: SandboxError },
    #[error(transparent)]
    Start(#[from] StartError),
}

/// How long a start waits for its adapters, so that an ordinary one comes up whole.
const STARTING: Duration = Duration::from_secs(5);

impl OpenError {
    fn of_store(error: StoreError, dir: &Path) -> Self {
        match error {
            damaged @ StoreError::Damaged { .. } => Self::DamagedStore { dir: dir.to_path_buf(), source: damaged },
            other => Self::Store(other),
        }
    }
}

/// An opened engine, and the simulated EHRs it hosts by data source.
pub struct Opened {
    pub engine: Arc<Engine>,
    pub sandboxes: BTreeMap<u32, Arc<Hosted>>,
}

/// Opens (or makes) the store in `dir` and starts the engine. Must be called within an actix system.
pub async fn open(
    setup: Setup,
    dir: &Path,
    shapes: Arc<dyn Shapes>,
    audience: Arc<dyn Audience>,
) -> Result<Opened, OpenError> {
    let unusable = |source| OpenError::Directory { dir: dir.to_path_buf(), source };
    std::fs::create_dir_all(dir).map_err(unusable)?;
    let data = DataDir::new(dir);
    let key = data.key(setup.engine.accept_empty_store)?;
    let mut config = SledConfig::new(&data.store, key);
    config.floor_bytes = setup.engine.store_floor_bytes;
    config.cache_bytes = setup.engine.store_cache_bytes;
    config.verify = setup.engine.store_verify;
    config.audit = !config.verify;
    let store: Arc<dyn Store> =
        Arc::new(SledStore::open(config).map_err(|error| OpenError::of_store(error, &data.store))?);
    data.note()?;

    let cache = setup.engine.adapter_cache.clone().unwrap_or_else(|| dir.join("adapters"));
    let host = Host::new(setup.engine.guests.host.clone(), &cache)?;
    let mut parts = Parts { audience, ..Parts::new(store.clone(), shapes) };
    let loading = host.load_all(setup.engine.adapters.clone(), &parts.adapters);
    // What is compiled already is there at once. The others are prepared while everybody else is served.
    drop(tokio::time::timeout(STARTING, loading).await);
    let mut sandboxes = BTreeMap::new();
    for source in setup.sources.values().filter(|source| source.base_url == IN_PROCESS) {
        let profile = profile(&setup, &store, source.id).await?;
        let failed = |error| OpenError::Sandbox { id: source.id, source: error };
        let hosted = Hosted::open(store.clone(), source.id, profile).map_err(failed)?;
        parts.in_process.insert(source.id, hosted.clone() as Arc<dyn Transport>);
        sandboxes.insert(source.id, hosted);
    }
    let engine = Arc::new(Engine::start(setup, parts).await?);
    Ok(Opened { engine, sandboxes })
}

/// The practice a simulated EHR starts from: this data source's locations on the day it was first opened.
async fn profile(setup: &Setup, store: &Arc<dyn Store>, source: u32) -> Result<Profile, OpenError> {
    let today = first_day(store, source).await?;
    let locations = setup.locations.values().filter(|location| location.source == Some(source));
    let locations = locations
        .map(|location| LocationProfile {
            key: location.foreign_id.clone().unwrap_or_else(|| location.id.to_string()),
            operatories: if location.map_by_operatory { 8 } else { 6 },
            offsets: offsets(location.zone),
        })
        .collect();
    let profile = Profile::demo(u64::from(source), today, Vec::new(), Vec::new());
    Ok(Profile { locations, ..profile })
}

/// The day a simulated EHR began, kept so that it is the same practice after a restart.
async fn first_day(store: &Arc<dyn Store>, source: u32) -> Result<i32, OpenError> {
    let key = keys::secret(&format!("sandbox day {source}"));
    if let Some(day) = store.get(&key)?.and_then(|bytes| bytes.try_into().ok()) {
        return Ok(i32::from_be_bytes(day));
    }
    let today = i32::try_from(clock::now().0.div_euclid(DAY)).unwrap_or_default();
    let mut batch = Batch::new();
    batch.put(key, today.to_be_bytes().to_vec());
    store.commit(batch).await?;
    Ok(today)
}

fn offsets(zone: chrono_tz::Tz) -> Vec<OffsetFrom> {
    let zone = zones::zone(zone);
    let from = |at: i64| at.max(0).div_euclid(SECOND);
    zone.changes().iter().map(|change| OffsetFrom { from: from(change.at.0), seconds: change.offset_seconds }).collect()
}

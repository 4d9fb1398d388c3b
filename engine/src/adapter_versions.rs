//! Versions of adapters uploaded while the server runs: stored, tried against a location's EHR, rolled out to a
//! location, and rolled back.
//!
//! A version exists once its row is written, which follows all its parts. The version that a location runs is a
//! separate row, read when the location is loaded. A restart, or the node that takes the location over, thus continues
//! with that version.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use adapter_host::{Adapter, AdapterRegistry, Host, LoadError, LoadState};
use location::{Resource, Timestamp};
use records::{Ehr, Fault};
use runtime::clock;
use serde::{Deserialize, Serialize};
use setup::{Current, EngineRules, LocationSetup};
use sha2::{Digest, Sha256};
use store::{
    Batch, CommitError, Direction, Store, StoreError,
    keys::{self, Space},
};

/// Size of a value that a store handles well.
const PART_BYTES: usize = 256 << 10;
const PARTS_AT_ONCE: usize = 8;
/// Number of versions kept per name. Beyond it, the oldest ones are deleted that no location runs or ran before.
const VERSIONS: usize = 10;
/// Number of attempts to commit after conflicts.
const TRIES: u32 = 20;
/// Timeout of each call of a trial.
const CALL: Duration = Duration::from_secs(30);
/// Records per page of a trial.
const TRIED_RECORDS: u32 = 10;

/// An uploaded version, in addition to the configured one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdapterVersion {
    /// The name of the adapter in the configuration.
    pub name: String,
    /// SHA-256 of the component.
    pub sha256: String,
    /// Version in the manifest.
    pub version: String,
    pub bytes: u64,
    pub uploaded_at: Timestamp,
}

/// The roll-out of a location. `None` for the configured version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolledOut {
    /// The adapter of the roll-out. A location that has been given another adapter since runs the configured version.
    name: String,
    pub now: Option<String>,
    pub before: Option<String>,
}

/// An answered call of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// `None` for `describe`.
    pub resource: Option<Resource>,
    pub records: usize,
    pub skipped: usize,
}

#[derive(Debug, thiserror::Error)]
pub enum VersionError {
    #[error("the configuration names no adapter {0}")]
    NoAdapter(String),
    #[error("the location has no adapter")]
    NoneAtLocation,
    #[error("no version {0} of this adapter was uploaded")]
    NoVersion(String),
    #[error("the location has no earlier roll-out to return to")]
    NothingBefore,
    /// The component is not one that this server can use.
    #[error("{0}")]
    Refused(String),
    /// A call of the trial failed. Nothing was changed.
    #[error("{call}: {fault}")]
    Trial { call: String, fault: String },
    #[error(transparent)]
    Store(#[from] CommitError),
}

impl From<StoreError> for VersionError {
    fn from(error: StoreError) -> VersionError {
        VersionError::Store(error.into())
    }
}

/// The stored versions, and the registry of loaded ones.
pub(crate) struct AdapterVersions {
    pub(crate) setup: Arc<Current>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) registry: AdapterRegistry,
    /// `None` in tests without adapters.
    pub(crate) host: Option<Host>,
}

impl AdapterVersions {
    /// Verifies a component like a start does, and stores it. Adding the same component again changes nothing.
    pub(crate) async fn add(&self, name: &str, component: Vec<u8>) -> Result<AdapterVersion, VersionError> {
        let (Some(host), Some(configured)) = (&self.host, self.registry.load_state(name)) else {
            return Err(VersionError::NoAdapter(name.to_owned()));
        };
        let refused = |error: LoadError| VersionError::Refused(error.to_string());
        let adapter = host.load_bytes(component.clone()).await.map_err(refused)?;
        if let LoadState::Ready(configured) = &configured
            && configured.manifest().id != adapter.manifest().id
        {
            let (id, known) = (&adapter.manifest().id, &configured.manifest().id);
            return Err(VersionError::Refused(format!("it is the adapter {id}, and {name} is {known}")));
        }
        let digest: [u8; 32] = Sha256::digest(&component).into();
        let key = keys::adapter_version(&digest, name);
        let added = match self.store.get(&key)? {
            Some(known) => version(&key, &known)?,
            None => self.keep(name, &digest, &component, &adapter).await?,
        };
        self.registry.set_version_state(name, &added.sha256, LoadState::Ready(adapter));
        self.forget_old(name).await?;
        Ok(added)
    }

    async fn keep(
        &self,
        name: &str,
        digest: &[u8; 32],
        component: &[u8],
        adapter: &Adapter,
    ) -> Result<AdapterVersion, VersionError> {
        let parts: Vec<(u32, &[u8])> = (0..).zip(component.chunks(PART_BYTES)).collect();
        for some in parts.chunks(PARTS_AT_ONCE) {
            let mut batch = Batch::new();
            for (number, part) in some {
                batch.put(keys::adapter_part(digest, *number), part.to_vec());
            }
            self.store.commit(batch).await?;
        }
        let added = AdapterVersion {
            name: name.to_owned(),
            sha256: hex::encode(digest),
            version: adapter.manifest().version.clone(),
            bytes: component.len() as u64,
            uploaded_at: clock::now(),
        };
        let mut batch = Batch::new();
        batch.put(keys::adapter_version(digest, name), json(&added));
        self.store.commit(batch).await?;
        Ok(added)
    }

    /// Returns the versions of a name, newest first.
    pub(crate) fn list_versions(&self, name: &str) -> Result<Vec<AdapterVersion>, VersionError> {
        let all = self.store.scan(Space::AdapterVersion.range(), Direction::Forward, usize::MAX)?;
        let of_name = all.iter().filter(|(key, _)| keys::parse_adapter_version(key).is_some_and(|(_, of)| of == name));
        let mut versions = of_name.map(|(key, value)| version(key, value)).collect::<Result<Vec<_>, _>>()?;
        versions.sort_by(|a, b| (b.uploaded_at, &b.sha256).cmp(&(a.uploaded_at, &a.sha256)));
        Ok(versions)
    }

    async fn forget_old(&self, name: &str) -> Result<(), VersionError> {
        let mut kept = self.list_versions(name)?;
        let old = kept.split_off(VERSIONS.min(kept.len()));
        if old.is_empty() {
            return Ok(());
        }
        let rolled_out = self.store.scan(Space::LocationAdapter.range(), Direction::Forward, usize::MAX)?;
        let rolled_out: Vec<RolledOut> =
            rolled_out.iter().map(|(key, value)| choice(key, value)).collect::<Result<_, _>>()?;
        let wanted = |sha256: &String| {
            rolled_out.iter().any(|it| it.now.as_ref() == Some(sha256) || it.before.as_ref() == Some(sha256))
        };
        for old in old.iter().filter(|old| !wanted(&old.sha256)) {
            let Some(digest) = digest(&old.sha256) else { continue };
            let mut batch = Batch::new();
            batch.delete(keys::adapter_version(&digest, name));
            // The component may also be stored under another name.
            let range = keys::adapter_versions(&digest);
            if self.store.scan_keys(range, Direction::Forward, 2)?.len() < 2 {
                for part in self.store.scan_keys(keys::adapter_parts(&digest), Direction::Forward, usize::MAX)? {
                    batch.delete(part);
                }
            }
            self.store.commit(batch).await?;
        }
        Ok(())
    }

    /// Returns the roll-out of a location, unless the configuration has given it another adapter since.
    pub(crate) fn at(&self, location: &LocationSetup) -> Result<RolledOut, StoreError> {
        let name = self.name(location).unwrap_or_default();
        let key = keys::location_adapter(location.id.0);
        let rolled_out = self.store.get(&key)?.map(|value| choice(&key, &value)).transpose()?.unwrap_or_default();
        Ok(if rolled_out.name == name { rolled_out } else { RolledOut { name, ..RolledOut::default() } })
    }

    fn name(&self, location: &LocationSetup) -> Option<String> {
        Some(self.setup.load_full().sources.get(&location.source?)?.adapter.clone())
    }

    /// Loads the configured adapters that are not ready with the present content of their file. If loading fails, an
    /// adapter whose path is unchanged stays as it is. For a new path, the failure is a problem.
    pub(crate) async fn changed(
        &self,
        before: &EngineRules,
        after: &EngineRules,
    ) -> Result<BTreeMap<String, Arc<Adapter>>, Vec<String>> {
        let (mut loaded, mut problems) = (BTreeMap::new(), Vec::new());
        for (name, file) in &after.adapters {
            let as_before = before.adapters.get(name) == Some(file);
            let Some(host) = &self.host else {
                if !as_before {
                    problems.push(format!("adapters.{name}: this process has no host for adapters"));
                }
                continue;
            };
            let known = match self.registry.load_state(name) {
                Some(LoadState::Preparing) if as_before => continue,
                Some(LoadState::Preparing) => {
                    problems.push(format!(
                        "adapters.{name}: its former file is still being prepared; try again when it is ready"
                    ));
                    continue;
                }
                Some(LoadState::Ready(adapter)) => Some(adapter),
                Some(LoadState::Refused(_)) | None => None,
            };
            if let Some(known) = &known
                && sha256_of(file).await.is_some_and(|sha256| sha256 == known.sha256())
            {
                continue;
            }
            match host.load(file).await {
                Ok(adapter) => drop(loaded.insert(name.clone(), adapter)),
                Err(failed) if as_before => {
                    tracing::error!(name, file = %file.display(), reason = %failed.reason, "the file of an adapter cannot be used; the loaded version stays in use");
                }
                Err(failed) => problems.push(format!("adapters.{name}: {failed}")),
            }
        }
        if problems.is_empty() { Ok(loaded) } else { Err(problems) }
    }

    /// Registers loaded adapters, and removes those that are no longer configured.
    pub(crate) fn apply_setup(&self, loaded: BTreeMap<String, Arc<Adapter>>, gone: &[String]) {
        for (name, adapter) in loaded {
            self.registry.swap(&name, adapter);
        }
        gone.iter().for_each(|name| self.registry.forget(name));
    }

    /// Selects the version of a location that is being loaded.
    pub(crate) fn arrive(&self, location: &LocationSetup) -> Result<(), StoreError> {
        let Some(name) = self.name(location) else { return Ok(()) };
        let now = self.at(location)?.now;
        if let Some(sha256) = &now {
            self.prepare(&name, sha256);
        }
        self.registry.choose(&name, &location.id.to_string(), now.as_deref());
        Ok(())
    }

    /// Loads a version in the background. If that fails, its locations are closed instead of silently running another
    /// version.
    fn prepare(&self, name: &str, sha256: &str) {
        let known = self.registry.version(name, sha256);
        let Some(host) =
            self.host.clone().filter(|_| !matches!(known, Some(LoadState::Ready(_) | LoadState::Preparing)))
        else {
            return;
        };
        self.registry.set_version_state(name, sha256, LoadState::Preparing);
        let (registry, store) = (self.registry.clone(), self.store.clone());
        let (name, sha256) = (name.to_owned(), sha256.to_owned());
        tokio::spawn(async move {
            let read = tokio::task::spawn_blocking({
                let sha256 = sha256.clone();
                move || component(&*store, &sha256).map_err(|error| error.to_string())
            });
            let loaded = match read.await.unwrap_or_else(|ended| Err(ended.to_string())) {
                Ok(bytes) => host.load_bytes(bytes).await.map_err(|error| error.to_string()),
                Err(reason) => Err(reason),
            };
            let load_state = loaded.map_or_else(
                |reason| {
                    tracing::error!(
                        name,
                        sha256,
                        reason,
                        "a version of an adapter cannot be used; its locations are closed"
                    );
                    LoadState::Refused(reason.into())
                },
                |adapter| {
                    tracing::info!(name, version = adapter.manifest().version, sha256, "adapter version: ready");
                    LoadState::Ready(adapter)
                },
            );
            registry.set_version_state(&name, &sha256, load_state);
        });
    }

    /// Returns the adapter of this version for a location, or the configured one without `sha256`.
    pub(crate) async fn loaded(
        &self,
        location: &LocationSetup,
        sha256: Option<&str>,
    ) -> Result<Arc<Adapter>, VersionError> {
        let (Some(name), Some(host)) = (self.name(location), &self.host) else {
            return Err(VersionError::NoneAtLocation);
        };
        let Some(sha256) = sha256 else {
            let closed = || VersionError::Refused("the adapter of the configuration is not ready".to_owned());
            return self.registry.get(&name).ok_or_else(closed);
        };
        let missing = || VersionError::NoVersion(sha256.to_owned());
        let digest = digest(sha256).ok_or_else(missing)?;
        self.store.get(&keys::adapter_version(&digest, &name))?.ok_or_else(missing)?;
        if let Some(LoadState::Ready(adapter)) = self.registry.version(&name, sha256) {
            return Ok(adapter);
        }
        let bytes = component(&*self.store, sha256)?;
        let adapter = host.load_bytes(bytes).await.map_err(|error| VersionError::Refused(error.to_string()))?;
        self.registry.set_version_state(&name, sha256, LoadState::Ready(adapter.clone()));
        Ok(adapter)
    }

    /// Makes a location run this version from its next call on.
    pub(crate) async fn roll_out(
        &self,
        location: &LocationSetup,
        sha256: Option<String>,
    ) -> Result<RolledOut, VersionError> {
        self.change(location, |known| {
            let before = if known.now == sha256 { known.before } else { known.now };
            Ok(RolledOut { now: sha256.clone(), before, ..known })
        })
        .await
    }

    /// Returns a location to the version before the last roll-out.
    pub(crate) async fn roll_back(&self, location: &LocationSetup) -> Result<RolledOut, VersionError> {
        self.change(location, |known| match known.now == known.before {
            true => Err(VersionError::NothingBefore),
            false => Ok(RolledOut { now: known.before, before: known.now, ..known }),
        })
        .await
    }

    async fn change(
        &self,
        location: &LocationSetup,
        next: impl Fn(RolledOut) -> Result<RolledOut, VersionError>,
    ) -> Result<RolledOut, VersionError> {
        let name = self.name(location).ok_or(VersionError::NoneAtLocation)?;
        let key = keys::location_adapter(location.id.0);
        for _ in 0..TRIES {
            let stored = self.store.read(&key)?;
            let rolled_out = next(self.at(location)?)?;
            let mut batch = Batch::new();
            batch.expect_unchanged(key.clone(), stored.map(|stored| stored.version));
            batch.put(key.clone(), json(&rolled_out));
            match self.store.commit(batch).await {
                Ok(()) => {
                    if let Some(sha256) = &rolled_out.now {
                        self.prepare(&name, sha256);
                    }
                    self.registry.choose(&name, &location.id.to_string(), rolled_out.now.as_deref());
                    return Ok(rolled_out);
                }
                Err(CommitError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(VersionError::Store(CommitError::Conflict { key }))
    }
}

/// Returns `None` if the file cannot be read.
async fn sha256_of(file: &Path) -> Option<String> {
    let file = file.to_owned();
    let read = tokio::task::spawn_blocking(move || std::fs::read(file).map(|bytes| hex::encode(Sha256::digest(bytes))));
    read.await.ok()?.ok()
}

/// Describes the EHR, and reads the first page of every resource. Nothing is written, and no cursor of the location
/// moves. The rate limit in the description is respected.
pub(crate) async fn try_dry(ehr: &dyn Ehr) -> Result<Vec<Tried>, VersionError> {
    let failed = |call: String| move |fault: Fault| VersionError::Trial { call, fault: fault.to_string() };
    let description = ehr.describe(CALL).await.map_err(failed("describe".to_owned()))?;
    let pause = description.requests_per_minute.map(|most| Duration::from_secs(60) / most.max(1));
    let mut tried = vec![Tried { resource: None, records: 0, skipped: 0 }];
    for ability in &description.pulls {
        if let Some(pause) = pause {
            tokio::time::sleep(pause).await;
        }
        let page = ehr.pull(ability.resource, None, TRIED_RECORDS, CALL).await;
        let page = page.map_err(failed(format!("pull {:?}", ability.resource)))?;
        let (records, skipped) = (page.records.len(), page.skipped.len());
        tried.push(Tried { resource: Some(ability.resource), records, skipped });
    }
    Ok(tried)
}

fn component(store: &dyn Store, sha256: &str) -> Result<Vec<u8>, VersionError> {
    let missing = || VersionError::NoVersion(sha256.to_owned());
    let digest = digest(sha256).ok_or_else(missing)?;
    let mut bytes = Vec::new();
    for number in 0.. {
        let Some(part) = store.get(&keys::adapter_part(&digest, number))? else { break };
        bytes.extend(part);
    }
    let whole: [u8; 32] = Sha256::digest(&bytes).into();
    if whole == digest { Ok(bytes) } else { Err(missing()) }
}

fn digest(sha256: &str) -> Option<[u8; 32]> {
    hex::decode(sha256).ok()?.try_into().ok()
}

fn version(key: &[u8], value: &[u8]) -> Result<AdapterVersion, StoreError> {
    serde_json::from_slice(value).map_err(|_| StoreError::damaged(key, "not the record of an adapter version"))
}

fn choice(key: &[u8], value: &[u8]) -> Result<RolledOut, StoreError> {
    serde_json::from_slice(value).map_err(|_| StoreError::damaged(key, "not the record of a location's roll-out"))
}

fn json(noted: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(noted).expect("texts and numbers can always be written as JSON")
}

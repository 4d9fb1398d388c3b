//! A loaded adapter.

use std::sync::Arc;

use wasmtime::component::InstancePre;

use super::{Manifest, exports::Exports, host_shared::HostShared, imports::CallState};

/// A compiled and linked version of an adapter. Several versions can be loaded concurrently.
pub struct Adapter {
    pub(super) host: Arc<HostShared>,
    pub(super) pre: InstancePre<CallState>,
    pub(super) exports: Exports,
    pub(super) manifest: Arc<Manifest>,
    pub(super) sha256: String,
    pub(super) from_cache: bool,
}

impl Adapter {
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// SHA-256 of the component file.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Returns `true` if the compiled component came from the cache.
    pub fn from_cache(&self) -> bool {
        self.from_cache
    }
}

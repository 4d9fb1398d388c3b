//! How all locations stand at once. No location is asked, or brought into memory, for it.

use std::collections::BTreeMap;

use location::ids::LocationId;
use records::sync_state::{AdapterState, GateStatus};
use runtime::metrics::Standing;

use crate::{Engine, engine::adapter_state};

impl Engine {
    /// How each location stood after its last turn; those that were not in memory since the start are missing.
    pub fn standings(&self) -> BTreeMap<LocationId, Standing> {
        self.counted().locations.all()
    }

    /// How the workstation gate of a location stands; none where its EHR needs no workstation.
    pub fn gate(&self, location: LocationId) -> Option<GateStatus> {
        self.gateway().status(location)
    }

    /// How the adapter of a location stands; none where it has none.
    pub fn adapter_at(&self, location: LocationId) -> Option<AdapterState> {
        let (source, standing) = self.connections().adapter(self.setup().locations.get(&location)?)?;
        Some(adapter_state(&source.adapter, standing))
    }
}

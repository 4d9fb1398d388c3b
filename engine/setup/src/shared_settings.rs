//! Settings of locations in memory. Most locations have the settings of their institution, so equal ones are stored
//! once.

use std::{collections::HashSet, sync::Arc};

use crate::LocationSettings;

/// The distinct settings of a setup that is being built.
#[derive(Default)]
pub struct SharedSettings(HashSet<Arc<LocationSettings>>);

impl SharedSettings {
    /// Returns the allocation of these settings, which locations with equal settings share.
    pub fn share(&mut self, settings: LocationSettings) -> Arc<LocationSettings> {
        if let Some(shared) = self.0.get(&settings) {
            return shared.clone();
        }
        let shared = Arc::new(settings);
        self.0.insert(shared.clone());
        shared
    }
}

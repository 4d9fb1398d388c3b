//! The simulated EHR inside a process that runs the engine. It is called without a network, and its changes are stored
//! in the engine's store. For the demo and the tests; production builds do not contain it.
//!
//! ```text
//!  demo, tests ── Sandboxes ──► engine::open ──► adapter (WASM) ──► Hosted (transport) ──► sandbox-ehr
//!                                                                     └── changes ──► store
//! ```

mod hosted;

use std::{collections::BTreeMap, sync::Arc};

use engine::{
    clock,
    setup::Setup,
    simulated::{OpenSimulated, SimulatedEhrs, SimulatedFuture, simulated_sources},
    store::{Batch, CommitError, Store, keys},
    zones,
};
use location::time::{DAY, SECOND};
use parking_lot::Mutex;
use sandbox_ehr::{LocationProfile, OffsetFrom, Profile};

pub use crate::hosted::{InProcessEhr, OpenError};

/// The simulated EHRs of a process by data source, after the engine has opened them.
#[derive(Default)]
pub struct Sandboxes(Mutex<BTreeMap<u32, Arc<InProcessEhr>>>);

impl Sandboxes {
    pub fn get(&self, source: u32) -> Option<Arc<InProcessEhr>> {
        self.0.lock().get(&source).cloned()
    }
}

impl OpenSimulated for Sandboxes {
    fn open<'a>(
        &'a self,
        setup: &'a Setup,
        store: &'a Arc<dyn Store>,
    ) -> SimulatedFuture<'a, Result<SimulatedEhrs, String>> {
        Box::pin(async move {
            let mut opened = SimulatedEhrs::new();
            for source in simulated_sources(setup) {
                let failed = |error: String| format!("data source {source}: {error}");
                let profile = profile(setup, store, source).await.map_err(|error| failed(error.to_string()))?;
                let hosted = match self.get(source).filter(|hosted| hosted.is_kept_in(store)) {
                    Some(hosted) => hosted.set_profile(profile).await.map(|()| hosted),
                    None => InProcessEhr::open(store.clone(), source, profile),
                };
                let hosted = hosted.map_err(|error| failed(error.to_string()))?;
                self.0.lock().insert(source, hosted.clone());
                opened.insert(source, hosted);
            }
            Ok(opened)
        })
    }
}

/// Returns the initial state of a simulated EHR: this data source's locations on the day it was first opened.
async fn profile(setup: &Setup, store: &Arc<dyn Store>, source: u32) -> Result<Profile, CommitError> {
    let today = first_day(store, source).await?;
    let locations = setup.locations.values().filter(|location| location.source == Some(source));
    let locations = locations
        .map(|location| LocationProfile {
            key: location.foreign_id.as_deref().map_or_else(|| location.id.to_string(), str::to_owned),
            operatories: if location.map_by_operatory { 8 } else { 6 },
            offsets: offsets(location.zone),
        })
        .collect();
    let profile = Profile::demo(u64::from(source), today, Vec::new(), Vec::new());
    Ok(Profile { locations, ..profile })
}

/// The locations of `practice`, by their ids in the EHR.
pub const LOCATIONS: [(&str, chrono_tz::Tz); 2] =
    [("main-street", chrono_tz::America::New_York), ("lakeside", chrono_tz::America::Chicago)];

/// Returns a practice without a configuration, as of today. It is smaller than the demo's, because the conformance
/// suite lists all records after each write.
pub fn practice() -> Profile {
    let today = i32::try_from(clock::now().0.div_euclid(DAY)).unwrap_or_default();
    let locations =
        LOCATIONS.map(|(key, zone)| LocationProfile { key: key.into(), operatories: 6, offsets: offsets(zone) });
    let demo = Profile::demo(1, today, Vec::new(), Vec::new());
    Profile { locations: locations.into(), patients: 60, days_back: 2, days_ahead: 14, ..demo }
}

/// Returns the first day of a simulated EHR, which is stored so that the practice is the same after a restart.
async fn first_day(store: &Arc<dyn Store>, source: u32) -> Result<i32, CommitError> {
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

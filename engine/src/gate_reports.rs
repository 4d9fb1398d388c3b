//! Reports the state of gates to their locations. A failed report is repeated with backoff. A location has at most one
//! planned retry, however often its gate changes.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use location::{Command, LocationId};
use parking_lot::Mutex;
use processor::EngineError;
use runtime::Doorbell;
use tokio::sync::Semaphore;
use workstations::{Gateway, GatewayLocation};

use crate::directory::Directory;

/// Concurrent reports. After a start, all locations are due.
const AT_ONCE: usize = 32;
const FIRST_PAUSE: Duration = Duration::from_secs(5);
/// The cap of the backoff, reached by damaged locations, which an operator must repair.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

pub(crate) async fn run(directory: Arc<Directory>, gateway: Arc<Gateway>, gates: Arc<Doorbell<LocationId>>) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let retries = Arc::new(Retries::default());
    loop {
        gates.wait().await;
        for location in gates.take() {
            // A location on another node gets the state when it comes here.
            let Some(gated) = gateway.location_gateway(location).filter(|_| directory.is_here(location)) else {
                continue;
            };
            let Ok(place) = places.clone().acquire_owned().await else { return };
            let (directory, gates, retries) = (directory.clone(), gates.clone(), retries.clone());
            tokio::spawn(async move {
                let result = report(&directory, &gated).await;
                drop(place);
                let Err(error) = result else { return retries.reset(location) };
                let Some(pause) = retries.plan(location) else { return };
                tracing::warn!(%location, %error, ?pause, "the location has not received its gate state yet");
                tokio::time::sleep(pause).await;
                retries.begun(location);
                gates.ring([location]);
            });
        }
    }
}

/// Reports the state of a gate. Of two concurrent calls, the second reads the state after the first has ended.
async fn report(directory: &Directory, gated: &GatewayLocation) -> Result<(), EngineError> {
    let _mine = gated.reporting.lock().await;
    let Some(gate) = gated.gate() else { return Ok(()) };
    match directory.request(gated.location, Command::Gate(gate)).await {
        Err(EngineError::Refused(_)) => Ok(()),
        result => result,
    }
}

/// Locations whose report failed.
#[derive(Default)]
struct Retries(Mutex<BTreeMap<LocationId, Retry>>);

#[derive(Default)]
struct Retry {
    failures: u32,
    planned: bool,
}

impl Retries {
    /// Returns the pause before the next retry, or `None` if one is planned already.
    fn plan(&self, location: LocationId) -> Option<Duration> {
        let mut all = self.0.lock();
        let retry = all.entry(location).or_default();
        if std::mem::replace(&mut retry.planned, true) {
            return None;
        }
        let pause = FIRST_PAUSE.saturating_mul(1 << retry.failures.min(16)).min(LONGEST_PAUSE);
        retry.failures += 1;
        Some(pause)
    }

    fn begun(&self, location: LocationId) {
        if let Some(retry) = self.0.lock().get_mut(&location) {
            retry.planned = false;
        }
    }

    /// Resets the backoff. A planned retry still runs, and finds nothing new.
    fn reset(&self, location: LocationId) {
        let mut all = self.0.lock();
        match all.get_mut(&location) {
            Some(retry) if retry.planned => retry.failures = 0,
            _ => drop(all.remove(&location)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: LocationId = LocationId(101);

    #[test]
    fn failed_gate_report_has_one_retry_with_backoff() {
        let retries = Retries::default();
        let pauses: Vec<u64> = (0..9)
            .map(|_| {
                let pause = retries.plan(HERE).map_or(0, |pause| pause.as_secs());
                assert_eq!(retries.plan(HERE), None, "one is planned");
                retries.begun(HERE);
                pause
            })
            .collect();
        assert_eq!(pauses, [5, 10, 20, 40, 80, 160, 300, 300, 300]);
        retries.reset(HERE);
        assert_eq!(retries.plan(HERE), Some(FIRST_PAUSE));
    }
}

//! Reports of EHRs that something has changed. A report is only a hint: it starts an ordinary read of the locations of
//! its data source, and its contents are not trusted. Many hints cause one read.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use location::LocationId;
use processor::LocationMessage;
use setup::LocationStatus;

use crate::{Engine, directory::Directory};

/// Locations notified at once, and the pause before the next ones, because a hint may load all locations of a source.
const AT_ONCE: usize = 64;
const PAUSE: Duration = Duration::from_millis(500);

impl Engine {
    /// Takes a hint that the EHR of a data source has changed: appointments or, with `everything`, any records. The
    /// locations of the source on this node read it soon.
    pub fn ehr_hint(&self, source: u32, everything: bool) {
        let wait = self.directory.hints.take(source, everything, Instant::now());
        if let Some(wait) = wait {
            let directory = self.directory.clone();
            tokio::spawn(async move {
                tokio::time::sleep(wait).await;
                directory.hints.pass_on(source, everything, Instant::now());
                pass_on(&directory, source, everything).await;
            });
        }
    }
}

async fn pass_on(directory: &Arc<Directory>, source: u32, everything: bool) {
    let locations = directory.active_locations(source);
    for (index, some) in locations.chunks(AT_ONCE).enumerate() {
        if index > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        // A full mailbox loses the hint. The location reads at its next cycle.
        some.iter().for_each(|id| directory.notify(*id, LocationMessage::Hint { everything }));
    }
}

impl Directory {
    /// Returns the active locations of a data source on this node.
    fn active_locations(&self, source: u32) -> Vec<LocationId> {
        let setup = self.setup();
        let of_source = setup.locations.values().filter(|location| location.source == Some(source));
        let active = of_source.filter(|location| location.status == LocationStatus::Active);
        active.map(|location| location.id).filter(|id| self.is_here(*id)).collect()
    }
}

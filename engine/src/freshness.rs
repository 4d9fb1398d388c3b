//! The age of a location's schedule, and reads of the EHR before an answer that must be fresh.

use std::time::Duration;

use location::{LocationId, Millis, Timestamp, pull::Freshness};
use processor::LocationMessage;
use runtime::clock;

use crate::Engine;

/// Maximum time that an answer waits for a read.
const PATIENCE: Duration = Duration::from_secs(2);
const TOO_SLOW: &str = "the practice's system did not answer in time";
const NOT_ASKED: &str = "the location takes no further requests at present";

impl Engine {
    /// Returns the time up to which the EHR's changes to a location's appointments are known: now without an EHR,
    /// `None` before the first complete read. The location is not asked.
    pub fn schedule_as_of(&self, location: LocationId) -> Option<Timestamp> {
        match self.location(location)?.source {
            Some(_) => self.metrics.locations.schedule_as_of(location),
            None => Some(clock::now()),
        }
    }

    /// Returns `true` if changes that the EHR made before the last `within` milliseconds may be unknown.
    pub fn is_schedule_older(&self, location: LocationId, within: Millis) -> bool {
        let since = clock::now().minus(within);
        self.schedule_as_of(location).is_none_or(|as_of| as_of < since)
    }

    /// Waits until the schedule is not older than `within`, for at most two seconds. The EHR's appointments are read if
    /// its quota allows. Concurrent calls share a read. Returns the reason if the schedule is still older.
    pub async fn refresh_schedule(&self, location: LocationId, within: Millis) -> Option<&'static str> {
        let now = clock::now();
        let since = now.minus(within);
        let until = now.plus(Millis::try_from(PATIENCE.as_millis()).unwrap_or(Millis::MAX));
        let asked = self.directory.query(location, |reply| LocationMessage::Refresh { since, until, reply });
        match tokio::time::timeout(PATIENCE, asked).await {
            Ok(Ok(Freshness::Fresh)) => None,
            Ok(Ok(Freshness::Unavailable(reason))) => Some(reason),
            Ok(Ok(Freshness::Waiting)) | Err(_) => Some(TOO_SLOW),
            Ok(Err(_)) => Some(NOT_ASKED),
        }
    }

    /// Notes a search, hold or booking of an intent, if the read rhythm of the location depends on them. No commit is
    /// made for it.
    pub fn note_intent(&self, location: LocationId) {
        if self.location(location).is_some_and(|setup| setup.source.is_some() && !setup.settings.pull.is_steady()) {
            self.directory.notify(location, LocationMessage::Intent);
        }
    }
}

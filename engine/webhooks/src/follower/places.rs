//! The streams of an institution in the log of changes.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use location::ids::{InstitutionId, LocationId};
use parking_lot::Mutex;
use query::{
    log::{self, LoggedCommits},
    stream::{Change, CommitHeader, Stream},
};
use setup::{LocationSetup, Setup};
use store::{Store, StoreError};

/// Locations with new commits, by institution.
#[derive(Default)]
pub(super) struct ActiveLocations(Mutex<HashMap<InstitutionId, BTreeSet<LocationId>>>);

impl ActiveLocations {
    pub(super) fn add(&self, institution: InstitutionId, locations: BTreeSet<LocationId>) {
        self.0.lock().entry(institution).or_default().extend(locations);
    }

    /// Returns the locations added since the last call.
    pub(super) fn take(&self, institution: InstitutionId) -> BTreeSet<LocationId> {
        self.0.lock().remove(&institution).unwrap_or_default()
    }
}

pub(super) fn by_institution(
    setup: &Setup,
    locations: BTreeSet<LocationId>,
) -> BTreeMap<InstitutionId, BTreeSet<LocationId>> {
    let mut grouped: BTreeMap<InstitutionId, BTreeSet<LocationId>> = BTreeMap::new();
    for location in locations.iter().filter_map(|id| setup.locations.get(id)) {
        grouped.entry(location.institution).or_default().insert(location.id);
    }
    grouped
}

/// The locations of an institution, and the streams with their changes.
pub(super) struct Places {
    institution: InstitutionId,
    pub locations: BTreeSet<LocationId>,
    streams: Vec<Stream>,
}

impl Places {
    /// A read begins with the streams of the institution and of active locations. It ends when it has found all numbers
    /// of its range (`log::commits`), so most reads skip the streams of the other locations. A wrong set of active
    /// locations costs reads, and loses no change.
    pub(super) fn new(setup: &Setup, institution: InstitutionId, active: &BTreeSet<LocationId>) -> Places {
        let here = setup.locations.values().filter(|location| location.institution == institution);
        let (first, others): (Vec<_>, Vec<_>) = here.partition(|location| active.contains(&location.id));
        let locations = first.iter().chain(&others).map(|location| location.id).collect();
        let mut streams = vec![Stream::Institution(institution.0)];
        streams.extend(streams_of(&first));
        streams.extend(streams_of(&others));
        let sources = setup.sources.values().filter(|source| source.institution == institution);
        streams.extend(sources.map(|source| Stream::Source(source.id)));
        let mut known = BTreeSet::new();
        streams.retain(|stream| known.insert(*stream));
        Places { institution, locations, streams }
    }

    /// Reads commits of the institution. Data source 0 has commits of other institutions, too. So does the stream of a
    /// location that was moved from one.
    pub(super) fn commits(
        &self,
        store: &dyn Store,
        range: (u64, u64),
        enough: usize,
    ) -> Result<LoggedCommits, StoreError> {
        let is_ours = |header: &CommitHeader, _: &Change| {
            header.institution == Some(self.institution)
                && header.turn.is_some_and(|(location, _)| self.locations.contains(&location))
        };
        log::commits(store, &self.streams, range, enough, is_ours)
    }
}

/// Returns the streams of locations and their data sources. Records created without a data source are stored under data
/// source 0.
fn streams_of(locations: &[&Arc<LocationSetup>]) -> Vec<Stream> {
    let sources = locations.iter().map(|location| Stream::Source(location.source.unwrap_or(0)));
    sources.chain(locations.iter().map(|location| Stream::Location(location.id.0))).collect()
}

//! The state of reads from and writes to an EHR.

use engine::{records::SyncSummary, setup::Setup};

use super::{gate::GateView, locations::LocationBasic};
use crate::prelude::*;

/// The read and write status of a health record system, for the locations that share it.
#[derive(Serialize, JsonSchema)]
pub struct SyncStatusView<'a> {
    /// Id of the institution of the locations.
    institution_id: u32,
    /// Always `Emr`; null without a health record system.
    sync_source_type: Option<&'static str>,
    /// Name of the data source in the configuration; null without a health record system.
    sync_source_name: Option<&'a str>,
    /// The health record system; null if there is none.
    emr: Option<SyncSource>,
    /// `green` if reading works at all of the locations, otherwise `red`.
    read_status: &'static str,
    /// If red, the time since which reading has not worked. If green, the time at which reading was last seen to work.
    /// In UTC.
    read_status_at: At,
    /// `green` if writing works at all of the locations, otherwise `red`.
    write_status: &'static str,
    /// If red, the time since which writing has not worked. If green, the time at which writing was last seen to work.
    /// In UTC.
    write_status_at: At,
    /// The locations that share the health record system. In a message, the location whose status changed.
    locations: Vec<LocationBasic<'a>>,
    /// One gate per location, if the health record system is accessed through workstations.
    #[serde(skip_serializing_if = "<[GateView]>::is_empty")]
    gates: &'a [GateView],
}

/// The health record system of a sync status.
#[derive(Serialize, JsonSchema)]
struct SyncSource {
    /// Id of the data source.
    id: u32,
    /// Name of the adapter in the configuration.
    name: String,
    /// Name of the health record system, as reported by its adapter. Until then, the name of the adapter.
    display_name: String,
    /// Hosting of the health record system: `cloud` (at its vendor) or `onprem` (in the practice). Null until its
    /// adapter reports it.
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// The status of a data source with all its locations, or of one location without an EHR.
#[derive(Default)]
pub struct SourceStatus {
    locations: Vec<Arc<LocationSetup>>,
    pub read: DirectionHealth,
    pub write: DirectionHealth,
    ehr: Option<(String, Option<String>)>,
    gates: Vec<GateView>,
}

/// The health of a direction. Red while one of the locations is red, since the first of them turned red.
#[derive(Default)]
pub struct DirectionHealth {
    red_since: Option<Timestamp>,
    green_at: Timestamp,
}

impl DirectionHealth {
    fn add(&mut self, ok: bool, at: Timestamp) {
        if ok {
            self.green_at = self.green_at.max(at);
        } else {
            self.red_since = Some(self.red_since.map_or(at, |since| since.min(at)));
        }
    }

    pub fn color(&self) -> &'static str {
        if self.red_since.is_some() { "red" } else { "green" }
    }

    fn at(&self) -> At {
        At(self.red_since.unwrap_or(self.green_at))
    }
}

impl SourceStatus {
    pub fn add(&mut self, location: Arc<LocationSetup>, state: SyncState, now: Timestamp) {
        self.gates.extend(GateView::from_state(location.id, &state, now));
        let SyncState { read_ok, read_at, write_ok, write_at, ehr_name, ehr_hosting, .. } = state;
        self.add_summary(location, SyncSummary { read_ok, read_at, write_ok, write_at, ehr_name, ehr_hosting });
    }

    fn add_summary(&mut self, location: Arc<LocationSetup>, status: SyncSummary) {
        self.read.add(status.read_ok, status.read_at);
        self.write.add(status.write_ok, status.write_at);
        self.ehr = self.ehr.take().or_else(|| status.ehr_name.map(|name| (name, status.ehr_hosting)));
        self.locations.push(location);
    }
}

/// Returns the status of a single location, for messages.
pub(crate) fn location_status(location: &Arc<LocationSetup>, status: &SyncSummary) -> SourceStatus {
    let mut shared = SourceStatus::default();
    shared.add_summary(location.clone(), status.clone());
    shared
}

pub fn view<'a>(setup: &'a Setup, shared: &'a SourceStatus) -> SyncStatusView<'a> {
    let first = shared.locations.first();
    let institution_id = first.map_or(0, |location| location.institution.0);
    let source = first.and_then(|location| setup.sources.get(&location.source?));
    let emr = source.map(|source| {
        let (name, kind) = shared.ehr.clone().unwrap_or_else(|| (source.adapter.clone(), None));
        SyncSource { id: source.id, name: source.adapter.clone(), display_name: name, kind }
    });
    SyncStatusView {
        institution_id,
        sync_source_type: source.map(|_| "Emr"),
        sync_source_name: source.map(|source| &*source.name),
        emr,
        read_status: shared.read.color(),
        read_status_at: shared.read.at(),
        write_status: shared.write.color(),
        write_status_at: shared.write.at(),
        locations: shared.locations.iter().map(|location| LocationBasic::from_value(location)).collect(),
        gates: &shared.gates,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(states: &[(bool, i64)]) -> (&'static str, At) {
        let mut standing = DirectionHealth::default();
        states.iter().for_each(|(ok, at)| standing.add(*ok, Timestamp(*at)));
        (standing.color(), standing.at())
    }

    #[test]
    fn one_red_location_makes_the_source_red() {
        assert_eq!(standing(&[(true, 5), (true, 7)]), ("green", At(Timestamp(7))));
        assert_eq!(standing(&[(true, 5), (false, 3)]), ("red", At(Timestamp(3))));
        assert_eq!(standing(&[(false, 3), (true, 5)]), ("red", At(Timestamp(3))));
        assert_eq!(standing(&[(false, 9), (false, 3)]), ("red", At(Timestamp(3))));
    }
}

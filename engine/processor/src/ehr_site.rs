//! The data source that a location's records come from, and the location's id in it. The read cursors, working hours,
//! appointments and queued writes of a location refer to both. A location with records is therefore never served with
//! others: it would offer wrong slots, and its writes would reach the records of another practice.

use std::fmt::{self, Display, Formatter};

use location::{Event, LocationId, State};
use records::sync_state::OTHER_SOURCE;
use serde::{Deserialize, Serialize};
use setup::LocationSetup;
use store::{Batch, Store, StoreError};

use crate::note_keys::ehr_site_key;

/// The data source of a location, and the location's id in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EhrSite {
    /// `None` without EHR.
    source: Option<u32>,
    /// `None` if the configuration has none, and without EHR.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    foreign_id: Option<Box<str>>,
}

impl EhrSite {
    pub fn from_setup(setup: &LocationSetup) -> EhrSite {
        let foreign_id = setup.source.and_then(|_| setup.foreign_id.clone());
        EhrSite { source: setup.source, foreign_id }
    }

    /// Returns the stored site of a location, or `None` if the location has no records.
    pub fn stored(store: &dyn Store, location: LocationId) -> Result<Option<EhrSite>, StoreError> {
        let key = ehr_site_key(location);
        let Some(value) = store.get(&key)? else { return Ok(None) };
        serde_json::from_slice(&value).map(Some).map_err(|_| StoreError::damaged(&key, "not the EHR of a location"))
    }

    pub(crate) fn put(&self, batch: &mut Batch, location: LocationId) {
        let value = serde_json::to_vec(self).expect("numbers and texts can always be written as JSON");
        batch.put(ehr_site_key(location), value);
    }

    /// Returns the reason why a location with records of this site cannot have a setup, or `None` if it can.
    pub fn conflict(&self, setup: &LocationSetup) -> Option<String> {
        let configured = EhrSite::from_setup(setup);
        (*self != configured).then(|| {
            format!(
                "{OTHER_SOURCE}: it has records of {self}, and {configured} is configured. Configure {self} again, or \
                 add a new location with another id"
            )
        })
    }
}

impl Display for EhrSite {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.source, &self.foreign_id) {
            (None, _) => f.write_str("no data source"),
            (Some(source), None) => write!(f, "data source {source} without `foreign_id`"),
            (Some(source), Some(foreign_id)) => write!(f, "data source {source} with `foreign_id` {foreign_id:?}"),
        }
    }
}

/// Returns `true` if a location has records: of an earlier version, or by these events.
pub(crate) fn has_records(state: &State, events: &[Event]) -> bool {
    !is_blank(state) || events.iter().any(makes_records)
}

fn makes_records(event: &Event) -> bool {
    matches!(
        event,
        Event::PageApplied { .. }
            | Event::Booked { .. }
            | Event::RecordSaved { .. }
            | Event::HourSet(_)
            | Event::OperatoryPulled(_)
            | Event::WriteQueued { .. }
    )
}

/// Returns `true` for a state without anything of an EHR. Failed reads and a restore leave it blank.
fn is_blank(state: &State) -> bool {
    state.pulls.cursors.is_empty()
        && state.pulls.resume_at.is_empty()
        && state.appointments.is_empty()
        && state.hours.is_empty()
        && state.operatories.is_empty()
        && state.queue.is_empty()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use location::{Command, Resource, Timestamp, command::Failure};
    use records::{Description, Page, ehr::PullAbility};
    use setup::Setup;
    use store::MemoryStore;

    use super::*;
    use crate::{
        Deps, LoadError, Processor,
        ingest::IngestPage,
        testing::{deps, turn},
    };

    const PLACE: LocationId = LocationId(1);

    fn setup(source: Option<u32>, foreign_id: Option<&str>) -> Arc<Setup> {
        let mut place = testing::location(PLACE, 1, 1);
        place.source = source;
        place.foreign_id = foreign_id.map(Into::into);
        Arc::new(testing::setup([testing::institution(1)], [place], [1, 2].map(|id| testing::source(id, 1))))
    }

    fn load(store: &Arc<MemoryStore>, setup: Arc<Setup>) -> (Arc<Deps>, Result<Processor, LoadError>) {
        let deps = deps(store.clone(), setup);
        (deps.clone(), Processor::load(deps, PLACE))
    }

    fn stored(store: &MemoryStore) -> Option<EhrSite> {
        EhrSite::stored(store, PLACE).unwrap()
    }

    /// Reads a page, or fails to.
    async fn read(store: &Arc<MemoryStore>, setup: Arc<Setup>, page: Result<Page, Failure>) -> Processor {
        let (deps, loaded) = load(store, setup);
        let mut processor = loaded.unwrap();
        let mut now = processor.machine.state.latest.max(Timestamp(1_000));
        let pulls = vec![PullAbility { resource: Resource::Patients, delta: true, deletions_by_absence: false }];
        processor.described(Description { pulls, ..Description::default() });
        turn(&deps, &mut processor, &mut now, &Command::SyncNow).await;
        turn(&deps, &mut processor, &mut now, &Command::Wake).await;
        let call = processor.machine.state.pulls.calling.as_ref().unwrap().call;
        let answer = IngestPage { resource: Resource::Patients, call, outcome: page.map(Box::new) };
        turn(&deps, &mut processor, &mut now, &answer).await;
        processor
    }

    fn empty_page() -> Page {
        Page { cursor: "1".into(), ..Page::default() }
    }

    #[tokio::test]
    async fn location_with_a_page_is_loaded_only_with_its_site() {
        let store = Arc::new(MemoryStore::new());
        read(&store, setup(Some(1), Some("a")), Ok(empty_page())).await;
        for (source, foreign_id) in [(Some(2), Some("a")), (Some(1), Some("b")), (Some(1), None), (None, None)] {
            let refused = load(&store, setup(source, foreign_id)).1;
            let Err(LoadError::OtherSource(why)) = refused else { panic!("{source:?} {foreign_id:?} was accepted") };
            assert!(why.contains("Configure data source 1 with `foreign_id` \"a\" again"), "{why}");
        }
        assert!(load(&store, setup(Some(1), Some("a"))).1.is_ok());
    }

    #[tokio::test]
    async fn failed_read_and_restore_store_no_site() {
        let store = Arc::new(MemoryStore::new());
        let failure = Failure::RetryLater { reason: "unknown location".into(), after: None };
        read(&store, setup(Some(1), Some("typo")), Err(failure)).await;
        let (deps, loaded) = load(&store, setup(Some(1), Some("typo")));
        let mut processor = loaded.unwrap();
        for command in [Command::Restored, Command::SyncNow] {
            turn(&deps, &mut processor, &mut Timestamp(9_000), &command).await;
        }
        store.commit(processor.leave().unwrap()).await.unwrap();
        assert_eq!(stored(&store), None);
        read(&store, setup(Some(2), None), Ok(empty_page())).await;
        assert_eq!(stored(&store), Some(EhrSite { source: Some(2), foreign_id: None }));
    }

    #[tokio::test]
    async fn location_of_an_earlier_version_gets_the_site_of_its_first_load() {
        for in_turn in [true, false] {
            let store = Arc::new(MemoryStore::new());
            read(&store, setup(Some(1), None), Ok(empty_page())).await;
            let mut removal = Batch::new();
            removal.delete(ehr_site_key(PLACE));
            store.commit(removal).await.unwrap();
            let (deps, loaded) = load(&store, setup(Some(2), None));
            let mut processor = loaded.unwrap();
            match in_turn {
                true => drop(turn(&deps, &mut processor, &mut Timestamp(9_000), &Command::SyncNow).await),
                false => store.commit(processor.leave().unwrap()).await.unwrap(),
            }
            assert_eq!(stored(&store), Some(EhrSite { source: Some(2), foreign_id: None }), "in a turn: {in_turn}");
        }
    }

    #[test]
    fn foreign_id_without_a_source_has_no_effect() {
        let here = |foreign_id| setup(None, foreign_id).locations[&PLACE].clone();
        assert_eq!(EhrSite::from_setup(&here(Some("a"))).conflict(&here(None)), None);
    }
}

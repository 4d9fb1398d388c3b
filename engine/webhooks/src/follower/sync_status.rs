//! Messages about whether reading and writing work, each direction and both together. They are throttled: after a
//! message about one direction of a location, or about both together, five minutes pass before the next one. The status
//! after that time is sent if it differs from the last message.

use std::collections::{BTreeMap, BTreeSet};

use location::{
    ids::LocationId,
    time::{MINUTE, Millis, Timestamp},
};
use query::stream::StatusChange;
use records::{document::DocumentKind, sync_state::SyncSummary};
use serde::{Deserialize, Serialize};
use store::{Batch, Key, Store, StoreError, keys};

use crate::catalogue::Event;

/// Minimum time between two messages. An EHR that restarts is back by then.
const QUIET: Millis = 5 * MINUTE;

/// The last message about one direction, or about both together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LastNotifiedStatus {
    ok: bool,
    at: Timestamp,
    /// The status changed too soon for another message.
    held: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct LastNotified {
    read: Option<LastNotifiedStatus>,
    write: Option<LastNotifiedStatus>,
    /// Both directions together. Earlier versions did not store it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    both: Option<LastNotifiedStatus>,
    /// The current status, while a message is held. Earlier versions did not store it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    current: Option<SyncSummary>,
}

impl LastNotified {
    /// Returns the time at which a held message may be sent.
    fn due(&self) -> Option<Timestamp> {
        self.current.as_ref()?;
        let held = [self.read, self.write, self.both].into_iter().flatten().filter(|last| last.held);
        held.map(|last| last.at.plus(QUIET)).min()
    }
}

/// A message about one direction, or about both together.
pub(super) struct StatusMessage {
    pub event: Event,
    pub status: SyncSummary,
    /// The field and the value before the change of a single direction.
    pub previous: Option<(&'static str, &'static str)>,
}

/// The last messages of an institution's locations.
#[derive(Clone, Default)]
pub(super) struct StatusThrottle {
    last: BTreeMap<LocationId, LastNotified>,
    changed: BTreeSet<LocationId>,
}

impl StatusThrottle {
    /// Loads the last messages of locations. Replaces times after `now`, which are from before the clock was set back,
    /// so that no message waits for them.
    pub(super) fn load(
        store: &dyn Store,
        locations: impl IntoIterator<Item = LocationId>,
        now: Timestamp,
    ) -> Result<StatusThrottle, StoreError> {
        let locations: Vec<LocationId> = locations.into_iter().collect();
        let keys: Vec<Key> = locations.iter().map(|location| key(*location)).collect();
        let (mut last, mut changed) = (BTreeMap::new(), BTreeSet::new());
        for ((location, key), found) in locations.into_iter().zip(&keys).zip(store.get_many(&keys)?) {
            let Some(found) = found else { continue };
            let known = serde_json::from_slice(&found);
            let mut known: LastNotified =
                known.map_err(|_| StoreError::damaged(key, "a status that cannot be decoded"))?;
            let times = [&mut known.read, &mut known.write, &mut known.both];
            for future in times.into_iter().flatten().filter(|last| last.at > now) {
                future.at = now;
                changed.insert(location);
            }
            last.insert(location, known);
        }
        Ok(StatusThrottle { last, changed })
    }

    /// Applies a change of the status, and returns the messages to send now.
    pub(super) fn change(&mut self, location: LocationId, change: &StatusChange, at: Timestamp) -> Vec<StatusMessage> {
        self.advance(location, (change.read_ok_before, change.write_ok_before), &change.after, at)
    }

    /// Returns the held messages that are due, by location.
    pub(super) fn due_messages(&mut self, now: Timestamp) -> Vec<(LocationId, StatusMessage)> {
        let due: Vec<(LocationId, SyncSummary)> = self
            .last
            .iter()
            .filter(|(_, last)| last.due().is_some_and(|at| at <= now))
            .filter_map(|(location, last)| Some((*location, last.current.clone()?)))
            .collect();
        let messages = due.into_iter().flat_map(|(location, status)| {
            let news = self.advance(location, (status.read_ok, status.write_ok), &status, now);
            news.into_iter().map(move |news| (location, news))
        });
        messages.collect()
    }

    /// Returns the time at which the next held message is due.
    pub(super) fn due(&self) -> Option<Timestamp> {
        self.last.values().filter_map(LastNotified::due).min()
    }

    pub(super) fn is_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    pub(super) fn put(&self, batch: &mut Batch) {
        for (location, last) in self.last.iter().filter(|(location, _)| self.changed.contains(*location)) {
            batch.put(key(*location), serde_json::to_vec(last).expect("plain data makes JSON"));
        }
    }

    fn advance(
        &mut self,
        location: LocationId,
        (read_before, write_before): (bool, bool),
        after: &SyncSummary,
        at: Timestamp,
    ) -> Vec<StatusMessage> {
        let last = self.last.entry(location).or_default();
        let (read, read_news) = next(last.read, (read_before, after.read_ok), at);
        let (write, write_news) = next(last.write, (write_before, after.write_ok), at);
        let all_ok = after.read_ok && after.write_ok;
        let (both, both_news) = next(last.both, (read_before && write_before, all_ok), at);
        let is_held = [read, write, both].into_iter().flatten().any(|last| last.held);
        let now = LastNotified { read, write, both, current: is_held.then(|| after.clone()) };
        if *last != now {
            *last = now;
            self.changed.insert(location);
        }
        let before = |ok: bool| if ok { "red" } else { "green" };
        let fact = if all_ok { Event::SyncRecovered } else { Event::SyncDegraded };
        [
            (read_news, Event::SyncStatusReadChange, Some(("read_status", before(after.read_ok)))),
            (write_news, Event::SyncStatusWriteChange, Some(("write_status", before(after.write_ok)))),
            (both_news, fact, None),
        ]
        .into_iter()
        .filter(|(news, ..)| *news)
        .map(|(_, event, previous)| StatusMessage { event, status: after.clone(), previous })
        .collect()
    }
}

fn key(location: LocationId) -> Key {
    keys::record(DocumentKind::ReportedSyncStatus.byte(), 0, location.0.into())
}

/// Returns the last message as of now, and whether it is sent now.
fn next(
    last: Option<LastNotifiedStatus>,
    (before, after): (bool, bool),
    now: Timestamp,
) -> (Option<LastNotifiedStatus>, bool) {
    let news = Some(LastNotifiedStatus { ok: after, at: now, held: false });
    match last {
        Some(last) if now.since(last.at) < QUIET => {
            (Some(LastNotifiedStatus { held: last.held || before != after, ..last }), false)
        }
        Some(last) if last.held => match after == last.ok {
            true => (Some(LastNotifiedStatus { held: false, ..last }), false),
            false => (news, true),
        },
        _ if before != after => (news, true),
        _ => (last, false),
    }
}

#[cfg(test)]
mod tests {
    use location::time::HOUR;
    use store::MemoryStore;

    use super::*;

    const UP: bool = true;
    const DOWN: bool = false;

    /// Returns the messages about a status that changes at these minutes.
    fn sent_messages(lights: &[(i64, bool)]) -> Vec<(i64, bool)> {
        let (mut last, mut light, mut sent) = (None, UP, Vec::new());
        for (minute, now) in lights {
            let (after, news) = next(last, (light, *now), Timestamp(minute * MINUTE));
            if news {
                sent.push((*minute, *now));
            }
            (last, light) = (after, *now);
        }
        sent
    }

    #[test]
    fn change_is_sent_at_once_and_only_once() {
        assert_eq!(
            sent_messages(&[(0, UP), (10, DOWN), (11, DOWN), (30, DOWN), (40, UP), (50, UP)]),
            [(10, DOWN), (40, UP)]
        );
    }

    #[test]
    fn flapping_status_sends_one_message() {
        let flutter = [(10, DOWN), (11, UP), (12, DOWN), (13, UP), (14, DOWN), (16, DOWN), (20, DOWN)];
        assert_eq!(sent_messages(&flutter), [(10, DOWN)]);
    }

    #[test]
    fn status_after_the_pause_is_sent_if_it_differs() {
        assert_eq!(sent_messages(&[(10, DOWN), (11, UP), (16, UP), (17, UP)]), [(10, DOWN), (16, UP)]);
        // The status changes back with the commit that would have reported it.
        assert_eq!(sent_messages(&[(10, DOWN), (11, UP), (16, DOWN), (30, UP)]), [(10, DOWN), (30, UP)]);
    }

    #[test]
    fn held_status_is_due_after_the_pause_and_sent_once() {
        let status = |ok| SyncSummary {
            read_ok: ok,
            read_at: Timestamp(0),
            write_ok: true,
            write_at: Timestamp(0),
            ehr_name: None,
            ehr_hosting: None,
        };
        let change = |ok: bool| StatusChange { read_ok_before: !ok, write_ok_before: true, after: status(ok) };
        let (mut throttle, here) = (StatusThrottle::default(), LocationId(1));
        let events = |news: &[StatusMessage]| news.iter().map(|it| it.event).collect::<Vec<_>>();
        let sent = throttle.change(here, &change(DOWN), Timestamp(0));
        assert_eq!(events(&sent), [Event::SyncStatusReadChange, Event::SyncDegraded]);
        assert_eq!(
            (throttle.change(here, &change(UP), Timestamp(MINUTE)).len(), throttle.due()),
            (0, Some(Timestamp(QUIET)))
        );
        assert_eq!(throttle.due_messages(Timestamp(QUIET - 1)).len(), 0);
        let sent: Vec<StatusMessage> =
            throttle.due_messages(Timestamp(QUIET)).into_iter().map(|(_, news)| news).collect();
        assert_eq!(events(&sent), [Event::SyncStatusReadChange, Event::SyncRecovered]);
        assert_eq!(sent.iter().map(|news| news.previous).collect::<Vec<_>>(), [Some(("read_status", "red")), None]);
        assert_eq!(throttle.due(), None);
        // The clock is set back by an hour while a message is held.
        let store = MemoryStore::new();
        let mut batch = Batch::new();
        let mut ahead = StatusThrottle::default();
        assert_eq!(ahead.change(here, &change(DOWN), Timestamp(HOUR)).len(), 2);
        assert_eq!(ahead.change(here, &change(UP), Timestamp(HOUR + MINUTE)).len(), 0);
        ahead.put(&mut batch);
        store.commit_now(batch).expect("the store is in memory");
        let back = StatusThrottle::load(&store, [here], Timestamp(MINUTE)).expect("the store is in memory");
        assert_eq!((back.due(), back.is_changed()), (Some(Timestamp(MINUTE + QUIET)), true));
        // A document of an earlier version has no current status. The next change sends it.
        let old: LastNotified =
            serde_json::from_str(r#"{"read":{"ok":true,"at":0,"held":true},"write":null}"#).expect("JSON");
        assert_eq!((old.due(), old.both), (None, None));
    }

    #[test]
    fn a_location_is_degraded_until_both_directions_work() {
        let status = |read_ok, write_ok| SyncSummary {
            read_ok,
            read_at: Timestamp(0),
            write_ok,
            write_at: Timestamp(0),
            ehr_name: None,
            ehr_hosting: None,
        };
        let mut throttle = StatusThrottle::default();
        let (mut before, mut sent) = ((UP, UP), Vec::new());
        for (minute, now) in [(10, (DOWN, UP)), (20, (DOWN, DOWN)), (30, (UP, DOWN)), (40, (UP, UP))] {
            let change =
                StatusChange { read_ok_before: before.0, write_ok_before: before.1, after: status(now.0, now.1) };
            let news = throttle.change(LocationId(1), &change, Timestamp(minute * MINUTE));
            sent.extend(news.into_iter().filter(|it| it.previous.is_none()).map(|it| (minute, it.event)));
            before = now;
        }
        assert_eq!(sent, [(10, Event::SyncDegraded), (40, Event::SyncRecovered)]);
    }
}

//! Webhook messages about whether reading and writing work, in the commit that changes the status. They are throttled:
//! after a message about one direction of a location, five minutes pass before the next one. The first commit after
//! that reports the current status if it differs from the last message. A location with a held change wakes for that
//! commit.

use location::{
    event::Event as Happened,
    time::{MINUTE, Millis, Timestamp},
};
use records::{document::DocumentKind, sync_state::SyncState};
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};
use store::{Key, keys};
use webhooks::{
    catalogue::{Event, EventName},
    payload::Message,
};

use crate::{
    error::Reject,
    notify::Publisher,
    processor::{Processor, decode},
};

/// Minimum time between two messages. An EHR that restarts is back by then.
const QUIET: Millis = 5 * MINUTE;

/// The last message about one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LastNotifiedStatus {
    ok: bool,
    at: Timestamp,
    /// The status changed too soon for another message.
    held: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct LastNotified {
    read: Option<LastNotifiedStatus>,
    write: Option<LastNotifiedStatus>,
}

impl Publisher<'_, '_> {
    pub(super) fn sync_status(&mut self, events: &[Happened]) -> Result<(), Reject> {
        let (read, write) = (Event::SyncStatusReadChange, Event::SyncStatusWriteChange);
        if !self.wanted(read) && !self.wanted(write) {
            return Ok(());
        }
        let (before, after) = self.before_and_after(events);
        let said = last_notified(self.processor)?;
        let (read_said, read_news) = next(said.read, (before.read_ok, after.read_ok), self.cx.now);
        let (write_said, write_news) = next(said.write, (before.write_ok, after.write_ok), self.cx.now);
        let now_said = LastNotified { read: read_said, write: write_said };
        if now_said != said {
            let bytes = serde_json::to_vec(&now_said).map_err(|_| Reject::Damaged("the last notified sync status"))?;
            self.batch.put(key(self.processor.setup.id.0), bytes);
        }
        for (event, news, field, ok) in
            [(read, read_news, "read_status", after.read_ok), (write, write_news, "write_status", after.write_ok)]
        {
            let Some(name) = EventName::change(event).filter(|_| news) else { continue };
            let views = &self.processor.deps.views;
            let location = self.processor.setup.id;
            self.send(name, |context, hears| {
                if !hears.at(location) {
                    return Ok(Vec::new());
                }
                let mut data = Map::new();
                data.insert(name.resource_type().key().to_owned(), views.sync_status(context, &after)?);
                let was = if ok { "red" } else { "green" };
                data.insert("previous_attributes".to_owned(), json!({ field: was }));
                Ok(vec![Message { data, location: Some(location) }])
            })?;
        }
        Ok(())
    }

    /// Returns the status at the previous turn, and after this one.
    fn before_and_after(&self, events: &[Happened]) -> (SyncState, SyncState) {
        let (processor, now) = (self.processor, self.cx.now);
        let state = |machine, at| SyncState::from_location(machine, processor.description.as_ref(), at);
        let before = state(&processor.machine, processor.last_turn.unwrap_or(now));
        let unchanged = state(&processor.machine, now);
        let red = !unchanged.read_ok || !unchanged.write_ok;
        let unread = processor.machine.state.pulls.progress.is_empty();
        if !events.iter().any(|event| matters(event, red) || (unread && matches!(event, Happened::PageApplied { .. })))
        {
            return (before, unchanged);
        }
        let mut machine = processor.machine.clone();
        events.iter().for_each(|event| machine.evolve(now, event));
        (before, state(&machine, now))
    }
}

/// Returns the time at which a held change may be reported.
pub(crate) fn due(processor: &Processor) -> Result<Option<Timestamp>, Reject> {
    let heard = |event| processor.deps.outbox.has_subscribers_for(processor.institution.id, event);
    if !heard(Event::SyncStatusReadChange) && !heard(Event::SyncStatusWriteChange) {
        return Ok(None);
    }
    let LastNotified { read, write } = last_notified(processor)?;
    let held = [read, write].into_iter().flatten().filter(|said| said.held);
    Ok(held.map(|said| said.at.plus(QUIET)).min())
}

fn last_notified(processor: &Processor) -> Result<LastNotified, Reject> {
    let said = processor.deps.store.get(&key(processor.setup.id.0))?.map(|bytes| decode(&bytes)).transpose()?;
    Ok(said.unwrap_or_default())
}

fn key(location: u32) -> Key {
    keys::record(DocumentKind::ReportedSyncStatus.byte(), 0, location.into())
}

/// Returns `true` if an event may change the status. Some events can only end a problem, so they matter only if `red`.
fn matters(event: &Happened, red: bool) -> bool {
    match event {
        Happened::PullFailed { .. }
        | Happened::PullSuspended { .. }
        | Happened::GuardTripped { .. }
        | Happened::BreakerOpened { .. }
        | Happened::GateTurned { .. }
        | Happened::PauseTurned { .. } => true,
        Happened::CycleFinished { .. }
        | Happened::BreakerClosed
        | Happened::SyncRequested
        | Happened::WriteDone { .. }
        | Happened::WriteFailed { .. } => red,
        _ => false,
    }
}

/// Returns the last message as of now, and whether it is sent by this turn.
fn next(
    said: Option<LastNotifiedStatus>,
    (before, after): (bool, bool),
    now: Timestamp,
) -> (Option<LastNotifiedStatus>, bool) {
    let news = Some(LastNotifiedStatus { ok: after, at: now, held: false });
    match said {
        Some(last) if now.since(last.at) < QUIET => {
            (Some(LastNotifiedStatus { held: last.held || before != after, ..last }), false)
        }
        Some(last) if last.held => match after == last.ok {
            true => (Some(LastNotifiedStatus { held: false, ..last }), false),
            false => (news, true),
        },
        _ if before != after => (news, true),
        _ => (said, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UP: bool = true;
    const DOWN: bool = false;

    /// Returns the messages about a status that changes at these minutes.
    fn sent_messages(lights: &[(i64, bool)]) -> Vec<(i64, bool)> {
        let (mut said, mut light, mut told) = (None, UP, Vec::new());
        for (minute, now) in lights {
            let (after, news) = next(said, (light, *now), Timestamp(minute * MINUTE));
            if news {
                told.push((*minute, *now));
            }
            (said, light) = (after, *now);
        }
        told
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
}

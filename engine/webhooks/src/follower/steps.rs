//! The steps of a commit: parts whose messages enter one batch together, in the order of the messages.

use location::pull::Resource;
use query::{
    log::LoggedCommit,
    stream::{Change, ChangeKind, EndedWrite, RecordStates, Recorded, StatusChange, WriteResult},
};
use records::{
    facts::{ChangedBy, VisitFact, VisitFacts},
    schema::{rules, scope_of},
};
use serde::{Deserialize, de::IgnoredAny};
use setup::Setup;
use store::{Key, keys};

use crate::{
    catalogue::{Event, EventName, ResourceType, WriteOutcome},
    payload::Layout,
};

pub(super) enum Step<'c> {
    Status(&'c StatusChange),
    Ended {
        name: EventName,
        write: &'c EndedWrite,
        /// The key of the record. `None` if the location was removed from the setup and the record is unchanged.
        key: Option<Key>,
    },
    /// Changed records that may share messages.
    Changed {
        name: EventName,
        records: Vec<ChangedRecord<'c>>,
    },
    /// A fact of a changed appointment. Follows the other steps of the commit.
    Fact {
        name: EventName,
        fact: VisitFact,
        by: ChangedBy,
        record: ChangedRecord<'c>,
    },
}

/// A record that an event is about.
#[derive(Clone)]
pub(super) struct ChangedRecord<'c> {
    pub key: Key,
    pub resource: Resource,
    pub before: Option<&'c [u8]>,
}

/// Returns the steps of a commit. Their number depends on the commit only, so that a position within them stays valid.
pub(super) fn steps<'c>(commit: &'c LoggedCommit, setup: &Setup) -> Vec<Step<'c>> {
    let (mut steps, mut changed, mut facts) = (Vec::new(), Vec::new(), Vec::new());
    for (stream, change) in &commit.changes {
        match change {
            // The status comes first, at most once per commit.
            Change::Status(change) => steps.insert(0, Step::Status(change)),
            Change::Ended(write) => {
                steps.extend(ended(write).map(|name| Step::Ended {
                    name,
                    write,
                    key: ended_key(commit, write, setup),
                }));
            }
            Change::Record(recorded) => {
                let Some(states) = &recorded.states else { continue };
                let key = || stream.record_key(recorded.resource, recorded.id);
                changed.extend(announced(recorded, states).map(|name| (key(), name, recorded)));
                facts.extend(states.facts.as_ref().map(|facts| (key(), facts, recorded)));
            }
        }
    }
    // In the order of the records, so patients precede their appointments.
    changed.sort_by(|(key, ..), (other, ..)| key.cmp(other));
    let mut by_event: Vec<(EventName, Vec<ChangedRecord<'_>>)> = Vec::new();
    for (key, name, recorded) in changed {
        let record = ChangedRecord::new(key, recorded);
        match by_event.iter_mut().rev().find(|(known, _)| *known == name) {
            Some((_, records)) => records.push(record),
            None => by_event.push((name, vec![record])),
        }
    }
    for (name, records) in by_event {
        match Layout::for_event(name.event()) {
            Layout::One => steps.extend(records.into_iter().map(|it| Step::Changed { name, records: vec![it] })),
            Layout::Many | Layout::OfPatient => steps.push(Step::Changed { name, records }),
        }
    }
    facts.sort_by(|(key, ..), (other, ..)| key.cmp(other));
    for (key, VisitFacts { by, facts }, recorded) in facts {
        let record = ChangedRecord::new(key, recorded);
        steps.extend(facts.iter().filter_map(|fact| {
            let name = EventName::change(Event::from_fact(*fact))?;
            Some(Step::Fact { name, fact: *fact, by: *by, record: record.clone() })
        }));
    }
    steps
}

impl<'c> ChangedRecord<'c> {
    fn new(key: Key, recorded: &'c Recorded) -> ChangedRecord<'c> {
        let before = recorded.states.as_ref().and_then(|states| states.before.as_deref());
        ChangedRecord { key, resource: recorded.resource, before }
    }
}

/// Returns the key of the record of a write, which its commit may leave unchanged.
fn ended_key(commit: &LoggedCommit, write: &EndedWrite, setup: &Setup) -> Option<Key> {
    let changed = commit.changes.iter().find_map(|(stream, change)| match change {
        Change::Record(it) if (it.resource, it.id) == (write.resource, write.id) && it.states.is_some() => {
            Some(stream.record_key(it.resource, it.id))
        }
        _ => None,
    });
    changed.or_else(|| {
        let place = setup.locations.get(&commit.header.turn?.0)?;
        let scope = scope_of(write.resource, place.institution.0, place.source, place.id.0);
        Some(keys::record(rules(write.resource).tag, scope, write.id))
    })
}

fn ended(write: &EndedWrite) -> Option<EventName> {
    let outcome = match write.result {
        WriteResult::Complete => WriteOutcome::Complete,
        WriteResult::Failed => WriteOutcome::Failed,
        WriteResult::TimedOut => WriteOutcome::TimedOut,
    };
    let event = ResourceType::from_resource(write.resource)?.written(write.operation)?;
    EventName::written(event, outcome)
}

fn announced(recorded: &Recorded, states: &RecordStates) -> Option<EventName> {
    EventName::change(event(recorded, states)?)
}

/// Returns the event of a change, if any. A payment or adjustment made here counts as created when it reaches the
/// ledger (specification 6.5). Changes of deleted records are not sent.
fn event(recorded: &Recorded, states: &RecordStates) -> Option<Event> {
    let kind = ResourceType::from_resource(recorded.resource)?;
    if states.deleted && recorded.change != ChangeKind::Deleted {
        return None;
    }
    let change = match recorded.resource {
        Resource::Payments | Resource::Adjustments
            if !recorded.lacks_image() && !states.before.as_deref().is_some_and(in_ehr) =>
        {
            Some(ChangeKind::Created).filter(|_| states.in_ehr && !states.deleted)?
        }
        _ => recorded.change,
    };
    kind.changed(change)
}

pub(super) fn in_ehr(stored: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Filed {
        foreign_id: Option<IgnoredAny>,
    }
    serde_json::from_slice::<Filed>(stored).is_ok_and(|filed| filed.foreign_id.is_some())
}

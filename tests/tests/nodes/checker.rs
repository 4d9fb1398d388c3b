//! Compares the clients' calls and answers with the final schedule, EHR, ledger and messages. The checker is
//! independent of the product's implementation.

use std::collections::{BTreeMap, BTreeSet};

/// An operatory and a time, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SlotPlace {
    pub location: u32,
    pub operatory: u64,
    pub start: i64,
    pub end: i64,
}

impl SlotPlace {
    fn meets(&self, other: &SlotPlace) -> bool {
        let same = (self.location, self.operatory) == (other.location, other.operatory);
        same && self.start < other.end && other.start < self.end
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Book { key: String, place: SlotPlace },
    Move { appointment: u64, to: SlotPlace },
    Confirm { appointment: u64 },
    Cancel { appointment: u64 },
    Pay { key: String, cents: u64 },
    Hold,
    Release,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallResult {
    /// The record's id and its booking reference, if any.
    Accepted {
        id: u64,
        name: String,
    },
    Refused(u16),
    /// 503 or no answer: whether the call had an effect is unknown.
    Nothing,
}

/// Times are of one clock, in any unit.
#[derive(Clone, Debug)]
pub struct ClientCall {
    pub asked: Action,
    pub began: u128,
    pub ended: u128,
    pub answered: CallResult,
}

/// The state of an appointment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    pub place: SlotPlace,
    pub confirmed: bool,
    pub cancelled: bool,
}

#[derive(Clone, Debug)]
pub struct Message {
    pub delivery: String,
    pub sequence: u64,
    pub appointment: u64,
    pub visit: Visit,
}

/// The final state.
#[derive(Clone, Debug, Default)]
pub struct RunOutcome {
    /// Appointments in our lists, by id.
    pub ours: BTreeMap<u64, Visit>,
    /// Appointments in the EHRs, by the key that was sent as the note.
    pub in_ehr: Vec<(String, Visit)>,
    /// Keys and cents.
    pub payments: Vec<(String, u64)>,
    pub payments_in_ehr: Vec<(String, u64)>,
    /// In order of arrival.
    pub messages: Vec<Message>,
}

/// Returns the violations as text; empty if there are none.
pub fn findings(history: &[ClientCall], outcome: &RunOutcome) -> Vec<String> {
    let expected = expected(history);
    [
        keys_have_one_answer(history),
        no_slot_was_granted_twice(history),
        refusals_have_a_conflicting_call(history),
        appointments_exist_once(&expected, outcome),
        payments_exist_once(history, outcome),
        messages_are_in_order(&expected, outcome),
    ]
    .concat()
}

/// The expected state of an accepted booking after all accepted calls about it.
struct Expected {
    key: String,
    visit: Visit,
}

fn expected(history: &[ClientCall]) -> BTreeMap<u64, Expected> {
    let mut expected: BTreeMap<u64, Expected> = BTreeMap::new();
    for (key, place, id, _) in booked(history) {
        let visit = Visit { place, confirmed: false, cancelled: false };
        expected.entry(id).or_insert(Expected { key: key.to_owned(), visit });
    }
    let mut changes: Vec<&ClientCall> = history.iter().filter(|call| is_accepted(call)).collect();
    changes.sort_by_key(|call| call.began);
    for call in changes {
        let mut change = |id: &u64, make: &dyn Fn(&mut Visit)| {
            expected.get_mut(id).into_iter().for_each(|expected| make(&mut expected.visit));
        };
        match &call.asked {
            Action::Move { appointment, to } => change(appointment, &|visit| visit.place = *to),
            Action::Confirm { appointment } => change(appointment, &|visit| visit.confirmed = true),
            Action::Cancel { appointment } => change(appointment, &|visit| visit.cancelled = true),
            _ => {}
        }
    }
    expected
}

fn is_accepted(call: &ClientCall) -> bool {
    matches!(call.answered, CallResult::Accepted { .. })
}

/// Returns key, place, id and time of acknowledgement of each accepted booking.
fn booked(history: &[ClientCall]) -> impl Iterator<Item = (&str, SlotPlace, u64, u128)> {
    history.iter().filter_map(|call| match (&call.asked, &call.answered) {
        (Action::Book { key, place }, CallResult::Accepted { id, .. }) => Some((key.as_str(), *place, *id, call.ended)),
        _ => None,
    })
}

fn keys_have_one_answer(history: &[ClientCall]) -> Vec<String> {
    let mut answers: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for call in history.iter().filter(|call| call.answered != CallResult::Nothing) {
        if let Action::Book { key, .. } | Action::Pay { key, .. } = &call.asked {
            answers.entry(key).or_default().insert(format!("{:?}", call.answered));
        }
    }
    let several = answers.into_iter().filter(|(_, answers)| answers.len() > 1);
    several.map(|(key, answers)| format!("the key {key} has several answers: {answers:?}")).collect()
}

/// A booking certainly holds its place from its acknowledgement until a call to cancel or move it begins.
fn no_slot_was_granted_twice(history: &[ClientCall]) -> Vec<String> {
    let left = |id: u64, after: u128| {
        let leaves = |call: &&ClientCall| match &call.asked {
            Action::Cancel { appointment } | Action::Move { appointment, .. } => {
                *appointment == id && call.began >= after
            }
            _ => false,
        };
        history.iter().filter(leaves).map(|call| call.began).min().unwrap_or(u128::MAX)
    };
    let mut held: BTreeMap<(u64, SlotPlace), (u128, u128)> = BTreeMap::new();
    let moved = history.iter().filter_map(|call| match (&call.asked, &call.answered) {
        (Action::Move { appointment, to }, CallResult::Accepted { .. }) => Some((*to, *appointment, call.ended)),
        _ => None,
    });
    for (place, id, since) in booked(history).map(|(_, place, id, since)| (place, id, since)).chain(moved) {
        let until = left(id, since);
        let known = held.entry((id, place)).or_insert((since, until));
        *known = (known.0.min(since), known.1.min(until));
    }
    let held: Vec<_> = held.into_iter().collect();
    let mut found = Vec::new();
    for (at, ((one, place), (since, until))) in held.iter().enumerate() {
        for ((other, there), (from, to)) in &held[at + 1..] {
            if one != other && place.meets(there) && from < until && since < to {
                found.push(format!("appointments {one} and {other} both had {place:?}"));
            }
        }
    }
    found
}

fn refusals_have_a_conflicting_call(history: &[ClientCall]) -> Vec<String> {
    let taken: Vec<SlotPlace> = booked(history).map(|(_, place, ..)| place).collect();
    let refused = history.iter().filter_map(|call| match (&call.asked, &call.answered) {
        (Action::Book { key, place }, CallResult::Refused(status)) => Some((key, place, status)),
        _ => None,
    });
    refused
        .filter(|(_, place, _)| !taken.iter().any(|taken| taken.meets(place)))
        .map(|(key, place, status)| format!("{key} was refused with {status}, and no booking has {place:?}"))
        .collect()
}

fn appointments_exist_once(expected: &BTreeMap<u64, Expected>, outcome: &RunOutcome) -> Vec<String> {
    let mut found = Vec::new();
    for (id, Expected { key, visit }) in expected {
        match outcome.ours.get(id) {
            None => found.push(format!("{key}, appointment {id}, is lost")),
            Some(shown) if shown != visit => found.push(format!("{key} is shown as {shown:?}, not {visit:?}")),
            Some(_) => {}
        }
        let there: Vec<&Visit> =
            outcome.in_ehr.iter().filter(|(note, _)| note == key).map(|(_, there)| there).collect();
        match there.as_slice() {
            // A booking cancelled before it was sent is never sent.
            [] if visit.cancelled => {}
            [one] if visit.cancelled && one.cancelled => {}
            [one] if *one == visit => {}
            other => found.push(format!("{key} should be in the EHR once, as {visit:?}; there is {other:?}")),
        }
    }
    let keys: BTreeSet<&str> = expected.values().map(|expected| expected.key.as_str()).collect();
    let unexpected = outcome.in_ehr.iter().filter(|(note, _)| !keys.contains(note.as_str()));
    found.extend(unexpected.map(|(note, _)| format!("no accepted call made {note}, which is in the EHR")));
    let live: Vec<(&str, SlotPlace)> =
        outcome.in_ehr.iter().filter(|(_, it)| !it.cancelled).map(|(note, it)| (note.as_str(), it.place)).collect();
    for (at, (one, place)) in live.iter().enumerate() {
        for (other, there) in &live[at + 1..] {
            if place.meets(there) {
                found.push(format!("{one} and {other} are both at {place:?} in the EHR"));
            }
        }
    }
    found
}

fn payments_exist_once(history: &[ClientCall], outcome: &RunOutcome) -> Vec<String> {
    let accepted = history.iter().filter_map(|call| match &call.asked {
        Action::Pay { key, cents } if is_accepted(call) => Some((key.clone(), *cents)),
        _ => None,
    });
    let accepted: BTreeSet<(String, u64)> = accepted.collect();
    let mut found = Vec::new();
    for (place, there) in [("our list", &outcome.payments), ("the EHR", &outcome.payments_in_ehr)] {
        for payment in &accepted {
            let times = there.iter().filter(|other| *other == payment).count();
            if times != 1 {
                found.push(format!("payment {payment:?} is in {place} {times} times"));
            }
        }
        let unexpected = there.iter().filter(|payment| !accepted.contains(payment));
        found.extend(
            unexpected.map(|payment| format!("no accepted call made payment {payment:?}, which is in {place}")),
        );
    }
    found
}

/// Later messages of a record have greater numbers, and the last one has the final state. Repeated messages have the
/// same id.
fn messages_are_in_order(expected: &BTreeMap<u64, Expected>, outcome: &RunOutcome) -> Vec<String> {
    let (mut seen, mut last) = (BTreeSet::new(), BTreeMap::<u64, (u64, Visit)>::new());
    let mut found = Vec::new();
    for message in outcome.messages.iter().filter(|message| seen.insert(&message.delivery)) {
        let state = (message.sequence, message.visit);
        // Two messages of one commit have the same number and the same content.
        let wrong = |before: &(u64, Visit)| before.0 > state.0 || (before.0 == state.0 && before.1 != state.1);
        if let Some((before, _)) = last.insert(message.appointment, state).filter(wrong) {
            found.push(format!("appointment {}: message {} came after {before}", message.appointment, state.0));
        }
    }
    for (id, Expected { key, visit }) in expected {
        match last.get(id) {
            None => found.push(format!("the subscriber got no message about {key}, appointment {id}")),
            Some((_, state)) if state != visit => {
                found.push(format!("the last message about {key} has {state:?}, not {visit:?}"));
            }
            Some(_) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: SlotPlace = SlotPlace { location: 1, operatory: 7, start: 100, end: 200 };
    const THERE: SlotPlace = SlotPlace { start: 300, end: 400, ..HERE };

    fn call(began: u128, ended: u128, asked: Action, answered: CallResult) -> ClientCall {
        ClientCall { asked, began, ended, answered }
    }

    fn book(key: &str, place: SlotPlace) -> Action {
        Action::Book { key: key.into(), place }
    }

    fn pay(key: &str, cents: u64) -> Action {
        Action::Pay { key: key.into(), cents }
    }

    fn id(id: u64) -> CallResult {
        CallResult::Accepted { id, name: format!("bkg-{id}") }
    }

    fn visit(place: SlotPlace) -> Visit {
        Visit { place, confirmed: false, cancelled: false }
    }

    fn message(delivery: &str, sequence: u64, visit: Visit) -> Message {
        Message { delivery: delivery.into(), sequence, appointment: 1, visit }
    }

    /// A booking that was moved, confirmed and paid, and a rival that was refused.
    fn fine() -> (Vec<ClientCall>, RunOutcome) {
        let history = vec![
            call(0, 5, book("a", HERE), CallResult::Nothing),
            call(1, 9, book("rival", HERE), CallResult::Refused(409)),
            call(6, 10, book("a", HERE), id(1)),
            call(11, 12, Action::Move { appointment: 1, to: THERE }, CallResult::Nothing),
            call(13, 14, Action::Move { appointment: 1, to: THERE }, id(1)),
            call(15, 16, Action::Confirm { appointment: 1 }, id(1)),
            call(17, 18, pay("p", 1250), id(4)),
            call(19, 20, book("a", HERE), id(1)),
        ];
        let now = Visit { confirmed: true, ..visit(THERE) };
        let outcome = RunOutcome {
            ours: [(1, now)].into(),
            in_ehr: vec![("a".into(), now)],
            payments: vec![("p".into(), 1250)],
            payments_in_ehr: vec![("p".into(), 1250)],
            messages: vec![
                message("m1", 1, visit(HERE)),
                message("m1", 1, visit(HERE)),
                message("m2", 2, visit(THERE)),
                message("m3", 3, now),
            ],
        };
        (history, outcome)
    }

    fn found(spoil: impl FnOnce(&mut Vec<ClientCall>, &mut RunOutcome)) -> String {
        let (mut history, mut outcome) = fine();
        spoil(&mut history, &mut outcome);
        findings(&history, &outcome).join("; ")
    }

    #[test]
    fn correct_history_has_no_findings() {
        assert_eq!(found(|_, _| {}), "");
        // After the move the place can be booked again. A booking cancelled before it was sent is not in the EHR.
        let later = found(|history, outcome| {
            history
                .extend([call(21, 22, book("b", HERE), id(2)), call(23, 24, Action::Cancel { appointment: 2 }, id(2))]);
            let cancelled = Visit { cancelled: true, ..visit(HERE) };
            outcome.ours.insert(2, cancelled);
            outcome.messages.push(Message { appointment: 2, ..message("m4", 4, cancelled) });
        });
        assert_eq!(later, "");
    }

    #[test]
    fn every_violation_is_a_finding() {
        let assert_reports = |found: String, what: &str| assert!(found.contains(what), "{what}: {found:?}");
        assert_reports(found(|history, _| history[7].answered = id(2)), "the key a has several answers");
        assert_reports(found(|history, _| history.push(call(8, 9, book("b", HERE), id(2)))), "1 and 2 both had");
        let overlapping = SlotPlace { start: 350, end: 450, ..HERE };
        assert_reports(
            found(|history, _| history.push(call(30, 31, book("b", overlapping), id(2)))),
            "1 and 2 both had",
        );
        assert_reports(
            found(|history, _| history[1].asked = book("rival", SlotPlace { operatory: 8, ..HERE })),
            "no booking has",
        );
        assert_reports(found(|_, outcome| outcome.ours.clear()), "a, appointment 1, is lost");
        assert_reports(found(|_, outcome| outcome.ours.get_mut(&1).unwrap().place = HERE), "a is shown as");
        assert_reports(found(|_, outcome| outcome.in_ehr.clear()), "a should be in the EHR once");
        assert_reports(
            found(|_, outcome| outcome.in_ehr.push(outcome.in_ehr[0].clone())),
            "a should be in the EHR once",
        );
        assert_reports(found(|_, outcome| outcome.in_ehr[0].1.confirmed = false), "a should be in the EHR once");
        assert_reports(
            found(|_, outcome| outcome.in_ehr.push(("rival".into(), visit(HERE)))),
            "no accepted call made rival",
        );
        assert_reports(found(|_, outcome| outcome.in_ehr.push(("b".into(), visit(THERE)))), "a and b are both at");
        assert_reports(found(|_, outcome| outcome.payments.clear()), "is in our list 0 times");
        assert_reports(found(|_, outcome| outcome.payments_in_ehr.push(("p".into(), 1250))), "is in the EHR 2 times");
        assert_reports(found(|_, outcome| outcome.payments_in_ehr[0].1 = 1251), "no accepted call made payment");
        assert_reports(found(|_, outcome| outcome.messages.swap(0, 2)), "message 1 came after 2");
        assert_reports(found(|_, outcome| outcome.messages[2].sequence = 1), "message 1 came after 1");
        assert_eq!(found(|_, outcome| outcome.messages.push(message("m4", 3, outcome.messages[3].visit))), "");
        assert_reports(found(|_, outcome| outcome.messages.clear()), "no message about a");
        assert_reports(found(|_, outcome| drop(outcome.messages.pop())), "last message about a has");
    }
}

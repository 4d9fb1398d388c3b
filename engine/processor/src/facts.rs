//! The facts of the appointments that a turn changes: which of them count, and the party that caused them.

use std::collections::BTreeSet;

use location::{AppointmentId, Event, event::CancelledBy};
use records::{
    ChangedBy, VisitFact,
    facts::{VisitFacts, VisitState},
};
use runtime::{Origin, origin::CallKind};

/// The causes of a turn's changes.
#[derive(Debug, Default)]
pub(crate) struct FactContext {
    by: ChangedBy,
    /// Appointments that return to their earlier placement, because the EHR refused a move.
    moved_back: BTreeSet<u64>,
    /// Records that are merged into the appointment of a write: the visit continues under another id.
    merged: BTreeSet<u64>,
}

impl FactContext {
    pub(crate) fn new(events: &[Event], origin: Option<&Origin>, merged: BTreeSet<u64>) -> FactContext {
        let kept: BTreeSet<AppointmentId> = events.iter().filter_map(cancel_reverted).collect();
        let moved_back = events.iter().filter_map(|event| match event {
            // After a refused cancellation, the placement is the one to which staff moved the visit meanwhile.
            Event::MoveReverted { appointment, .. } if !kept.contains(appointment) => Some(appointment.0),
            _ => None,
        });
        let by = match origin.and_then(Origin::call) {
            _ if events.iter().any(|event| is_seen_in_ehr(event, &kept)) => ChangedBy::Staff,
            Some(CallKind::Intent) => ChangedBy::Patient,
            Some(CallKind::Other) => ChangedBy::Client,
            None => ChangedBy::Unknown,
        };
        FactContext { by, moved_back: moved_back.collect(), merged }
    }

    /// Returns the facts of a changed appointment, if there are any.
    pub(crate) fn facts(&self, id: u64, before: VisitState, after: VisitState) -> Option<VisitFacts> {
        if self.merged.contains(&id) {
            return None;
        }
        let mut facts = before.facts_until(after, self.by);
        if self.moved_back.contains(&id) {
            facts.retain(|fact| !matches!(fact, VisitFact::Rescheduled { .. }));
        }
        (!facts.is_empty()).then_some(VisitFacts { by: self.by, facts })
    }
}

fn cancel_reverted(event: &Event) -> Option<AppointmentId> {
    match event {
        Event::CancelReverted { appointment, .. } => Some(*appointment),
        _ => None,
    }
}

/// Returns `true` if an event shows a change that was made in the EHR.
fn is_seen_in_ehr(event: &Event, kept: &BTreeSet<AppointmentId>) -> bool {
    match event {
        Event::PageApplied { .. }
        | Event::AppointmentPulled { .. }
        | Event::PastAppointmentGone { .. }
        | Event::Cancelled { by: CancelledBy::Ehr, .. } => true,
        Event::MoveReverted { appointment, .. } => kept.contains(appointment),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use location::{HOUR, Placement, Span, Timestamp, event::MoveReason};

    use super::*;

    const VISIT: AppointmentId = AppointmentId(7);

    fn placement(start: Timestamp) -> Placement {
        Placement { operatory: None, provider: None, span: Span { start, end: start.plus(HOUR) } }
    }

    fn state(start: i64, cancelled: bool) -> VisitState {
        let start = Timestamp(start);
        let [is_block, confirmed, patient_confirmed, arrived, completed, missed] = [false; 6];
        VisitState { start, is_block, cancelled, confirmed, patient_confirmed, arrived, completed, missed }
    }

    fn origin(call: Option<CallKind>) -> Origin {
        let origin = Origin::from("request-1");
        match call {
            Some(call) => origin.called_by(call),
            None => origin,
        }
    }

    fn cancelled(by: CancelledBy) -> Event {
        Event::Cancelled { appointment: VISIT, by, reason: None }
    }

    #[test]
    fn the_party_follows_from_the_events_and_the_call() {
        let party = |event: Event, origin: Option<Origin>| {
            let context = FactContext::new(&[event], origin.as_ref(), BTreeSet::new());
            context.facts(7, state(1, false), state(1, true)).map(|it| it.by)
        };
        let (client, ehr) = (CancelledBy::Client, CancelledBy::Ehr);
        let (intent, other) = (Some(origin(Some(CallKind::Intent))), Some(origin(Some(CallKind::Other))));
        assert_eq!(party(cancelled(client), intent.clone()), Some(ChangedBy::Patient));
        assert_eq!(party(cancelled(client), other.clone()), Some(ChangedBy::Client));
        assert_eq!(party(cancelled(client), Some(origin(None))), Some(ChangedBy::Unknown));
        assert_eq!(party(cancelled(client), None), Some(ChangedBy::Unknown));
        for origin in [None, intent, other] {
            assert_eq!(party(cancelled(ehr), origin), Some(ChangedBy::Staff));
        }
    }

    #[test]
    fn a_refused_move_is_no_reschedule() {
        let (before, after) = (state(200, false), state(100, false));
        let facts =
            |events: &[Event]| FactContext::new(events, Some(&origin(None)), BTreeSet::new()).facts(7, before, after);
        let (to, reason) = (placement(Timestamp(100)), String::from("no"));
        let reverted = Event::MoveReverted { appointment: VISIT, to, reason: reason.clone() };
        assert_eq!(facts(std::slice::from_ref(&reverted)), None);
        let moved = Event::Moved { appointment: VISIT, to, why: MoveReason::Client };
        let rescheduled = vec![VisitFact::Rescheduled { from: Timestamp(200), to: Timestamp(100) }];
        assert_eq!(facts(&[moved]).map(|it| it.facts), Some(rescheduled.clone()));
        // Staff moved the visit while its cancellation was pending.
        let kept = Event::CancelReverted { appointment: VISIT, reason };
        let expected = VisitFacts { by: ChangedBy::Staff, facts: rescheduled };
        assert_eq!(facts(&[kept, reverted]), Some(expected));
    }

    #[test]
    fn a_merged_record_has_no_facts() {
        let context = FactContext::new(&[cancelled(CancelledBy::Ehr)], None, BTreeSet::from([7]));
        assert_eq!(context.facts(7, state(1, false), state(1, true)), None);
        assert!(context.facts(8, state(1, false), state(1, true)).is_some());
    }
}

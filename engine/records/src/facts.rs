//! Facts of a visit: the differences between two states of an appointment that clients act on. The processor derives
//! them once, when it commits the change. Webhooks and the feed of changes read them from the log of changes.

use location::Timestamp;
use serde::{Deserialize, Serialize};

use crate::appointment::{Appointment, Progress};

/// A fact of a visit. The log of changes stores the variants by their number, so their order must not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VisitFact {
    /// The visit was cancelled, or deleted in the EHR.
    Cancelled,
    /// The visit starts at another time.
    Rescheduled {
        /// Start before the change.
        from: Timestamp,
        /// Start after the change.
        to: Timestamp,
    },
    /// The practice or the patient confirmed the visit.
    Confirmed,
    /// The patient checked in.
    Arrived,
    /// The patient checked out, or the EHR reports the visit as done.
    Completed,
    /// The patient did not come.
    Missed,
}

impl VisitFact {
    /// The names of all facts.
    pub const NAMES: [&str; 6] = ["cancelled", "rescheduled", "confirmed", "arrived", "completed", "missed"];

    /// Returns the name in the API.
    pub fn name(self) -> &'static str {
        match self {
            VisitFact::Cancelled => "cancelled",
            VisitFact::Rescheduled { .. } => "rescheduled",
            VisitFact::Confirmed => "confirmed",
            VisitFact::Arrived => "arrived",
            VisitFact::Completed => "completed",
            VisitFact::Missed => "missed",
        }
    }

    /// Returns the starts before and after a reschedule.
    pub fn starts(self) -> Option<(Timestamp, Timestamp)> {
        match self {
            VisitFact::Rescheduled { from, to } => Some((from, to)),
            VisitFact::Cancelled
            | VisitFact::Confirmed
            | VisitFact::Arrived
            | VisitFact::Completed
            | VisitFact::Missed => None,
        }
    }
}

/// The party that caused a change. Stored by number, like [`VisitFact`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChangedBy {
    /// No cause is known.
    #[default]
    Unknown,
    /// The patient, through an intent.
    Patient,
    /// A client or an operator, through another call.
    Client,
    /// The staff, in the EHR.
    Staff,
}

impl ChangedBy {
    /// The names of all parties.
    pub const NAMES: [&str; 4] = ["patient", "client", "staff", "unknown"];

    /// Returns the name in the API.
    pub fn name(self) -> &'static str {
        match self {
            ChangedBy::Unknown => "unknown",
            ChangedBy::Patient => "patient",
            ChangedBy::Client => "client",
            ChangedBy::Staff => "staff",
        }
    }
}

/// The facts of one change, in the order of [`VisitFact`], and the party that caused it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VisitFacts {
    /// The party that caused the change.
    pub by: ChangedBy,
    /// The facts, never empty.
    pub facts: Vec<VisitFact>,
}

/// The state of an appointment from which its facts follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VisitState {
    /// Start of the appointment.
    pub start: Timestamp,
    /// A block of unavailable time, which has no facts.
    pub is_block: bool,
    /// Cancelled, or deleted in the EHR.
    pub cancelled: bool,
    /// Confirmed by the practice.
    pub confirmed: bool,
    pub patient_confirmed: bool,
    /// The patient has checked in.
    pub arrived: bool,
    /// The visit is done.
    pub completed: bool,
    /// The patient did not come.
    pub missed: bool,
}

impl From<&Appointment> for VisitState {
    fn from(appointment: &Appointment) -> VisitState {
        let progress = appointment.progress;
        VisitState {
            start: appointment.placement.span.start,
            is_block: appointment.unavailable,
            cancelled: appointment.cancelled,
            confirmed: appointment.confirmed,
            patient_confirmed: appointment.patient_confirmed,
            arrived: appointment.checkin_at.is_some() || progress == Progress::Arrived,
            completed: appointment.checked_out_at.is_some() || progress == Progress::Completed,
            missed: appointment.patient_missed,
        }
    }
}

impl VisitState {
    /// Returns the facts of a change to `after` by a party. A cancelled visit cannot be moved, confirmed, begun or
    /// ended. A second confirmation is a fact only if it is the patient's own: an EHR may show one in both fields.
    pub fn facts_until(self, after: VisitState, by: ChangedBy) -> Vec<VisitFact> {
        let VisitState { start: from, .. } = self;
        let to = after.start;
        let is_visit = !self.is_block && !after.is_block;
        let is_live = is_visit && !after.cancelled;
        let is_own = by == ChangedBy::Patient && after.patient_confirmed && !self.patient_confirmed;
        let is_first = !self.is_confirmed() && after.is_confirmed();
        let facts = [
            (is_visit && after.cancelled && !self.cancelled, VisitFact::Cancelled),
            (is_live && to != from, VisitFact::Rescheduled { from, to }),
            (is_live && (is_first || is_own), VisitFact::Confirmed),
            (is_live && after.arrived && !self.arrived, VisitFact::Arrived),
            (is_live && after.completed && !self.completed, VisitFact::Completed),
            (is_visit && after.missed && !self.missed, VisitFact::Missed),
        ];
        facts.into_iter().filter_map(|(holds, fact)| holds.then_some(fact)).collect()
    }

    fn is_confirmed(self) -> bool {
        self.confirmed || self.patient_confirmed
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use location::{Placement, Span};
    use proptest::prelude::*;

    use super::*;

    fn at(start: i64) -> Appointment {
        let span = Span::new(Timestamp(start), Timestamp(start + 10)).unwrap();
        Appointment::at(Placement { operatory: None, provider: None, span })
    }

    fn facts(before: &Appointment, after: &Appointment) -> Vec<VisitFact> {
        VisitState::from(before).facts_until(after.into(), ChangedBy::Staff)
    }

    #[test]
    fn each_change_of_a_visit_has_its_fact() {
        let plain = at(100);
        let moved = VisitFact::Rescheduled { from: Timestamp(100), to: Timestamp(300) };
        let seen = Some(Timestamp(1));
        for (after, expected) in [
            (plain.clone(), vec![]),
            (Appointment { note: Some("A note".into()), version: Some("2".into()), ..plain.clone() }, vec![]),
            (Appointment { cancelled: true, ..plain.clone() }, vec![VisitFact::Cancelled]),
            (at(300), vec![moved]),
            (Appointment { confirmed: true, ..plain.clone() }, vec![VisitFact::Confirmed]),
            (Appointment { patient_confirmed: true, ..plain.clone() }, vec![VisitFact::Confirmed]),
            (Appointment { checkin_at: seen, ..plain.clone() }, vec![VisitFact::Arrived]),
            (Appointment { progress: Progress::Arrived, ..plain.clone() }, vec![VisitFact::Arrived]),
            (Appointment { checked_out_at: seen, ..plain.clone() }, vec![VisitFact::Completed]),
            (Appointment { progress: Progress::Completed, ..plain.clone() }, vec![VisitFact::Completed]),
            (Appointment { patient_missed: true, ..plain.clone() }, vec![VisitFact::Missed]),
            (Appointment { confirmed: true, ..at(300) }, vec![moved, VisitFact::Confirmed]),
            (Appointment { confirmed: true, cancelled: true, ..at(300) }, vec![VisitFact::Cancelled]),
            (Appointment { unavailable: true, ..at(300) }, vec![]),
        ] {
            assert_eq!(facts(&plain, &after), expected);
        }
        let confirmed = Appointment { confirmed: true, ..plain.clone() };
        let by_both = Appointment { patient_confirmed: true, ..confirmed.clone() };
        assert!(facts(&confirmed, &by_both).is_empty() && facts(&confirmed, &plain).is_empty());
        let own = VisitState::from(&confirmed).facts_until((&by_both).into(), ChangedBy::Patient);
        assert_eq!(own, [VisitFact::Confirmed]);
        let block = Appointment { unavailable: true, ..at(100) };
        assert!(facts(&block, &Appointment { cancelled: true, unavailable: true, ..at(300) }).is_empty());
    }

    fn any_state() -> impl Strategy<Value = VisitState> {
        let flags = any::<[bool; 6]>();
        (0..4_i64, prop::bool::weighted(0.1), flags).prop_map(|(start, is_block, flags)| {
            let [cancelled, confirmed, patient_confirmed, arrived, completed, missed] = flags;
            let start = Timestamp(start);
            VisitState { start, is_block, cancelled, confirmed, patient_confirmed, arrived, completed, missed }
        })
    }

    proptest! {
        #[test]
        fn facts_of_a_history_are_the_differences_of_its_states(
            states in prop::collection::vec(any_state(), 2..12),
            is_patient in any::<bool>(),
        ) {
            let by = if is_patient { ChangedBy::Patient } else { ChangedBy::Client };
            for pair in states.windows(2) {
                let (before, after) = (pair[0], pair[1]);
                let facts = before.facts_until(after, by);
                let has = |fact: VisitFact| facts.contains(&fact);
                if before.is_block || after.is_block {
                    prop_assert!(facts.is_empty());
                    continue;
                }
                let (from, to) = (before.start, after.start);
                let live = !after.cancelled;
                prop_assert_eq!(has(VisitFact::Cancelled), !before.cancelled && after.cancelled);
                prop_assert_eq!(has(VisitFact::Rescheduled { from, to }), live && from != to);
                let own = is_patient && after.patient_confirmed && !before.patient_confirmed;
                let was_open = !before.confirmed && !before.patient_confirmed;
                let first = was_open && (after.confirmed || after.patient_confirmed);
                prop_assert_eq!(has(VisitFact::Confirmed), live && (first || own));
                prop_assert_eq!(has(VisitFact::Arrived), live && !before.arrived && after.arrived);
                prop_assert_eq!(has(VisitFact::Completed), live && !before.completed && after.completed);
                prop_assert_eq!(has(VisitFact::Missed), !before.missed && after.missed);
                prop_assert!(after.facts_until(after, by).is_empty());
            }
        }
    }
}

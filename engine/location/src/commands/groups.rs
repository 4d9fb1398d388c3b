//! Several patients at once: groups of slots, and their booking as one decision.

use crate::{
    AppointmentId, Decision, DecisionContext, Location, Refusal, Reply, Slot, SlotQuery, Timestamp,
    command::{BookGroup, Closed},
    commands::Member,
    rules::{Candidate, Companion},
    schedule::slots::{Party, groups_of},
};

impl Location {
    /// Returns the groups of offered slots that match the query, at most `query.limit`. The booking rules offer each
    /// group as a whole: buffers and daily caps count the other visits of the group.
    pub fn offered_groups(
        &self,
        now: Timestamp,
        query: &SlotQuery,
        party: Party,
        closed: &Closed,
        channel: Option<&str>,
    ) -> Vec<Vec<Slot>> {
        let rules = &self.settings.rules;
        let (has_rules, in_force) = (!rules.is_neutral(), rules.in_force(query.appointment_type, channel));
        let slots = |query: &SlotQuery| self.offered_slots(now, query, closed, channel);
        let appointment_type = query.appointment_type;
        let admits = |chosen: &[Slot], slot: &Slot| {
            // A slot alone is offered already.
            if !has_rules || chosen.is_empty() {
                return true;
            }
            let also_taken: Vec<Companion> =
                chosen.iter().map(|slot| Companion { slot: *slot, appointment_type }).collect();
            let candidate = Candidate {
                slot: *slot,
                appointment_type,
                join_blocks: query.join_blocks,
                own: Vec::new(),
                closed,
                channel,
                patient: None,
                also_taken: &also_taken,
            };
            self.slot_reason(now, &in_force, &candidate).is_none()
        };
        groups_of(&self.settings.zone, query, party, slots, admits)
    }

    /// Books a group: all appointments or none. Each booking counts as taken for the later ones.
    pub(crate) fn book_group(&self, cx: DecisionContext, group: &BookGroup) -> Result<Decision, Refusal> {
        if let Some(known) = self.known_key(cx.now, group.key.as_ref())? {
            let appointments = std::iter::once(known.appointment).chain(known.others.iter().copied()).collect();
            return Ok(Decision::new(Reply::GroupBooked { appointments, replay: true }, Vec::new()));
        }
        let bookings = &group.bookings;
        let appointments: Vec<AppointmentId> = bookings.iter().map(|booking| booking.appointment).collect();
        let visits: Vec<Companion> = bookings.iter().filter_map(Companion::from_booking).collect();
        let others = appointments.iter().skip(1).copied().collect();
        let mut key = group.key.as_ref().map(|key| self.pin(cx.now, key, others));
        let mut events = Vec::new();
        for index in 0..bookings.len() {
            // The first booking pins the key for all.
            let booked = self.book_member(cx, Member { bookings, visits: &visits, index }, key.take(), &mut events);
            booked.map_err(|refusal| Refusal::Member { index, refusal: Box::new(refusal) })?;
        }
        Ok(Decision::new(Reply::GroupBooked { appointments, replay: false }, events))
    }
}

//! Holds of slots for clients that have not booked yet.

use crate::{
    Location,
    command::{DecisionContext, Hold},
    commands::{Intent, PlacementRequest},
    decision::{Decision, Refusal, Reply},
    event::Event,
    schedule::calendar::Holder,
    time::Timestamp,
};

impl Location {
    pub(crate) fn hold(&self, cx: DecisionContext, hold: &Hold) -> Decision {
        let (now, rules, rule_set) = (cx.now, &self.settings.booking, &self.settings.rules);
        if let Some(known) = self.state.holds.get(&hold.hold).filter(|known| now < known.until) {
            return Decision::new(Reply::Held { until: known.until }, Vec::new());
        }
        if hold.expires <= now || hold.placement.span.start <= now {
            return Decision::refuse(Refusal::SlotExpired);
        }
        if hold.closed.appointment_type {
            return Decision::refuse(Refusal::TypeNotOnline);
        }
        let wish = PlacementRequest {
            placement: &hold.placement,
            appointment_type: hold.appointment_type,
            join_blocks: hold.join_blocks,
            closed: Some(&hold.closed.operatories),
            intent: Some(Intent { closed: &hold.closed, channel: hold.channel.as_deref(), rules: hold.rules }),
            also_taken: &[],
            later: &[],
        };
        let own = Holder::Hold(hold.hold);
        if let Some(refusal) = self.placement_refusal(now, wish, vec![own]) {
            return Decision::refuse(refusal);
        }
        if let Some(refusal) = self.slot_rule_refusal(now, wish, vec![own]) {
            return Decision::refuse(refusal);
        }
        if let Some(refusal) = self.too_many_holds(now, hold.holder) {
            return Decision::refuse(refusal);
        }
        let until = now.plus(rules.hold);
        let held = Event::Held {
            hold: hold.hold,
            placement: hold.placement,
            until,
            holder: hold.holder,
            appointment_type: hold.appointment_type.filter(|id| rule_set.types.contains_key(id)),
        };
        Decision::new(Reply::Held { until }, vec![held])
    }

    fn too_many_holds(&self, now: Timestamp, holder: Option<u64>) -> Option<Refusal> {
        let rules = &self.settings.booking;
        let refuse = |limit: u32, of_key: bool, ends: &[Timestamp]| {
            let first = ends.iter().min().copied().unwrap_or(now);
            let full = ends.len() >= limit as usize;
            full.then(|| Refusal::TooManyHolds { limit, of_key, free_in: first.since(now).max(0) })
        };
        let holds = self.state.holds.values();
        let own = holds.clone().filter(|hold| holder.is_some() && hold.holder == holder);
        let own: Vec<Timestamp> = own.map(|hold| hold.until).collect();
        let of_key = holder.and_then(|_| refuse(rules.max_holds_per_key, true, &own));
        of_key.or_else(|| refuse(rules.max_holds, false, &holds.map(|hold| hold.until).collect::<Vec<_>>()))
    }

    pub(crate) fn release(&self, hold: u64) -> Decision {
        let known = self.state.holds.contains_key(&hold);
        Decision::new(Reply::Done, if known { vec![Event::HoldEnded { hold }] } else { Vec::new() })
    }
}

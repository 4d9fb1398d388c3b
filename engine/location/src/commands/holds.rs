//! Holds of slots for clients that have not booked yet.

use crate::{
    Decision, DecisionContext, Event, Holder, Location, Refusal, Reply, Timestamp,
    command::{Hold, OfferedSlot},
    commands::{PlacementRequest, offer_refusal},
};

impl Location {
    pub(crate) fn hold(&self, cx: DecisionContext, hold: &Hold) -> Decision {
        let (now, offer, holder) = (cx.now, &hold.offer, hold.holder);
        if let Some(known) = self.state.holds.get(&offer.hold).filter(|known| now < known.until) {
            return Decision::new(Reply::Held { until: known.until }, Vec::new());
        }
        let (wish, own) = (PlacementRequest::of_offer(offer), vec![Holder::Hold(offer.hold)]);
        let refusal = offer_refusal(now, offer, false)
            .or_else(|| self.placement_refusal(now, wish, own.clone()))
            .or_else(|| self.slot_rule_refusal(now, wish, own))
            .or_else(|| self.too_many_holds(now, holder));
        if let Some(refusal) = refusal {
            return Decision::refuse(refusal);
        }
        let until = now.plus(self.settings.booking.hold);
        let rules = &self.settings.rules;
        let OfferedSlot { hold, placement, appointment_type, .. } = *offer;
        let appointment_type = appointment_type.filter(|id| rules.types.contains_key(id));
        let channel = offer.channel.clone().filter(|name| rules.channels.contains_key(name));
        let held = Event::Held { hold, placement, until, holder, appointment_type, channel };
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

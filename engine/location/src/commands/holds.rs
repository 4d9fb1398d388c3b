//! Holds of slots for clients that have not booked yet.

use crate::{
    Decision, DecisionContext, Event, Holder, Location, Refusal, Reply, Timestamp,
    command::{Hold, OfferedSlot},
    commands::{PlacementRequest, check_offer},
};

impl Location {
    pub(crate) fn hold(&self, cx: DecisionContext, hold: &Hold) -> Result<Decision, Refusal> {
        let (now, offer, holder) = (cx.now, &hold.offer, hold.holder);
        if let Some(known) = self.state.holds.get(&offer.hold).filter(|known| now < known.until) {
            return Ok(Decision::new(Reply::Held { until: known.until }, Vec::new()));
        }
        let (wish, own) = (PlacementRequest::of_offer(offer), vec![Holder::Hold(offer.hold)]);
        check_offer(now, offer, false)?;
        self.check_placement(now, wish, own.clone())?;
        self.check_slot_rules(now, wish, own)?;
        self.check_holds(now, holder)?;
        let until = now.plus(self.settings.booking.hold);
        let rules = &self.settings.rules;
        let OfferedSlot { hold, placement, appointment_type, .. } = *offer;
        let appointment_type = appointment_type.filter(|id| rules.types.contains_key(id));
        let channel = offer.channel.clone().filter(|name| rules.channels.contains_key(name));
        let held = Event::Held { hold, placement, until, holder, appointment_type, channel };
        Ok(Decision::new(Reply::Held { until }, vec![held]))
    }

    /// Refuses a hold beyond the limit of its holder, or of the location.
    fn check_holds(&self, now: Timestamp, holder: Option<u64>) -> Result<(), Refusal> {
        let rules = &self.settings.booking;
        let check = |limit: u32, of_key: bool, ends: &[Timestamp]| {
            let first = ends.iter().min().copied().unwrap_or(now);
            let free_in = first.since(now).max(0);
            if ends.len() < limit as usize { Ok(()) } else { Err(Refusal::TooManyHolds { limit, of_key, free_in }) }
        };
        let holds = self.state.holds.values();
        if holder.is_some() {
            let own = holds.clone().filter(|hold| hold.holder == holder);
            check(rules.max_holds_per_key, true, &own.map(|hold| hold.until).collect::<Vec<_>>())?;
        }
        check(rules.max_holds, false, &holds.map(|hold| hold.until).collect::<Vec<_>>())
    }

    pub(crate) fn release(&self, hold: u64) -> Decision {
        let known = self.state.holds.contains_key(&hold);
        Decision::new(Reply::Done, if known { vec![Event::HoldEnded { hold }] } else { Vec::new() })
    }
}

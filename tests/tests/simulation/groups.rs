//! Clients that book for several patients at once, alone, concurrently, and again with the same key.

use location::{
    ids::LocationId,
    time::{MINUTE, SECOND},
};
use processor::commands::{BookSlots, SlotBooking};

use super::{
    clients::RequestKind,
    invariants::groups,
    plan::{PERSONS, person},
    sim::Sim,
};

impl Sim {
    /// Lets one or two clients book groups of random slots, which may conflict.
    pub fn book_group(&mut self, location: LocationId) {
        for _ in 0..1 + self.random.below(2) {
            let Some(request) = self.group(location) else { return };
            self.ledger.group_requests.push(request.clone());
            self.plan_request(MINUTE, location, RequestKind::BookGroup(Box::new(request)));
        }
    }

    /// Repeats a request, at once or much later. Some repetitions have another note.
    pub fn book_group_again(&mut self) {
        let known: Vec<BookSlots> = self.ledger.group_requests.iter().rev().take(10).cloned().collect();
        let Some(mut request) = self.random.pick(&known).cloned() else { return };
        if self.random.chance(200)
            && let Some(last) = request.bookings.last_mut()
        {
            last.note = Some("another note".to_owned());
        }
        let Some(location) = groups::location(&request) else { return };
        self.plan_request(60 * SECOND, location, RequestKind::BookGroup(Box::new(request)));
    }

    fn group(&mut self, location: LocationId) -> Option<BookSlots> {
        let mut bookings = Vec::new();
        for _ in 0..2 + self.random.below(3) {
            let offer = self.offer(location)?;
            let patient = person(offer.institution.0, self.random.below(PERSONS));
            bookings.push(SlotBooking { offer, patient, note: None });
        }
        self.keys += 1;
        let idempotency_key = format!("key-{}", self.keys);
        Some(BookSlots { bookings, idempotency_key, created_by: "client".to_owned() })
    }

    /// Records that a client sends the request.
    pub fn note_group(&mut self, request: &BookSlots) {
        let (Some(key), Some(location)) = (groups::key(request), groups::location(request)) else { return };
        self.ledger.attempts.entry(key).or_default().insert((location, groups::content(request)));
    }
}

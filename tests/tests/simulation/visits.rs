//! Clients that confirm visits, and reschedule them by slot token: alone, concurrently, again with the same key, and
//! with keys of bookings.

use location::{
    ids::AppointmentId,
    time::{MINUTE, SECOND},
};
use processor::commands::RescheduleVisit;

use super::{clients::RequestKind, invariants::reschedules, sim::Sim};

/// Maximum number of clients that move one visit concurrently.
const RIVALS: usize = 3;

impl Sim {
    /// Lets one or more clients move one of the latest visits.
    pub fn reschedule_one(&mut self) {
        let Some(id) = self.recent_booking() else { return };
        let clients = if self.random.chance(300) { 2 + self.random.below(RIVALS - 1) } else { 1 };
        for _ in 0..clients {
            self.keys += 1;
            let key = format!("key-{}", self.keys);
            self.reschedule(id, key);
        }
    }

    /// Uses the key of a booking for a reschedule, which must be refused while the key is known.
    pub fn reschedule_with_used_key(&mut self) {
        let Some(id) = self.recent_booking() else { return };
        let Some(promise) = self.some_promise() else { return };
        self.reschedule(id, promise.idempotency_key);
    }

    /// Repeats a request, at once or much later.
    pub fn reschedule_again(&mut self) {
        let known: Vec<RescheduleVisit> = self.ledger.reschedules.iter().rev().take(10).cloned().collect();
        let Some(request) = self.random.pick(&known).cloned() else { return };
        self.plan_request(60 * SECOND, request.offer.location, RequestKind::Reschedule(Box::new(request)));
    }

    fn reschedule(&mut self, id: AppointmentId, idempotency_key: String) {
        let Some(location) = self.ledger.bookings.get(&id).map(|booking| booking.location) else { return };
        let Some(offer) = self.offer(location) else { return };
        let reason = self.random.chance(200).then(|| "no time".to_owned());
        let request = RescheduleVisit { appointment: id, offer, idempotency_key, reason };
        self.ledger.reschedules.push(request.clone());
        self.plan_request(60 * SECOND, location, RequestKind::Reschedule(Box::new(request)));
    }

    /// Lets one or two clients confirm one of the latest visits. They are refused while the EHR does not have it.
    pub fn confirm_one(&mut self) {
        let Some(id) = self.recent_booking() else { return };
        let Some(location) = self.ledger.bookings.get(&id).map(|booking| booking.location) else { return };
        for _ in 0..1 + self.random.below(2) {
            self.plan_request(20 * MINUTE, location, RequestKind::Confirm(id));
        }
    }

    /// Records that a client sends the request.
    pub fn note_reschedule(&mut self, request: &RescheduleVisit) {
        let uses = self.ledger.attempts.entry(reschedules::key(request)).or_default();
        uses.insert((request.offer.location, reschedules::content(request)));
    }
}

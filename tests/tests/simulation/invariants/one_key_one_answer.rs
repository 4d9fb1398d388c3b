//! Within its lifetime, an accepted key returns its booking and nothing else: for any client, after any crash, and at
//! no other location of the institution.

use location::{decision::Refusal, ids::AppointmentId};
use processor::commands::{BookSlot, Booked};

use crate::simulation::{
    ledger::{Promise, request_content},
    sim::Sim,
};

pub fn check(sim: &Sim, request: &BookSlot, answer: &Result<Booked, Option<Refusal>>) {
    let key = (request.offer.institution, request.idempotency_key.clone());
    let location = request.offer.location;
    let promise = sim.ledger.promise(&key, sim.now);
    let same = |promise: &Promise| {
        promise.location == location && request_content(&promise.request) == request_content(request)
    };
    match answer {
        Ok(Booked { appointment, .. }) => {
            if let Some(promise) = promise {
                assert!(same(promise), "one key one answer: {key:?} was accepted for other data or elsewhere");
                assert_eq!(promise.appointment.0, appointment.id, "one key one answer: {key:?} made a second booking");
            }
        }
        Err(Some(Refusal::IdempotencyConflict)) => {
            assert!(!promise.is_some_and(same), "one key one answer: {key:?} conflicts with itself");
            let uses = sim.ledger.attempts.get(&key).map_or(0, |uses| uses.len());
            assert!(uses > 1, "one key one answer: {key:?} was never used for anything else");
        }
        Err(Some(refusal)) => {
            // The memory may be behind another process's commits. A refusal promises nothing.
            let behind = sim.process.hosts.get(&location).is_some_and(|host| host.behind);
            assert!(behind || promise.is_none(), "one key one answer: {key:?} was accepted, now {refusal:?}");
        }
        Err(None) => panic!("one key one answer: a booking is answered without one"),
    }
}

impl Sim {
    /// Records a booking acknowledged to a client.
    pub fn remember(&mut self, request: &BookSlot, booked: &Booked) {
        let appointment = AppointmentId(booked.appointment.id);
        let location = self.plan.setup.locations.get(&request.offer.location);
        let lifetime = location.map_or(0, |location| location.settings.booking.limits.key_lifetime);
        let promise = Promise {
            location: request.offer.location,
            appointment,
            request: request.clone(),
            expires: booked.appointment.created_at.plus(lifetime),
        };
        self.ledger.promises.insert((request.offer.institution, request.idempotency_key.clone()), promise);
        self.ledger.change(appointment, |booking| booking.acknowledged = true);
    }
}

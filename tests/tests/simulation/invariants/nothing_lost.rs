//! Nothing acknowledged is lost: each acknowledged booking has its document, and each key is remembered.

use location::ids::LocationId;
use records::record::Record;

use crate::simulation::sim::{Sim, document};

pub fn check(sim: &Sim) {
    for (id, booking) in sim.ledger.bookings.iter().filter(|(_, booking)| booking.acknowledged) {
        let kept: Option<Record<records::Appointment>> = document(sim, 0, id.0);
        let Some(kept) = kept else { panic!("nothing lost: booking {id} of {} has no document", booking.location) };
        assert!(kept.booking.is_some(), "nothing lost: booking {id} is no booking any more");
        let source = |id| sim.plan.setup.locations.get(&id).map(|location| (location.institution, location.source));
        let (there, here) = (source(LocationId(kept.location())), source(booking.location));
        let moved = there == here && here.is_some_and(|(_, source)| source.is_some());
        let stayed = LocationId(kept.location()) == booking.location;
        assert!(stayed || moved, "nothing lost: booking {id} went elsewhere");
    }
    for (key, promise) in sim.ledger.promises.iter().filter(|(_, promise)| sim.now < promise.expires) {
        let Some(host) = sim.process.hosts.get(&promise.location).filter(|host| !host.behind) else { continue };
        let name = hex::encode(processor::commands::book_slot::key_digest(&key.1));
        let known = host.processor.machine.state.keys.get(&name).map(|known| known.appointment);
        assert_eq!(known, Some(promise.appointment), "nothing lost: {key:?} is forgotten at {}", promise.location);
    }
}

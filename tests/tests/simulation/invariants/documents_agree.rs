//! Documents agree with the machine: placement, cancellation, patient, write-back state, and their place in the index by time.

use engine::{
    records::{self, Writeback},
    store::{Direction, Store, keys},
};
use location::{
    event::Event,
    ids::{AppointmentId, LocationId},
    state::{Appointment, Insert},
};

use crate::simulation::world::{World, document};

/// Of the appointments a turn changed.
pub fn after(world: &World, location: LocationId, events: &[Event]) {
    for event in events {
        if let Some(id) = subject(event) {
            one(world, location, id);
        }
    }
}

/// Of all appointments a location remembers, and of the index.
pub fn check(world: &World, location: LocationId) {
    let Some(host) = world.process.hosts.get(&location).filter(|host| !host.behind) else { return };
    for id in host.shell.machine.state.appointments.keys() {
        one(world, location, *id);
    }
    let (first, end) =
        (keys::appointment_time(location.0, i64::MIN, 0), keys::appointment_time(location.0, i64::MAX, u64::MAX));
    let range = engine::store::KeyRange::new(first, end);
    for key in world.store.scan_keys(range, Direction::Forward, usize::MAX).expect("the store reads") {
        let Some((_, start, id)) = keys::parse_appointment_time(&key) else { continue };
        let kept: Option<records::Appointment> = document(world, 0, id);
        let at = kept.filter(|kept| kept.location_id == location.0).map(|kept| kept.placement.span.start.0);
        assert_eq!(at, Some(start), "documents agree: the index of {location} has {id} at a time of its own");
    }
}

fn one(world: &World, location: LocationId, id: AppointmentId) {
    let Some(host) = world.process.hosts.get(&location).filter(|host| !host.behind) else { return };
    let Some(known) = host.shell.machine.state.appointments.get(&id) else { return };
    let kept: Option<records::Appointment> = document(world, 0, id.0);
    let Some(kept) = kept else { panic!("documents agree: appointment {id} of {location} has no document") };
    assert_eq!(kept.location_id, location.0, "documents agree: {id} is of another location");
    assert_eq!(kept.placement, known.placement, "documents agree: placement of {id} at {location}");
    assert_eq!(kept.cancelled, known.cancelling, "documents agree: cancellation of {id} at {location}");
    assert_eq!(kept.patient_id, known.patient.map(|id| id.0), "documents agree: patient of {id} at {location}");
    let start = keys::appointment_time(location.0, kept.placement.span.start.0, id.0);
    assert!(world.store.get(&start).expect("the store reads").is_some(), "documents agree: {id} is not in the index");
    if let Some(booking) = &kept.booking {
        let integrated = host.shell.settings().capabilities.integrated;
        assert_eq!(booking.writeback, expected(known, integrated), "documents agree: write-back of {id} at {location}");
    }
}

fn expected(known: &Appointment, integrated: bool) -> Writeback {
    match known.insert {
        Insert::Pending => Writeback::Pending,
        Insert::Done | Insert::Pulled if integrated => Writeback::Confirmed,
        Insert::Done | Insert::Pulled => Writeback::Pending,
    }
}

fn subject(event: &Event) -> Option<AppointmentId> {
    match event {
        Event::Booked { appointment, .. }
        | Event::Moved { appointment, .. }
        | Event::MoveReverted { appointment, .. }
        | Event::Cancelled { appointment, .. }
        | Event::CancelReverted { appointment, .. }
        | Event::CancelConfirmed { appointment }
        | Event::InsertDone { appointment, .. }
        | Event::InsertFailed { appointment, .. }
        | Event::AppointmentGone { appointment } => Some(*appointment),
        Event::AppointmentPulled { record, .. } => Some(record.id),
        _ => None,
    }
}

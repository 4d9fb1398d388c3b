//! Documents agree with the state machine: placement, cancellation, patient, writeback state and the index by time.

use records::record::Record;
use std::collections::BTreeSet;

use location::{
    event::Event,
    ids::{AppointmentId, LocationId},
    replacement::Replacement,
    state::{CalendarAppointment, Insert},
};
use query::{
    index::Index,
    lists::{ListQuery, Lists, Order, Range},
};
use records::{self, Writeback, appointment::ReplacedInEhr};

use crate::simulation::sim::{Sim, document};

/// Checks the appointments changed in a turn.
pub fn after(sim: &Sim, location: LocationId, events: &[Event]) {
    for event in events {
        if let Some(id) = subject(event) {
            one(sim, location, id);
        }
    }
}

/// Checks all appointments in a location's memory, and the index.
pub fn check(sim: &Sim, location: LocationId) {
    let Some(host) = sim.process.hosts.get(&location).filter(|host| !host.behind) else { return };
    for id in host.processor.machine.state.appointments.keys() {
        one(sim, location, *id);
    }
    let by_start = ListQuery::new([location.0], Order::StartsAt);
    // The process's index, updated incrementally, and one built from scratch.
    for index in [&*host.processor.deps.index, &Index::default()] {
        let lists = Lists { store: &*sim.store, index };
        let all = Range::first(usize::MAX);
        let found = lists.scan::<Record<records::Appointment>>(&by_start, all).expect("the store reads");
        let ids: BTreeSet<u64> = found.iter().map(|(position, _)| position.id).collect();
        assert_eq!(ids.len(), found.len(), "documents agree: the index of {location} has an appointment twice");
        for (position, kept) in &found {
            let start = kept.placement.span.start;
            assert_eq!(position.at, start, "documents agree: the index of {location} has {} elsewhere", kept.id);
        }
        for id in host.processor.machine.state.appointments.keys() {
            let kept: Option<Record<records::Appointment>> = document(sim, 0, id.0);
            let here = kept.is_some_and(|kept| kept.location() == location.0);
            assert!(!here || ids.contains(&id.0), "documents agree: {id} is not in the index of {location}");
        }
    }
}

fn one(sim: &Sim, location: LocationId, id: AppointmentId) {
    let Some(host) = sim.process.hosts.get(&location).filter(|host| !host.behind) else { return };
    let Some(known) = host.processor.machine.state.appointments.get(&id) else { return };
    let kept: Option<Record<records::Appointment>> = document(sim, 0, id.0);
    let Some(kept) = kept else { panic!("documents agree: appointment {id} of {location} has no document") };
    if kept.location() != location.0 {
        // Staff moved it to another location, which has already read it.
        let source = |id| sim.plan.setup.locations.get(&LocationId(id)).and_then(|location| location.source);
        let moved = source(kept.location()).is_some() && source(kept.location()) == source(location.0);
        assert!(moved, "documents agree: {id} is of another location");
        return;
    }
    // The document of a visit that the EHR has cancelled shows it as the EHR does.
    let agrees = known.gone || kept.placement == known.placement;
    assert!(agrees, "documents agree: placement of {id} at {location}: {:?}, {:?}", kept.placement, known.placement);
    assert_eq!(kept.cancelled, known.cancelling, "documents agree: cancellation of {id} at {location}");
    assert_eq!(kept.patient_id, known.patient.map(|id| id.0), "documents agree: patient of {id} at {location}");
    for replaced in &known.replaced {
        let same = |it: &&ReplacedInEhr| it.write == replaced.write.0 && it.cancelled_at.is_none();
        let place = kept.replaced.iter().find(same).map(|it| it.placement);
        assert_eq!(place, Some(replaced.placement), "documents agree: {replaced:?} of {id} at {location}");
    }
    // The insert of a booking that was cancelled before its reply may have failed here and reached the EHR.
    if let Some(booking) = kept.booking.as_ref().filter(|_| !known.gone) {
        let integrated = host.processor.settings().capabilities.integrated;
        assert_eq!(booking.writeback, expected(known, integrated), "documents agree: write-back of {id} at {location}");
    }
}

fn expected(known: &CalendarAppointment, integrated: bool) -> Writeback {
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
        | Event::AppointmentGone { appointment }
        | Event::Replacement(
            Replacement::Done { appointment, .. }
            | Replacement::Late { appointment, .. }
            | Replacement::Shown { appointment, .. }
            | Replacement::Gone { appointment, .. },
        ) => Some(*appointment),
        Event::AppointmentPulled { record, .. } => Some(record.id),
        _ => None,
    }
}

//! No operatory is double-booked by us: a granted place conflicts with no other of our bookings, in our documents and
//! in the EHR. Appointments moved by staff are excluded.

use location::{
    command::Placement,
    event::Event,
    ids::{AppointmentId, LocationId},
};
use records::{self, ehr, record::Record};

use crate::simulation::{ehr::same_place, plan::seconds, sim::Sim};

pub fn granted(sim: &Sim, location: LocationId, event: &Event) {
    match event {
        Event::Booked { appointment, placement, .. } => check(sim, location, *appointment, placement),
        Event::Moved { appointment, to, .. } => check(sim, location, *appointment, to),
        _ => {}
    }
}

fn check(sim: &Sim, location: LocationId, id: AppointmentId, place: &Placement) {
    for (other, booking) in &sim.ledger.bookings {
        let near = booking.location == location && *other != id && !booking.ended;
        if near && same(&booking.place, place) && !moved_by_staff(sim, location, *other) {
            panic!("no double booking: {id} was granted {place:?} at {location}, where {other} already is");
        }
    }
    let Some(wanted) = in_the_ehr(sim, location, place) else { return };
    let source = sim.plan.setup.locations.get(&location).and_then(|location| location.source);
    let Some(ehr) = source.and_then(|source| sim.ehrs.get(&source)) else { return };
    for (foreign_id, row) in ehr.rows_for(ehr::Resource::Appointments) {
        let ours = row.booking().is_some_and(|(at, other)| at == location && other != id);
        let stands = ours && !row.by_staff && row.location == Some(location);
        if stands && row.occupying().is_some_and(|occupying| same_place(occupying, &wanted)) {
            panic!("no double booking: {id} was granted {place:?} at {location}, where the EHR has our {foreign_id}");
        }
    }
}

fn same(a: &Placement, b: &Placement) -> bool {
    a.column().is_some() && a.column() == b.column() && a.span.overlaps(b.span)
}

/// Returns whether staff changed the appointment in the EHR.
fn moved_by_staff(sim: &Sim, location: LocationId, id: AppointmentId) -> bool {
    sim.ehrs.values().any(|ehr| {
        ehr.rows_for(ehr::Resource::Appointments).any(|(_, row)| row.by_staff && row.booking() == Some((location, id)))
    })
}

/// Returns the place as an EHR appointment.
pub fn in_the_ehr(sim: &Sim, location: LocationId, place: &Placement) -> Option<ehr::EhrAppointment> {
    let processor = &sim.process.hosts.get(&location)?.processor;
    let institution = processor.institution.id.0;
    let operatory = match place.operatory {
        Some(id) => Some(processor.read::<Record<records::Operatory>>(location.0, id.0).ok()??.foreign_id?),
        None => None,
    };
    let provider =
        processor.read::<Record<records::Provider>>(institution, u64::from(place.provider?.0)).ok()??.foreign_id;
    Some(ehr::EhrAppointment {
        operatory,
        provider,
        start: seconds(place.span.start),
        end: seconds(place.span.end),
        ..ehr::EhrAppointment::default()
    })
}

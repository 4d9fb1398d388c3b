//! The end of a run. With honest EHRs, all work completes, and our documents agree with the EHRs.

use location::{
    command::{Command, Placement},
    ids::{AppointmentId, LocationId},
    time::{DAY, MINUTE, Millis},
};
use records::{
    self, Writeback,
    appointment::ReplacedInEhr,
    document::{DocumentKind, Link},
    ehr::{EhrAppointment, Resource},
    record::Record,
};
use store::{Direction, Store, keys};

use super::{
    ehr::{SimEhr, SimRow},
    invariants,
    plan::seconds,
    sim::{Sim, document},
    sim_request::SimRequest,
};

/// Virtual time in which all work must complete.
pub const PATIENCE: Millis = 2 * DAY;

impl Sim {
    fn integrated(&self) -> Vec<(LocationId, u32)> {
        self.plan.setup.locations.values().filter_map(|location| Some((location.id, location.source?))).collect()
    }
}

/// Returns whether nothing is left to write and each location has since read its EHR completely.
pub fn at_rest(sim: &mut Sim) -> bool {
    let locations = sim.integrated();
    let hosts: Vec<_> = locations.iter().filter_map(|(id, _)| sim.process.hosts.get(id)).collect();
    let drained = hosts.len() == locations.len()
        && hosts.iter().all(|host| host.processor.machine.state.queue.is_empty())
        && sim.agenda.trips() == 0;
    // A pull in flight does not reset `drained`.
    if hosts.len() < locations.len() || hosts.iter().any(|host| !host.processor.machine.state.queue.is_empty()) {
        sim.drained = None;
        return false;
    }
    let since = *sim.drained.get_or_insert(sim.now);
    drained
        && hosts.iter().all(|host| {
            let (pulls, rules) = (&host.processor.machine.state.pulls, host.processor.settings().pull);
            // Two passes, because the first may have begun earlier.
            let seen = since.plus(rules.every * 3 / 2 + 30 * MINUTE);
            pulls.guarded.is_empty() && pulls.last_success.is_some_and(|at| seen <= at)
        })
}

pub fn unfinished(sim: &Sim) -> String {
    let mut left = Vec::new();
    for (id, _) in sim.integrated() {
        match sim.process.hosts.get(&id) {
            Some(host) => {
                let state = &host.processor.machine.state;
                let writes: Vec<_> = state.queue.iter().collect();
                left.push(format!("{id}: {writes:?} {:?} {:?}", state.breaker, state.pulls));
            }
            None => left.push(format!("{id} is not in memory")),
        }
    }
    left.join("\n")
}

/// The operator accepts the deletions that the guard held back.
pub fn accept_deletions(sim: &mut Sim) {
    for (id, _) in sim.integrated() {
        let Some(host) = sim.process.hosts.get(&id) else { continue };
        let pulls = &host.processor.machine.state.pulls;
        let stopped: Vec<Resource> = pulls.guarded.difference(&pulls.accepted).copied().collect();
        for resource in stopped {
            sim.log_line(|| format!("the operator accepts that {resource:?} of {id} are gone"));
            let command = Command::AcceptDeletions { resource };
            sim.run_for_operator(id, &SimRequest::Command(command));
        }
    }
}

pub fn check(sim: &Sim) {
    invariants::sweep_all(sim);
    every_booking_has_an_end(sim);
    invariants::reschedules::each_has_an_end(sim);
    invariants::confirmations::all_are_in_the_ehr(sim);
    for (id, source) in sim.integrated() {
        let ehr = sim.ehrs.get(&source).expect("a location's source exists");
        for (foreign_id, row) in ehr.rows_for(Resource::Appointments).filter(|(_, row)| row.location == Some(id)) {
            ehr_and_documents_agree(sim, ehr, id, foreign_id, row);
        }
        known_appointments_are_in_the_ehr(sim, ehr, id);
        patients_are_one(sim, ehr, sim.plan.setup.sources.get(&source).map_or(0, |source| source.institution.0));
    }
}

/// Checks that the EHR has every appointment in a location's memory.
fn known_appointments_are_in_the_ehr(sim: &Sim, ehr: &SimEhr, location: LocationId) {
    let host = sim.process.hosts.get(&location).expect("everybody is in memory");
    for (id, known) in
        host.processor.machine.state.appointments.iter().filter(|(_, known)| known.in_ehr() && !known.gone)
    {
        let kept: Record<records::Appointment> = document(sim, 0, id.0).expect("an appointment has its document");
        let foreign_id = kept.foreign_id.clone().unwrap_or_default();
        let linked = linked(sim, ehr.source, Resource::Appointments, &foreign_id);
        assert_eq!(
            linked,
            Some(id.0),
            "liveness: {id} of {location} is not what EHR {} calls {foreign_id}",
            ehr.source
        );
        let stands = ehr.appointment(&foreign_id).is_some_and(|row| row.occupying().is_some());
        let unseen = may_have_vanished(sim, ehr, &known.placement);
        assert!(stands || unseen, "liveness: {id} of {location} is at {:?}, which is free", known.placement);
    }
}

/// Checks that each patient of the EHR is one patient here.
fn patients_are_one(sim: &Sim, ehr: &SimEhr, institution: u32) {
    let range = keys::records(DocumentKind::Of(Resource::Patients).byte(), institution);
    for (_, bytes) in sim.store.scan(range, Direction::Forward, usize::MAX).expect("the store reads") {
        let kept: Record<records::Patient> = serde_json::from_slice(&bytes).expect("a document can be read");
        if let (Some(foreign_id), Some(source), false) = (&kept.foreign_id, kept.source_id, kept.inactive)
            && source == ehr.source
        {
            let linked = linked(sim, source, Resource::Patients, foreign_id);
            assert_eq!(linked, Some(u64::from(kept.id)), "liveness: {} is not EHR {source}'s {foreign_id}", kept.id);
        }
    }
}

/// Returns our id of a foreign id.
pub fn linked(sim: &Sim, source: u32, resource: Resource, foreign_id: &str) -> Option<u64> {
    let key = keys::link(source, DocumentKind::Of(resource).byte(), foreign_id.as_bytes());
    let link = sim.store.get(&key).expect("the store reads");
    link.and_then(|bytes| Link::from_bytes(&bytes)).map(|link| link.id)
}

/// Checks that each booking is confirmed or failed, and that the EHR has the confirmed ones.
fn every_booking_has_an_end(sim: &Sim) {
    for (id, booking) in &sim.ledger.bookings {
        let kept: Record<records::Appointment> = document(sim, 0, id.0).expect("a booking has its document");
        let setup = sim.plan.setup.locations.get(&booking.location).expect("a booking's location exists");
        let Some(ehr) = setup.source.and_then(|source| sim.ehrs.get(&source)) else { continue };
        let state = kept.booking.as_ref().expect("a booking is a booking");
        let rows = occupying_for(sim, ehr, booking.location, *id, &kept.replaced);
        match state.writeback {
            Writeback::Pending => panic!("liveness: booking {id} is still pending"),
            Writeback::Failed => assert!(rows.is_empty(), "liveness: booking {id} failed, but the EHR has {rows:?}"),
            Writeback::Confirmed if kept.cancelled => {
                assert!(rows.is_empty(), "liveness: booking {id} is cancelled, but the EHR has {rows:?}");
            }
            Writeback::Confirmed if rows.is_empty() && may_have_vanished(sim, ehr, &kept.placement) => {}
            Writeback::Confirmed => {
                assert!(rows.len() == 1, "liveness: booking {id} is confirmed, but the EHR has {rows:?}");
            }
        }
    }
}

/// Full passes need not contain appointments that have begun, so a missing one may or may not exist.
fn may_have_vanished(sim: &Sim, ehr: &SimEhr, place: &Placement) -> bool {
    ehr.whole.contains(&Resource::Appointments) && place.span.start <= sim.now
}

/// Returns the appointments of a booking in the EHR, without those whose cancellation failed after a move and those
/// that another location has read as new ones.
fn occupying_for(
    sim: &Sim,
    ehr: &SimEhr,
    location: LocationId,
    id: AppointmentId,
    replaced: &[ReplacedInEhr],
) -> Vec<EhrAppointment> {
    let made = ehr.rows_for(Resource::Appointments).filter(|(_, row)| row.booking() == Some((location, id)));
    let is_left = |foreign_id: &str| replaced.iter().any(|it| it.foreign_id == foreign_id && it.cancelled_at.is_none());
    made.filter(|(foreign_id, row)| !is_left(foreign_id) && !was_read_elsewhere(sim, ehr.source, foreign_id, row))
        .filter_map(|(_, row)| row.occupying().cloned())
        .collect()
}

/// Returns `true` if staff moved a booking's appointment to another location, which read it before the answer to its
/// insert. It is a new appointment there, and the booking has ended.
fn was_read_elsewhere(sim: &Sim, source: u32, foreign_id: &str, row: &SimRow) -> bool {
    let Some((at, id)) = row.booking().filter(|(at, _)| row.location != Some(*at)) else { return false };
    let booked: Option<Record<records::Appointment>> = document(sim, 0, id.0);
    let has_ended = booked.is_some_and(|booked| {
        let has_failed = booked.booking.as_ref().is_some_and(|booking| booking.writeback == Writeback::Failed);
        booked.location() == at.0 && (booked.cancelled || has_failed)
    });
    has_ended && linked(sim, source, Resource::Appointments, foreign_id).is_some_and(|linked| linked != id.0)
}

/// Checks that the EHR's appointment equals our document.
fn ehr_and_documents_agree(sim: &Sim, ehr: &SimEhr, location: LocationId, foreign_id: &str, row: &SimRow) {
    let processor = &sim.process.hosts.get(&location).expect("everybody is in memory").processor;
    let source = ehr.source;
    let Some(linked) = linked(sim, source, Resource::Appointments, foreign_id) else {
        assert!(row.deleted, "liveness: appointment {foreign_id} of EHR {source} is unknown at {location}");
        return;
    };
    let kept: Option<Record<records::Appointment>> = document(sim, 0, linked);
    let Some(kept) = kept else {
        assert!(row.deleted, "liveness: appointment {foreign_id} of EHR {source} has no document");
        return;
    };
    let what = format!("appointment {foreign_id} of EHR {source}, {} of {location}", linked);
    if row.deleted && may_have_vanished(sim, ehr, &kept.placement) {
        return;
    }
    if let Some((_, id)) = row.booking().filter(|_| !was_read_elsewhere(sim, source, foreign_id, row)) {
        assert_eq!(linked, id.0, "liveness: {what} is booking {id}");
    }
    if let Some(replaced) = kept.replaced.iter().find(|it| it.foreign_id == foreign_id) {
        let left = replaced.cancelled_at.is_none();
        assert!(left || row.occupying().is_none(), "liveness: {what} was replaced, and is still in the EHR");
        return;
    }
    assert_eq!(kept.cancelled, row.occupying().is_none(), "liveness: cancellation of {what}");
    let Some(stands) = row.occupying() else { return };
    assert_eq!(kept.confirmed, stands.confirmed, "confirmations: confirmation of {what}");
    // An appointment cancelled by staff keeps its last known place.
    assert_eq!(kept.location(), location.0, "liveness: location of {what}");
    let place = &kept.placement;
    assert_eq!(
        (seconds(place.span.start), seconds(place.span.end)),
        (stands.start, stands.end),
        "liveness: time of {what}"
    );
    let operatory =
        place.operatory.and_then(|id| processor.read::<Record<records::Operatory>>(location.0, id.0).ok()?);
    assert_eq!(operatory.and_then(|known| known.foreign_id), stands.operatory, "liveness: operatory of {what}");
    let institution = processor.institution.id.0;
    let provider =
        place.provider.and_then(|id| processor.read::<Record<records::Provider>>(institution, u64::from(id.0)).ok()?);
    assert_eq!(provider.and_then(|known| known.foreign_id), stands.provider, "liveness: provider of {what}");
    let remembered = processor.machine.state.appointments.get(&AppointmentId(linked));
    let pruned = processor.machine.state.pruned.is_some_and(|before| place.span.end <= before);
    let old = place.span.end < sim.now.minus(processor.settings().pull.keep_past);
    assert!(remembered.is_some() || pruned || old, "liveness: {what} is not in the calendar");
}

//! Matching of pulled appointments with local ones: changes, results of inserts, and conflicts with bookings.

use crate::{
    AppointmentId, Decision, DecisionContext, Event, Insert, Location, Placement, Reply, Resource, WriteIntent,
    sync::page::{PulledAppointment, PulledPage},
};

impl Location {
    /// Merges a duplicate. The EHR showed an insert, without our key, before it answered the call, so a second
    /// appointment was created.
    pub(crate) fn merge_duplicate(
        &self,
        cx: DecisionContext,
        duplicate: AppointmentId,
        record: &PulledAppointment,
    ) -> Decision {
        let mut events = Vec::new();
        if self.holds(Resource::Appointments, duplicate.0) {
            self.gone(duplicate, &mut events);
        }
        self.pulled_appointment(cx, record, &mut Vec::new(), &mut events);
        Decision::new(Reply::Done, events)
    }

    /// Returns `true` if an unmatched record of the page may be the result of an unanswered insert. With the answer the
    /// two can be matched.
    pub(super) fn may_show_an_insert(&self, resource: Resource, page: &PulledPage) -> bool {
        // The old appointment of a replacement is shown under the same id as the new one.
        let is_new = |record: &PulledAppointment| record.replacement.is_some() || !self.may_be_replaced(record.id);
        let shown = |id| page.appointments.iter().any(|record| record.id.0 == id && is_new(record));
        page.unmatched > 0 && self.state.queue.inserts_on_their_way(resource).any(|id| !shown(id))
    }

    pub(super) fn pulled_appointment(
        &self,
        cx: DecisionContext,
        record: &PulledAppointment,
        keep: &mut Vec<AppointmentId>,
        events: &mut Vec<Event>,
    ) {
        let known = self.state.appointments.get(&record.id);
        if known.is_some_and(|local| local.insert == Insert::Pending) {
            // A pulled record of a pending insert proves that our write created it.
            let insert = self
                .state
                .queue
                .for_appointment(record.id)
                .find(|(_, w)| w.work == WriteIntent::CreateAppointment(record.id));
            match insert {
                Some((id, write)) => self.written(cx, id, write, Some(&record.written), events),
                None => {
                    events.push(Event::InsertDone { appointment: record.id, written: record.written.clone() });
                }
            }
        }
        let replacement = record.replacement.and_then(|id| Some((id, self.state.queue.get(id)?)));
        if let Some((id, write)) = replacement.filter(|(_, write)| write.work == WriteIntent::Replace(record.id)) {
            self.written(cx, id, write, Some(&record.written), events);
            if known.is_some_and(|visit| visit.gone) {
                // The EHR has cancelled the visit, so the new appointment is cancelled too.
                return;
            }
        }
        if record.cancelled && record.replacement.is_none() && self.may_have_been_replaced(record.id, events) {
            keep.push(record.id);
            return;
        }
        if record.cancelled {
            if known.is_some() {
                self.gone(record.id, events);
            }
            return;
        }
        let kept = self.changing(record.id, events);
        if kept {
            keep.push(record.id);
        }
        if !self.differs_from_state(record) {
            return;
        }
        events.push(Event::AppointmentPulled { record: record.clone(), keep: kept });
        self.report_conflicts(record, events);
    }

    /// Returns `true` if a move or cancellation of the appointment is queued or in flight, and not ended by `events`.
    fn changing(&self, id: AppointmentId, events: &[Event]) -> bool {
        let changes =
            |work| matches!(work, WriteIntent::Reschedule(_) | WriteIntent::Replace(_) | WriteIntent::Cancel(_));
        let mut writes = self.state.queue.for_appointment(id);
        writes.any(|(write, pending)| {
            changes(pending.work) && !events.iter().any(|event| event.write_done() == Some(write))
        })
    }

    /// Returns `true` if a pulled appointment differs from the known state.
    pub(super) fn differs_from_state(&self, record: &PulledAppointment) -> bool {
        let Some(local) = self.state.appointments.get(&record.id) else { return !record.cancelled };
        let in_place = local.in_place() && local.placement == record.placement;
        let known = local.patient == record.patient
            && local.appointment_type == record.appointment_type
            && local.unavailable == record.unavailable
            && local.in_ehr()
            && local.confirmed == Some(record.placement)
            && (in_place || self.changing(record.id, &[]));
        record.cancelled || !known
    }

    /// Reports the pending bookings whose slot the appointment takes: same operatory or, if it has none, same provider.
    pub(super) fn report_conflicts(&self, record: &PulledAppointment, events: &mut Vec<Event>) {
        let pulled = record.placement;
        let taken = |place: Placement| {
            place.span.overlaps(pulled.span)
                && match pulled.operatory {
                    Some(operatory) => place.operatory == Some(operatory),
                    None => pulled.provider.is_some() && place.provider == pulled.provider,
                }
        };
        for ours in self.state.queue.inserts().filter(|ours| *ours != record.id) {
            if self.state.appointments.get(&ours).is_some_and(|a| !a.cancelling && taken(a.placement)) {
                events.push(Event::ConflictFound { ours, theirs: record.id });
            }
        }
    }
}

//! Appointments that the EHR shows, matched with ours: what is news, what a write of ours made, and what stands in a booking's slot.

use crate::{
    Location,
    command::Cx,
    decision::{Decision, Reply},
    event::Event,
    ids::AppointmentId,
    resource::Resource,
    schedule::calendar::Placement,
    state::Insert,
    sync::page::{Page, PulledAppointment},
    writes::intent::WriteIntent,
};

impl Location {
    /// The EHR showed an insert of ours before it answered it, without our key: what was made of that is one appointment too many.
    pub(crate) fn twin_found(&self, cx: Cx, twin: AppointmentId, record: &PulledAppointment) -> Decision {
        let mut events = Vec::new();
        if self.holds(Resource::Appointments, twin.0) {
            self.gone(twin, &mut events);
        }
        self.pulled_appointment(cx, record, &mut Vec::new(), &mut events);
        Decision::of(Reply::Done, events)
    }

    /// Whether something nobody knew may be what an insert without answer made. What the page says of it can be told apart once the
    /// answer is there.
    pub(super) fn may_show_an_insert(&self, resource: Resource, page: &Page) -> bool {
        let shown = |id| page.appointments.iter().any(|record| record.id.0 == id);
        page.unmatched > 0 && self.state.queue.inserts_on_their_way(resource).any(|id| !shown(id))
    }

    pub(super) fn pulled_appointment(
        &self,
        cx: Cx,
        record: &PulledAppointment,
        keep: &mut Vec<AppointmentId>,
        events: &mut Vec<Event>,
    ) {
        let known = self.state.appointments.get(&record.id);
        if known.is_some_and(|ours| ours.insert == Insert::Pending) {
            // A pending insert that turns out to be there: our write was the one that made it.
            let insert =
                self.state.queue.of(record.id).find(|(_, w)| w.work == WriteIntent::CreateAppointment(record.id));
            match insert {
                Some((id, write)) => self.written(cx, id, write, Some(&record.written), events),
                None => {
                    events.push(Event::InsertDone { appointment: record.id, written: record.written.clone() });
                }
            }
        }
        if record.cancelled {
            if known.is_some() {
                self.gone(record.id, events);
            }
            return;
        }
        let kept = self.changing(record.id);
        if kept {
            keep.push(record.id);
        }
        if !self.is_news(record) {
            return;
        }
        events.push(Event::AppointmentPulled { record: record.clone(), keep: kept });
        self.report_conflicts(record, events);
    }

    /// Whether a change of ours to an appointment in the EHR is on its way.
    pub(super) fn changing(&self, id: AppointmentId) -> bool {
        let mut writes = self.state.queue.of(id);
        writes.any(|(_, write)| matches!(write.work, WriteIntent::Reschedule(_) | WriteIntent::Cancel(_)))
    }

    /// Whether the EHR says of an appointment what we do not know.
    pub(super) fn is_news(&self, record: &PulledAppointment) -> bool {
        let Some(ours) = self.state.appointments.get(&record.id) else { return !record.cancelled };
        let in_place = ours.settled() && ours.placement == record.placement;
        let known = ours.patient == record.patient
            && ours.appointment_type == record.appointment_type
            && ours.unavailable == record.unavailable
            && ours.in_ehr()
            && ours.confirmed == Some(record.placement)
            && (in_place || self.changing(record.id));
        record.cancelled || !known
    }

    /// Bookings of ours, not yet in the EHR, in whose slot this appointment stands: in their operatory, or without one where it
    /// keeps their provider from all of them.
    pub(super) fn report_conflicts(&self, record: &PulledAppointment, events: &mut Vec<Event>) {
        let theirs = record.placement;
        let taken = |ours: Placement| {
            ours.span.overlaps(theirs.span)
                && match theirs.operatory {
                    Some(operatory) => ours.operatory == Some(operatory),
                    None => theirs.provider.is_some() && ours.provider == theirs.provider,
                }
        };
        for ours in self.state.queue.inserts().filter(|ours| *ours != record.id) {
            if self.state.appointments.get(&ours).is_some_and(|a| !a.cancelling && taken(a.placement)) {
                events.push(Event::ConflictFound { ours, theirs: record.id });
            }
        }
    }
}

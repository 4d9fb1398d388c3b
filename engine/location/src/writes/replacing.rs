//! Moves in an EHR that cannot move appointments. The new appointment is inserted first, and the old one is cancelled
//! once the insert is known to be done: after a crash or a lost reply the visit is in the EHR once or twice, never not
//! at all.
//!
//! ```text
//! Replace ──► done ──► CancelReplaced ──► gone
//!    │                       └── refused: its place stays taken until an operator retries or the EHR cancels it
//!    └── refused: the visit stays at its old place
//! ```

use crate::{
    AppointmentId, CalendarAppointment, DecisionContext, Event, Insert, Location, OrderingKey, Placement, State,
    WriteId, WriteIntent,
    event::CANCELLED_UNSENT,
    sync::page::{LateAppointment, PulledReplaced},
    writes::{
        intent::Written,
        queue::Write,
        replacement::{ForgottenVisit, Replaced, Replacement},
    },
};

impl Location {
    /// Handles a replacement that is in the EHR. The old appointment is cancelled next; if the EHR has cancelled the
    /// visit meanwhile, the new one is.
    pub(crate) fn replacement_written(
        &self,
        cx: DecisionContext,
        write: &Write,
        (appointment, written): (AppointmentId, &Written),
        events: &mut Vec<Event>,
    ) {
        let Some(local) = self.state.appointments.get(&appointment) else { return };
        let (replaced, to) = (self.next_write(events), write.sent.unwrap_or(local.placement));
        let (from, written) = (local.confirmed, written.clone());
        let superfluous = local.gone;
        events.push(Event::Replacement(if superfluous {
            Replacement::Late { appointment, replaced, at: to, visit: None, written }
        } else {
            Replacement::Done { appointment, replaced, from, to, written }
        }));
        if superfluous || from.is_some() {
            let work = WriteIntent::CancelReplaced { appointment, replaced };
            self.queue_write(cx, events, work, write.ordering_key, None);
        }
    }

    /// Ends an unsent replacement behind a write that has ended, if the EHR has the appointment at its current place.
    pub(crate) fn end_needless_replacement(
        &self,
        id: AppointmentId,
        (ended, in_ehr): (WriteId, Option<Placement>),
        events: &mut Vec<Event>,
    ) {
        let place = self.state.appointments.get(&id).map(|local| local.placement);
        let is_unsent = |write: &Write| write.withdrawable() && write.work == WriteIntent::Replace(id);
        let needless =
            self.state.queue.for_appointment(id).filter(|(other, write)| *other != ended && is_unsent(write));
        for (write, unsent) in needless.filter(|_| place.is_some() && place == in_ehr) {
            events.push(Event::WriteDone { write, work: unsent.work, written: None });
        }
    }

    /// Handles a replaced appointment as a page shows it. If it is gone, its cancellation has reached its aim.
    pub(crate) fn replaced_shown(&self, shown: &PulledReplaced, events: &mut Vec<Event>) {
        let PulledReplaced { appointment, replaced, placement } = *shown;
        let Some(known) = self.replaced(appointment, replaced) else { return };
        let gone = Event::Replacement(Replacement::Gone { appointment, replaced });
        if events.contains(&gone) {
            return;
        }
        match placement {
            Some(at) if at == known.placement => {}
            Some(at) => events.push(Event::Replacement(Replacement::Shown { appointment, replaced, at })),
            None => {
                let work = WriteIntent::CancelReplaced { appointment, replaced };
                let queued = self.state.queue.for_appointment(appointment).filter(|(_, write)| write.work == work);
                events.extend(queued.map(|(write, _)| Event::WriteDone { write, work, written: None }));
                events.push(gone);
            }
        }
    }

    /// Handles a replaced appointment that two complete passes in a row did not contain.
    pub(crate) fn replaced_absent(&self, number: WriteId, events: &mut Vec<Event>) {
        let has_it = |appointment: &CalendarAppointment| appointment.replaced.iter().any(|it| it.write == number);
        let visit = self.state.appointments.iter().find(|(_, appointment)| has_it(appointment));
        if let Some((appointment, _)) = visit {
            let absent = PulledReplaced { appointment: *appointment, replaced: number, placement: None };
            self.replaced_shown(&absent, events);
        }
    }

    /// Handles an old appointment on the page that proves its replacement. If it is gone, nothing is left to cancel.
    /// Must follow the last write that the decision queues, because it takes one back.
    pub(crate) fn old_shown(&self, id: AppointmentId, placement: Option<Placement>, events: &mut Vec<Event>) {
        let done = events.iter().find_map(|event| match event {
            Event::Replacement(Replacement::Done { appointment, replaced, from: Some(from), .. })
                if *appointment == id =>
            {
                Some((*replaced, *from))
            }
            _ => None,
        });
        let Some((replaced, from)) = done else { return };
        match placement {
            Some(at) if at == from => {}
            Some(at) => events.push(Event::Replacement(Replacement::Shown { appointment: id, replaced, at })),
            None => {
                events.retain(|event| !matches!(event, Event::WriteQueued { write, .. } if *write == replaced));
                events.push(Event::Replacement(Replacement::Gone { appointment: id, replaced }));
            }
        }
    }

    /// Cancels an appointment that a replacement without success, or the insert of a cancelled booking, has created.
    /// The cancellation is queued even if the queue is full: a page cannot be refused, and the patient must not keep a
    /// second place. Each such appointment has at most one.
    pub(crate) fn cancel_late(&self, cx: DecisionContext, late: &LateAppointment, events: &mut Vec<Event>) {
        let LateAppointment { appointment, placement: at, visit, ref written } = *late;
        let known = self.state.appointments.get(&appointment);
        let visit = visit.filter(|_| known.is_none());
        let patient = known.map_or(visit.map(|visit| visit.patient), |known| known.patient);
        let Some(patient) = patient else { return };
        let (replaced, written) = (self.next_write(events), written.clone());
        events.push(Event::Replacement(Replacement::Late { appointment, replaced, at, visit, written }));
        let work = WriteIntent::CancelReplaced { appointment, replaced };
        self.queue_write(cx, events, work, OrderingKey::Patient(patient), None);
    }

    /// Prepares the cancellation of a visit: its unsent replacement is withdrawn, and replaced appointments whose
    /// cancellation was refused are cancelled again.
    pub(crate) fn end_replacements(
        &self,
        cx: DecisionContext,
        id: AppointmentId,
        appointment: &CalendarAppointment,
        events: &mut Vec<Event>,
    ) {
        let is_unsent = |write: &Write| write.withdrawable() && write.work == WriteIntent::Replace(id);
        for (write, unsent) in self.state.queue.for_appointment(id).filter(|(_, write)| is_unsent(write)) {
            events.push(Event::withdrawn(write, unsent.work, CANCELLED_UNSENT));
        }
        let Some(patient) = appointment.patient else { return };
        for Replaced { write: replaced, .. } in &appointment.replaced {
            let work = WriteIntent::CancelReplaced { appointment: id, replaced: *replaced };
            if self.state.queue.for_appointment(id).all(|(_, write)| write.work != work) {
                self.queue_write(cx, events, work, OrderingKey::Patient(patient), None);
            }
        }
    }

    /// Returns `true` if a replacement of the appointment may have reached the EHR.
    pub(crate) fn may_be_replaced(&self, id: AppointmentId) -> bool {
        let mut writes = self.state.queue.for_appointment(id);
        writes.any(|(_, write)| write.work == WriteIntent::Replace(id) && !write.withdrawable())
    }

    /// Returns `true` if a replacement was restored from a backup, has not been looked up, and is not proven by
    /// `events`. The old appointment may be cancelled because the replacement was done since the backup.
    pub(crate) fn may_have_been_replaced(&self, id: AppointmentId, events: &[Event]) -> bool {
        let is_proven = |write| events.iter().any(|event| event.write_done() == Some(write));
        let mut writes = self.state.queue.for_appointment(id);
        writes.any(|(write, queued)| queued.work == WriteIntent::Replace(id) && queued.restored && !is_proven(write))
    }

    /// Returns a replaced appointment that the EHR has not cancelled yet.
    pub(crate) fn replaced(&self, id: AppointmentId, replaced: WriteId) -> Option<&Replaced> {
        self.state.appointments.get(&id)?.replaced.iter().find(|known| known.write == replaced)
    }
}

/// Returns the state of a visit that is known again until its late appointment is cancelled.
fn remembered(visit: ForgottenVisit) -> CalendarAppointment {
    let ForgottenVisit { patient, appointment_type, placement, gone } = visit;
    CalendarAppointment {
        patient: Some(patient),
        appointment_type,
        placement,
        unavailable: false,
        insert: Insert::Done,
        cancelling: gone,
        vacating: Vec::new(),
        confirmed: (!gone).then_some(placement),
        replaced: Vec::new(),
        gone,
    }
}

impl State {
    /// Applies a step of a replacement.
    pub(crate) fn replacement(&mut self, step: &Replacement) {
        match step {
            Replacement::Done { appointment, replaced, from, to, written: _ } => {
                self.change_appointment(*appointment, |a| {
                    a.replaced.extend(from.map(|placement| Replaced { write: *replaced, placement }));
                    a.confirmed = Some(*to);
                });
            }
            Replacement::Late { appointment, replaced, at, visit, written: _ } => {
                if let Some(visit) = visit.filter(|_| !self.appointments.contains_key(appointment)) {
                    self.put_appointment(*appointment, remembered(visit));
                }
                let late = Replaced { write: *replaced, placement: *at };
                self.change_appointment(*appointment, |a| a.replaced.push(late));
            }
            Replacement::Shown { appointment, replaced, at } => {
                self.change_appointment(*appointment, |a| {
                    let shown = a.replaced.iter_mut().filter(|known| known.write == *replaced);
                    shown.for_each(|known| known.placement = *at);
                });
            }
            Replacement::Gone { appointment, replaced } => {
                self.change_appointment(*appointment, |a| a.replaced.retain(|known| known.write != *replaced));
                self.remove_if_over(*appointment);
            }
        }
    }

    /// Removes an appointment that the EHR has cancelled or removed. It is kept as long as one of its replacements is
    /// left.
    pub(crate) fn left_ehr(&mut self, id: AppointmentId) {
        self.conflicts.remove(&id);
        let replaced = self.appointments.get(&id).is_some_and(|a| !a.replaced.is_empty());
        if replaced || self.queue.for_appointment(id).any(|(_, write)| write.work == WriteIntent::Replace(id)) {
            self.change_appointment(id, |a| (a.cancelling, a.gone, a.confirmed) = (true, true, None));
        } else {
            self.remove_appointment(id);
        }
    }

    /// Removes a gone appointment if neither a replaced one nor a replacement in flight is left.
    pub(crate) fn remove_if_over(&mut self, id: AppointmentId) {
        let over = self.appointments.get(&id).is_some_and(|a| a.gone && a.replaced.is_empty());
        if over && !self.queue.for_appointment(id).any(|(_, write)| write.work == WriteIntent::Replace(id)) {
            self.remove_appointment(id);
        }
    }
}

//! The handling of write results: done, refused, sent again, or looked up first. A write of unknown outcome is never
//! sent again without a look-up, and no accepted write is lost.

use crate::{
    AppointmentId, CalendarAppointment, DAY, Decision, DecisionContext, Event, Location, Millis, Operation, Placement,
    Reply, Resource, Timestamp, WriteId, WriteIntent,
    event::{CANCELLED_UNSENT, CancelledBy, InsertFailure, REMOVED_UNSENT, TOO_LATE},
    random::{jittered, mix},
    writes::{
        breaker::Blocked,
        intent::{CallKind, Failure, Outcome, Written},
        queue::{Write, WriteState},
        replacement::Replacement,
    },
};

impl Location {
    pub(crate) fn pushed(
        &self,
        cx: DecisionContext,
        id: WriteId,
        attempt: u32,
        outcome: &Outcome<Written>,
    ) -> Decision {
        let Some(write) = self.awaited(id, attempt, CallKind::Push) else { return Decision::nothing() };
        let mut events = Vec::new();
        self.push_ended(cx, id, write, outcome, &mut events);
        Decision::new(Reply::Done, events)
    }

    fn push_ended(
        &self,
        cx: DecisionContext,
        id: WriteId,
        write: &Write,
        outcome: &Outcome<Written>,
        events: &mut Vec<Event>,
    ) {
        match outcome {
            Ok(written) => self.written(cx, id, write, Some(written), events),
            Err(Failure::Rejected(reason) | Failure::Unsupported(reason)) => {
                self.breaker_closed(events);
                self.failed(id, write, InsertFailure::Failed, reason, events);
            }
            Err(Failure::RetryLater { reason, after }) => {
                let wait = self.backoff(cx, id, write).max(requested_pause(*after));
                self.schedule_retry(id, write, cx.now.plus(wait), (reason, false), events);
                self.breaker_failure(cx, id, events);
            }
            Err(Failure::NotBegun(reason)) => {
                self.schedule_retry(id, write, self.soon(cx, id), (reason, false), events)
            }
            Err(Failure::NotReady(reason) | Failure::NeverSent(reason)) => {
                self.schedule_retry(id, write, cx.now.plus(self.backoff(cx, id, write)), (reason, false), events);
            }
            Err(Failure::Unknown(reason) | Failure::OfAnother(reason)) => {
                let not_before = cx.now.plus(self.settle(write));
                events.push(Event::WriteUnknown { write: id, not_before, reason: reason.clone() });
                self.breaker_failure(cx, id, events);
            }
            Err(Failure::Unauthorized(reason)) => {
                self.schedule_retry(id, write, cx.now, (reason, false), events);
                self.block(cx, Blocked::Unauthorized, events);
            }
            Err(Failure::GateClosed) => {
                self.schedule_retry(id, write, cx.now, ("the workstation gate is closed", false), events);
                self.block(cx, Blocked::GateClosed, events);
            }
        }
    }

    pub(crate) fn found(
        &self,
        cx: DecisionContext,
        id: WriteId,
        attempt: u32,
        outcome: &Outcome<Option<Written>>,
    ) -> Decision {
        let Some(write) = self.awaited(id, attempt, CallKind::Find) else { return Decision::nothing() };
        let mut events = Vec::new();
        self.find_ended(cx, id, write, outcome, &mut events);
        Decision::new(Reply::Done, events)
    }

    fn find_ended(
        &self,
        cx: DecisionContext,
        id: WriteId,
        write: &Write,
        outcome: &Outcome<Option<Written>>,
        events: &mut Vec<Event>,
    ) {
        match outcome {
            Ok(Some(written)) => self.written(cx, id, write, Some(written), events),
            Ok(None) => {
                self.breaker_probe_answered(events);
                self.not_found(cx, id, write, events);
            }
            Err(Failure::NeverSent(reason)) => self.retry_not_found(cx, id, write, (reason, false), events),
            // A second look-up would give the same result.
            Err(Failure::OfAnother(reason)) => {
                self.breaker_probe_answered(events);
                self.failed(id, write, InsertFailure::Failed, reason, events);
            }
            Err(_) if write.deadline.plus(self.settings.write.deadline) <= cx.now => {
                let reason = "the outcome stayed unknown: the EHR could not be asked";
                self.failed(id, write, InsertFailure::Failed, reason, events);
            }
            Err(failure) => {
                // A blocked breaker determines the next attempt.
                let not_before = match failure {
                    Failure::Unauthorized(_) | Failure::GateClosed => cx.now,
                    Failure::NotBegun(_) => self.soon(cx, id),
                    _ => cx.now.plus(self.backoff(cx, id, write)),
                };
                events.push(Event::WriteUnknown { write: id, not_before, reason: reason_of(failure) });
                match failure {
                    Failure::Unauthorized(_) => self.block(cx, Blocked::Unauthorized, events),
                    Failure::GateClosed => self.block(cx, Blocked::GateClosed, events),
                    Failure::NotReady(_) | Failure::NotBegun(_) => {}
                    _ => self.breaker_failure(cx, id, events),
                }
            }
        }
    }

    /// Handles a write that was sent and not found. The look-up may be wrong repeatedly, so writes that create a record
    /// are resent a limited number of times.
    fn not_found(&self, cx: DecisionContext, id: WriteId, write: &Write, events: &mut Vec<Event>) {
        if write.restored {
            return self.not_found_after_restore(cx, id, write, events);
        }
        if write.work.creates() && cx.now < write.deadline && write.not_found >= self.settings.write.max_resends {
            let reason = format!(
                "sent {} times without an answer, and never found when it was looked up: not sent again, because that could create a duplicate",
                write.not_found.saturating_add(1),
            );
            self.failed(id, write, InsertFailure::Failed, &reason, events);
        } else {
            self.retry_not_found(cx, id, write, ("looked up: not in the EHR", true), events);
        }
    }

    /// Handles a restored write that was not found. A creation is sent: the EHR has it from neither before nor after
    /// the backup. A change is not sent: it may have been made and followed by another one, which must not be
    /// overwritten.
    fn not_found_after_restore(&self, cx: DecisionContext, id: WriteId, write: &Write, events: &mut Vec<Event>) {
        if write.work.creates() {
            let why = "looked up after the store was restored: not in the EHR";
            self.retry_not_found(cx, id, write, (why, false), events);
        } else {
            let why = "the store was restored from a backup, and the EHR does not show this change: it was never made, or it was overwritten since. \
                       Make it again if it is still wanted";
            self.failed(id, write, InsertFailure::Failed, why, events);
        }
    }

    /// Retries a write that is not in the EHR, until its deadline.
    fn retry_not_found(
        &self,
        cx: DecisionContext,
        id: WriteId,
        write: &Write,
        why: (&str, bool),
        events: &mut Vec<Event>,
    ) {
        if write.deadline <= cx.now {
            self.failed(id, write, InsertFailure::TimedOut, TOO_LATE, events);
        } else {
            self.schedule_retry(id, write, cx.now, why, events);
        }
    }

    /// Returns the pause between an unknown outcome and its look-up. The pause doubles each time the write was not
    /// found, because it may become visible late.
    fn settle(&self, write: &Write) -> Millis {
        let rules = &self.settings.write;
        let doubled = rules.settle.saturating_mul(1_i64 << write.not_found.min(20));
        doubled.min(rules.backoff_cap.max(rules.settle))
    }

    /// Treats a call whose deadline passed as one with unknown outcome. After a crash this includes calls that no task
    /// awaits.
    pub(crate) fn unanswered(&self, cx: DecisionContext, id: WriteId, write: &Write, events: &mut Vec<Event>) {
        let lost = Failure::Unknown("no answer before the call's deadline".to_owned());
        match write.state {
            WriteState::Calling { kind: CallKind::Push, .. } => self.push_ended(cx, id, write, &Err(lost), events),
            WriteState::Calling { kind: CallKind::Find, .. } => self.find_ended(cx, id, write, &Err(lost), events),
            WriteState::Waiting { .. } => {}
        }
    }

    /// Returns the write that a call's result is for, or `None` if the result is outdated.
    fn awaited(&self, id: WriteId, attempt: u32, kind: CallKind) -> Option<&Write> {
        self.state.queue.get(id).filter(|write| {
            write.attempts == attempt
                && matches!(write.state, WriteState::Calling { kind: calling, .. } if calling == kind)
        })
    }

    pub(crate) fn written(
        &self,
        cx: DecisionContext,
        id: WriteId,
        write: &Write,
        written: Option<&Written>,
        events: &mut Vec<Event>,
    ) {
        self.breaker_closed(events);
        events.push(Event::WriteDone { write: id, work: write.work, written: written.cloned() });
        let says_where =
            |work| matches!(work, WriteIntent::Reschedule(_) | WriteIntent::Replace(_) | WriteIntent::Cancel(_));
        match (write.work, written) {
            (WriteIntent::CreateAppointment(appointment), Some(written)) => {
                events.push(Event::InsertDone { appointment, written: written.clone() });
                self.end_needless_replacement(appointment, (id, write.sent), events);
            }
            (WriteIntent::Replace(appointment), Some(written)) => {
                // Before the cancellation of the old appointment is queued, which then is the last write of the visit.
                self.end_needless_replacement(appointment, (id, write.sent), events);
                self.replacement_written(cx, write, (appointment, written), events);
            }
            (WriteIntent::CancelReplaced { appointment, replaced }, _) => {
                events.push(Event::Replacement(Replacement::Gone { appointment, replaced }));
            }
            (WriteIntent::Cancel(appointment), _) => events.push(Event::CancelConfirmed { appointment }),
            // Sent again, because a page showed another placement meanwhile and the client's move must win.
            (WriteIntent::Reschedule(appointment), _)
                if write.superseded && !self.later(appointment, id).any(|(_, later)| says_where(later.work)) =>
            {
                self.queue_write(cx, events, write.work, write.ordering_key, None);
            }
            (WriteIntent::Record { resource: Resource::WorkingHours, id: hour, .. }, _) => {
                self.hour_written(cx, id, write, hour, events);
            }
            _ => {}
        }
    }

    /// Ends a write that was not written, and reverts the state that depends on it.
    pub(crate) fn failed(&self, id: WriteId, write: &Write, how: InsertFailure, reason: &str, events: &mut Vec<Event>) {
        let reason = reason.to_owned();
        events.push(Event::WriteFailed { write: id, work: write.work, how, reason: reason.clone() });
        match write.work {
            // The processor reverts the details to the values in the EHR.
            WriteIntent::Confirm(_) | WriteIntent::CheckIn(_) | WriteIntent::Note(_) => {}
            // The EHR still has the replaced appointment, so its place stays taken.
            WriteIntent::CancelReplaced { .. } => {}
            WriteIntent::Record { resource, id: record, operation } => {
                // Later writes to a record that will not exist.
                let later = self.state.queue.for_record(resource, record).filter(|(other, _)| *other > id);
                for (other, later) in later.filter(|_| operation == Operation::Create) {
                    events.push(Event::WriteFailed { write: other, work: later.work, how, reason: reason.clone() });
                }
                if resource == Resource::WorkingHours {
                    self.hour_not_written(id, record, operation, &reason, events);
                }
            }
            WriteIntent::CreatePatient(patient) => {
                // Fails the writes that need the patient. Appointments in the EHR are exempt, because the EHR then
                // knows the patient; writes of unknown outcome are looked up.
                let in_ehr =
                    |a: AppointmentId| self.state.appointments.get(&a).is_some_and(CalendarAppointment::in_ehr);
                let waits = |other: &Write| other.withdrawable() && !other.work.appointment().is_some_and(in_ehr);
                let waiting =
                    self.state.queue.for_patient(patient).filter(|(other, write)| *other != id && waits(write));
                for (other, waiting) in waiting {
                    let reason = reason.clone();
                    events.push(Event::WriteFailed { write: other, work: waiting.work, how, reason: reason.clone() });
                    if let WriteIntent::CreateAppointment(appointment) = waiting.work {
                        events.push(Event::InsertFailed { appointment, how, reason });
                    }
                }
            }
            WriteIntent::CreateAppointment(appointment) => {
                self.drop_writes(appointment, id, events);
                events.push(Event::InsertFailed { appointment, how, reason });
            }
            WriteIntent::Reschedule(appointment) | WriteIntent::Replace(appointment) => {
                // A waiting move will send the local placement; one in flight determines the placement in the EHR.
                let moves = |work| matches!(work, WriteIntent::Reschedule(_) | WriteIntent::Replace(_));
                let others = self.later(appointment, id).filter(|(_, other)| moves(other.work));
                let (waiting, out): (Vec<_>, Vec<_>) = others.partition(|(_, other)| other.withdrawable());
                let sent = out.into_iter().find_map(|(_, other)| other.sent);
                let in_ehr = sent.or_else(|| self.place_in_ehr(appointment));
                match in_ehr.filter(|_| waiting.is_empty()) {
                    Some(to) => events.push(Event::MoveReverted { appointment, to, reason }),
                    None => self.end_needless_replacement(appointment, (id, in_ehr), events),
                }
            }
            WriteIntent::Cancel(appointment) => {
                events.push(Event::CancelReverted { appointment, reason: reason.clone() });
                let ours = self.state.appointments.get(&appointment).map(|a| a.placement);
                let staff_moved = self.place_in_ehr(appointment).filter(|place| Some(*place) != ours);
                let replaced = |work| matches!(work, WriteIntent::CancelReplaced { .. });
                let last = self.later(appointment, id).all(|(_, later)| replaced(later.work));
                if let (Some(to), true) = (staff_moved, last) {
                    events.push(Event::MoveReverted { appointment, to, reason });
                }
            }
        }
    }

    /// Returns the placement of an appointment in the EHR: confirmed, or sent with an insert of unknown outcome.
    /// Returns `None` if the EHR certainly does not have it.
    fn place_in_ehr(&self, id: AppointmentId) -> Option<Placement> {
        let confirmed = self.state.appointments.get(&id).and_then(|a| a.confirmed);
        let inserts = self
            .state
            .queue
            .for_appointment(id)
            .filter(|(_, write)| matches!(write.work, WriteIntent::CreateAppointment(_)));
        confirmed.or_else(|| inserts.filter(|(_, write)| !write.withdrawable()).find_map(|(_, write)| write.sent))
    }

    /// Withdraws the insert of a cancelled booking that the EHR certainly does not have, with its later writes.
    pub(crate) fn withdraw(&self, insert: WriteId, appointment: AppointmentId, events: &mut Vec<Event>) {
        events.push(Event::withdrawn(insert, WriteIntent::CreateAppointment(appointment), CANCELLED_UNSENT));
        self.drop_writes(appointment, insert, events);
        let (how, reason) = (InsertFailure::Withdrawn, CANCELLED_UNSENT.to_owned());
        events.push(Event::InsertFailed { appointment, how, reason });
    }

    /// Withdraws the other writes of an appointment that is not in the EHR.
    fn drop_writes(&self, appointment: AppointmentId, except: WriteId, events: &mut Vec<Event>) {
        for (write, later) in self.later(appointment, except) {
            events.push(Event::withdrawn(write, later.work, "its appointment is not in the EHR"));
        }
    }

    fn later(&self, appointment: AppointmentId, except: WriteId) -> impl Iterator<Item = (WriteId, &Write)> {
        self.state.queue.for_appointment(appointment).filter(move |(other, _)| *other != except)
    }

    /// Handles an appointment that was removed or cancelled in the EHR. A pending cancellation has reached its aim;
    /// other pending writes are withdrawn.
    ///
    /// Replaced appointments are still cancelled, and a replacement in flight ends first.
    pub(crate) fn gone(&self, appointment: AppointmentId, events: &mut Vec<Event>) {
        let is_gone = self.state.appointments.get(&appointment).is_some_and(|known| known.gone);
        if is_gone || self.may_have_been_replaced(appointment, events) {
            return;
        }
        let done: Vec<WriteId> = events.iter().filter_map(Event::write_done).collect();
        let mut cancelled = Event::Cancelled { appointment, by: CancelledBy::Ehr, reason: None };
        let stays = |write: &Write| match write.work {
            WriteIntent::CancelReplaced { .. } => true,
            WriteIntent::Replace(_) => !write.withdrawable(),
            _ => false,
        };
        let pending = self.state.queue.for_appointment(appointment).filter(|(write, _)| !done.contains(write));
        for (write, pending) in pending.filter(|(_, pending)| !stays(pending)) {
            events.push(match pending.work {
                work @ WriteIntent::Cancel(_) => {
                    cancelled = Event::CancelConfirmed { appointment };
                    Event::WriteDone { write, work, written: None }
                }
                work => Event::withdrawn(write, work, "cancelled in the EHR"),
            });
        }
        events.push(cancelled);
        events.push(Event::AppointmentGone { appointment });
    }

    /// Schedules another attempt, unless the booking was cancelled meanwhile.
    fn schedule_retry(
        &self,
        id: WriteId,
        write: &Write,
        not_before: Timestamp,
        (reason, not_found): (&str, bool),
        events: &mut Vec<Event>,
    ) {
        let is_cancelling = |id: AppointmentId| self.state.appointments.get(&id).is_some_and(|a| a.cancelling);
        match write.work {
            WriteIntent::CreateAppointment(appointment) if is_cancelling(appointment) => {
                self.withdraw(id, appointment, events);
            }
            WriteIntent::Replace(appointment) if is_cancelling(appointment) => {
                events.push(Event::withdrawn(id, write.work, CANCELLED_UNSENT));
            }
            WriteIntent::Record { resource: Resource::WorkingHours, id: hour, operation: Operation::Create }
                if self.hour_removed(hour) =>
            {
                let writes = self.state.queue.for_record(Resource::WorkingHours, hour);
                events.extend(writes.map(|(write, pending)| Event::withdrawn(write, pending.work, REMOVED_UNSENT)));
            }
            _ => events.push(Event::WriteDeferred { write: id, not_before, reason: reason.to_owned(), not_found }),
        }
    }

    fn breaker_closed(&self, events: &mut Vec<Event>) {
        if !self.state.breaker.is_clear() {
            events.push(Event::BreakerClosed);
        }
    }

    /// Unblocks after an answered look-up, unless failed writes opened the breaker: reading does not prove that writes
    /// work.
    fn breaker_probe_answered(&self, events: &mut Vec<Event>) {
        if self.state.breaker.blocked.is_some_and(|block| block.why != Blocked::Breaker) {
            events.push(Event::BreakerClosed);
        }
    }

    fn breaker_failure(&self, cx: DecisionContext, write: WriteId, events: &mut Vec<Event>) {
        events.push(Event::BreakerFailure { write });
        if self.state.breaker.opens(&self.settings.write, write) {
            self.block(cx, Blocked::Breaker, events);
        }
    }

    /// Opens the breaker unless its pause is still running, so that calls that fail together double the pause only
    /// once.
    fn block(&self, cx: DecisionContext, why: Blocked, events: &mut Vec<Event>) {
        let pausing = self.state.breaker.blocked.is_some_and(|block| cx.now < block.until);
        if pausing || events.iter().any(|event| matches!(event, Event::BreakerOpened { .. })) {
            return;
        }
        let pause = self.state.breaker.pause(&self.settings.write);
        events.push(Event::BreakerOpened { why, until: cx.now.plus(pause) });
    }

    /// Returns the short pause after a call that was not started, regardless of the number of attempts.
    fn soon(&self, cx: DecisionContext, id: WriteId) -> Timestamp {
        let base = self.settings.write.backoff_base;
        cx.now.plus(jittered(base, base, 1, mix(cx.random, id.0)))
    }

    /// Returns the exponential backoff with full jitter, which keeps locations out of step.
    fn backoff(&self, cx: DecisionContext, id: WriteId, write: &Write) -> Millis {
        let rules = &self.settings.write;
        jittered(rules.backoff_base, rules.backoff_cap, write.attempts, mix(cx.random, id.0))
    }
}

/// Returns the pause that the EHR asked for, capped at a day as a probable error.
pub(crate) fn requested_pause(after: Option<Millis>) -> Millis {
    after.unwrap_or(0).clamp(0, DAY)
}

pub(crate) fn reason_of(failure: &Failure) -> String {
    match failure {
        Failure::Rejected(reason)
        | Failure::RetryLater { reason, .. }
        | Failure::Unknown(reason)
        | Failure::Unauthorized(reason)
        | Failure::Unsupported(reason)
        | Failure::NotReady(reason)
        | Failure::NotBegun(reason)
        | Failure::OfAnother(reason)
        | Failure::NeverSent(reason) => reason.clone(),
        Failure::GateClosed => "the workstation gate is closed".to_owned(),
    }
}

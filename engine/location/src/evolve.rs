//! The effect of each event on the state. Infallible and deterministic: replaying the same events yields the same
//! state.

use crate::{
    AppointmentId, CalendarAppointment, Event, HourSource, Insert, Millis, OrderingKey, Placement, Quota, Resource,
    State, Timestamp, WorkingHour, WorkingHourId, WriteId, WriteIntent,
    event::KeyPinned,
    gate::{Gate, GateSince},
    state::{Hold, Key},
    sync::{
        page::PulledAppointment,
        pulls::{DescribeFailure, PageSummary, PullCall, Sweep},
    },
    writes::{
        breaker::CircuitBreaker,
        intent::CallKind,
        queue::{Write, WriteState},
    },
};

impl State {
    /// Applies an event. `quota` is the quota in force now; it affects only how soon later calls may start.
    pub fn evolve(&mut self, at: Timestamp, event: &Event, quota: Quota) {
        self.latest = at;
        if let Some((resource, id)) = event.reached() {
            self.written_during_pull(resource, id);
        }
        match event {
            Event::Booked { appointment, placement, appointment_type, patient, key, integrated } => {
                let booked = CalendarAppointment {
                    patient: Some(*patient),
                    appointment_type: *appointment_type,
                    placement: *placement,
                    unavailable: false,
                    insert: if *integrated { Insert::Pending } else { Insert::Done },
                    cancelling: false,
                    vacating: Vec::new(),
                    confirmed: None,
                    replaced: Vec::new(),
                    gone: false,
                };
                self.put_appointment(*appointment, booked);
                if let Some(pinned) = key {
                    self.pin_key(*appointment, pinned);
                }
            }
            Event::Held { hold, placement, until, holder, appointment_type, channel } => {
                let (placement, until, holder) = (*placement, *until, *holder);
                let (appointment_type, channel) = (*appointment_type, channel.clone());
                self.put_hold(*hold, Hold { placement, until, holder, appointment_type, channel })
            }
            Event::HoldEnded { hold } => self.remove_hold(*hold),
            Event::KeyUsed { appointment, key } => self.pin_key(*appointment, key),
            Event::KeyExpired { key } => {
                self.keys.remove(key);
            }
            Event::Moved { appointment, to, why: _ } => {
                self.insert_in_time_for(*appointment, *to);
                self.change_appointment(*appointment, |a| a.placement = *to);
                self.conflicts.remove(appointment);
            }
            Event::MoveReverted { appointment, to, reason: _ } => {
                self.insert_in_time_for(*appointment, *to);
                self.change_appointment(*appointment, |a| a.placement = *to)
            }
            Event::Cancelled { appointment, .. } => self.change_appointment(*appointment, |a| a.cancelling = true),
            Event::CancelReverted { appointment, reason: _ } => {
                self.change_appointment(*appointment, |a| a.cancelling = false)
            }
            Event::CancelConfirmed { appointment } => self.left_ehr(*appointment),
            Event::Replacement(step) => self.replacement(step),
            Event::AppointmentGone { appointment } => {
                *self.pulls.deleted.entry(Resource::Appointments).or_default() += 1;
                self.left_ehr(*appointment);
            }
            Event::InsertDone { appointment, .. } => {
                self.change_appointment(*appointment, |a| {
                    a.insert = Insert::Done;
                    a.confirmed.get_or_insert(a.placement);
                });
                self.conflicts.remove(appointment);
            }
            Event::InsertFailed { appointment, .. } => {
                self.remove_appointment(*appointment);
                self.conflicts.remove(appointment);
            }

            // Kept in documents only; the state has no part of them.
            Event::RecordSaved { .. } | Event::AppointmentChanged { .. } | Event::PastAppointmentGone { .. } => {}
            Event::HourSet(hour) | Event::HourReverted { to: hour, reason: _ } => {
                self.hours.insert(hour.id, hour.clone());
            }
            Event::HourRemoved { hour } => {
                self.hours.remove(hour);
            }

            Event::WriteQueued { write, work, ordering_key, key, deadline, origin } => {
                let queued = queued(at, *work, *ordering_key, key, *deadline);
                self.queue.push(*write, Write { origin: origin.clone(), ..queued });
            }
            Event::WriteRetried { write, of: _, work, ordering_key, key, deadline, look_first, origin } => {
                let queued = queued(at, *work, *ordering_key, key, *deadline);
                let mut retried = Write { unknown: *look_first, origin: origin.clone(), ..queued };
                if *look_first {
                    // The earlier attempt may have reached the EHR, and a page may have shown the result unmatched.
                    let booked = work.appointment().and_then(|id| self.appointments.get(&id));
                    retried.sent = booked.map(|a| a.placement);
                    retried.sent_hour = work.hour().and_then(|hour| self.hours.get(&hour)).cloned().map(Box::new);
                    let of_appointment = work.appointment().filter(|_| work.creates()).map(|_| Resource::Appointments);
                    self.pulls.needs_full_pass.extend(of_appointment.or(work.hour().map(|_| Resource::WorkingHours)));
                }
                self.queue.push(*write, retried);
            }
            // The state changes with the `WriteFailed` event of the write.
            Event::WriteDropped { .. } => {}
            Event::CallStarted { write, attempt, kind, until, sent } => {
                self.quota.take(quota, at);
                let hour = self.queue.get(*write).and_then(|w| w.work.hour());
                let sent_hour = hour.and_then(|hour| self.hours.get(&hour)).cloned().map(Box::new);
                self.change_write(*write, |w| {
                    w.attempts = *attempt;
                    w.state = WriteState::Calling { kind: *kind, until: *until };
                    if *kind == CallKind::Push {
                        w.sent = *sent;
                        w.sent_hour = sent_hour;
                        w.superseded = false;
                    }
                });
            }
            Event::WriteDeferred { write, not_before, reason, not_found } => self.change_write(*write, |w| {
                w.state = WriteState::Waiting { not_before: *not_before };
                (w.unknown, w.restored) = (false, false);
                w.not_found = w.not_found.saturating_add(u32::from(*not_found));
                w.reason = Some(reason.clone());
            }),
            Event::WriteUnknown { write, not_before, reason } => self.change_write(*write, |w| {
                w.state = WriteState::Waiting { not_before: *not_before };
                w.unknown = true;
                w.reason = Some(reason.clone());
            }),
            Event::WriteDone { write, work, written: _ } => {
                let done = self.queue.remove(*write);
                self.breaker.forget(*write);
                match work.hour() {
                    Some(hour) => self.hour_confirmed(hour, done.and_then(|w| w.sent_hour)),
                    None => self.confirmed(*work, done.and_then(|w| w.sent)),
                }
            }
            Event::WriteFailed { write, work, .. } => {
                self.queue.remove(*write);
                self.breaker.forget(*write);
                if let Some(appointment) = work.appointment() {
                    self.change_appointment(appointment, |_| ());
                    self.remove_if_over(appointment);
                }
            }
            // A write that ended with this failure does not count for the breaker.
            Event::BreakerFailure { write } if self.queue.get(*write).is_none() => {}
            Event::BreakerFailure { write } => self.breaker.failed(*write),
            Event::BreakerOpened { why, until } => self.breaker.block(*why, at, *until),
            Event::BreakerClosed => self.breaker.clear(),

            Event::RequestsSent { requests } => self.quota.take_many(quota, at, *requests),

            Event::DescribeFailed { reason } => {
                self.pulls.begun.get_or_insert(at);
                let since = self.pulls.silent.as_ref().map_or(at, |silent| silent.since);
                self.pulls.silent = Some(DescribeFailure { since, noted: at, reason: reason.clone() });
            }
            Event::DescribeWorked => self.pulls.silent = None,
            Event::CycleStarted => {
                self.pulls.begun.get_or_insert(at);
                self.pulls.cycle = Some(self.pulls.new_cycle(at));
                (self.pulls.failures, self.pulls.waits) = (0, 0);
                self.pulls.retry_at = None;
            }
            Event::ReadAnew { resource, keep_cursor } => self.pulls.restart_reading(*resource, *keep_cursor),
            Event::PullStarted { resource, call, until, asked_at, written } => {
                self.quota.take(quota, at);
                let written_during_pull = written.clone();
                let (resource, call, asked_at) = (*resource, *call, asked_at.unwrap_or(at));
                self.pulls.calling = Some(PullCall { resource, call, asked_at, until: *until, written_during_pull });
                self.pulls.next_call = call + 1;
                self.pulls.retry_at = None;
                self.pulls.page_requested(resource, asked_at);
            }
            Event::PullFailed { resource, reason, retry_at } => {
                self.pulls.calling = None;
                self.pulls.retry_at = Some(*retry_at);
                self.pulls.failures = self.pulls.failures.saturating_add(1);
                self.pulls.appointments_not_read(*resource);
                self.pulls.put_off = None;
                self.pull_failing(at, reason);
            }
            Event::PullPutOff { resource: _, reason, retry_at, insert } => {
                self.pulls.calling = None;
                self.pulls.retry_at = Some(*retry_at);
                self.pulls.put_off = Some(reason.clone());
                self.pulls.waits = self.pulls.waits.saturating_add(u32::from(*insert));
            }
            Event::PageApplied {
                resource,
                cursor,
                last,
                whole,
                records,
                estimate,
                needs_full_pass,
                barren,
                sweeping,
                skipped,
                read_again,
                distinct,
                others,
                short,
                missing,
                shown_again,
            } => {
                if *needs_full_pass {
                    self.pulls.needs_full_pass.insert(*resource);
                }
                let shown = PageSummary {
                    records: *records,
                    distinct: distinct.unwrap_or(*records),
                    others: *others,
                    estimate: *estimate,
                    last: *last,
                    whole: *whole,
                    short: *short,
                    sweeping: *sweeping,
                    barren: *barren,
                };
                self.pulls.put_off = None;
                self.pulls.cursors.insert(*resource, cursor.clone());
                self.pulls.clear_missing(*resource, shown_again);
                let (number, asked) = self.pulls.page_applied(at, *resource, shown, missing);
                self.pulls.note_skipped(*resource, asked, (skipped, read_again), (*whole && *last).then_some(number));
            }
            Event::Swept { resource, known, missing, next, counted, unconfirmed } => self.pulls.swept(Sweep {
                resource: *resource,
                from: next.clone(),
                known: *known,
                missing: *missing,
                counted: *counted,
                unconfirmed: unconfirmed.clone(),
            }),
            Event::SweepEnded { resource } => self.pulls.sweep_ended(*resource),
            Event::PullSuspended { resource, reason } => {
                self.pulls.done_with(*resource, true);
                self.pulls.appointments_not_read(*resource);
                self.pull_failing(at, reason);
            }
            Event::AppointmentPulled { record, keep } => self.pulled(record, *keep),
            Event::HourPulled(hour) => {
                self.hours.insert(hour.id, hour.clone());
                if hour.source == HourSource::Manual {
                    self.confirmed_hours.insert(hour.id, hour.clone());
                }
            }
            Event::HourShown(hour) => self.hour_shown(hour),
            Event::HourGone { hour } => {
                self.hours.remove(hour);
                self.confirmed_hours.remove(hour);
            }
            Event::OperatoryPulled(operatory) => {
                self.operatories.insert(operatory.id, operatory.active);
            }
            Event::OperatoryGone { operatory } => {
                self.operatories.remove(operatory);
            }
            Event::RecordGone { resource, id: _ } => *self.pulls.deleted.entry(*resource).or_default() += 1,
            Event::ConflictFound { ours, .. } => {
                self.conflicts.insert(*ours);
            }
            Event::GuardTripped { resource, deletions, known, whole } => {
                self.pulls.calling = None;
                self.pulls.done_with(*resource, true);
                self.pulls.guarded.insert(*resource);
                self.pulls.passes.remove(resource);
                self.pulls.missing.remove(resource);
                self.pulls.confirming.remove(resource);
                self.pulls.sweep = None;
                self.pulls.guard_tripped(*resource, *whole);
                self.pull_failing(at, &format!("stopped: the EHR shows {deletions} of {known} records deleted"));
            }
            Event::DeletionsAccepted { resource } => {
                self.pulls.accepted.insert(*resource);
                self.pulls.request_cycle(at);
            }
            Event::CycleFinished { next } => {
                if self.pulls.cycle_ended(at, *next) {
                    self.pulls.last_success = Some(at);
                    self.pulls.failing = None;
                }
            }
            Event::SyncRequested => {
                self.pulls.request_cycle(at);
                self.try_at_once(at);
            }
            Event::ReadRequested { everything } => self.pulls.read_requested(at, *everything),
            Event::Restored { skipped_writes, keep_cursors } => {
                self.queue.skip_ids(*skipped_writes);
                self.restored = Some(self.queue.next_id(0));
                self.pulls.forget(at, *keep_cursors);
                self.try_at_once(at);
            }
            Event::WriteRestored { write, reason } => self.write_restored(at, *write, reason),
            Event::ClockSetBack { by } => self.set_back(at, *by),
            Event::CallsOutlast { until } => self.queue.outlast(*until),
            Event::GateTurned { gate } => {
                if self.gate.is_none_or(|known| known.gate != *gate) {
                    self.gate = Some(GateSince { gate: *gate, since: at });
                }
                if *gate == Gate::Open {
                    self.pulls.failures = 0;
                    self.try_at_once(at);
                }
            }
            Event::PauseTurned { to } => self.paused.turn(*to, at),
            Event::Pruned { before } => self.prune(*before),
        }
    }

    fn pin_key(&mut self, appointment: AppointmentId, pinned: &KeyPinned) {
        let key = Key {
            fingerprint: pinned.fingerprint.clone(),
            appointment,
            expires: pinned.expires,
            others: pinned.others.clone(),
        };
        self.put_key(pinned.key.clone(), key);
    }

    /// Changes a write and updates the derived `vacating` placements of its appointment.
    pub(crate) fn change_write(&mut self, id: WriteId, change: impl FnOnce(&mut Write)) {
        self.queue.update(id, change);
        if let Some(appointment) = self.queue.get(id).and_then(|write| write.work.appointment()) {
            self.change_appointment(appointment, |_| ());
        }
    }

    /// Sets the deadline of a pending insert or replacement to the start of the appointment at its new placement.
    fn insert_in_time_for(&mut self, id: AppointmentId, place: Placement) {
        let inserts = |work| matches!(work, WriteIntent::CreateAppointment(_) | WriteIntent::Replace(_));
        let inserts = self.queue.for_appointment(id).filter(|(_, w)| inserts(w.work));
        for write in inserts.map(|(write, _)| write).collect::<Vec<_>>() {
            self.queue.update(write, |w| w.deadline = place.span.start);
        }
    }

    /// Records that a write of ours reached the EHR during a read. The running pass may already be beyond the record,
    /// so it counts as shown.
    fn written_during_pull(&mut self, resource: Resource, id: u64) {
        self.pulls.clear_missing(resource, &[id]);
        if let Some(call) = self.pulls.calling.as_mut().filter(|call| call.resource == resource) {
            call.written_during_pull.insert(id);
        }
        if let Some(pass) = self.pulls.passes.get_mut(&resource) {
            pass.shown += 1;
            pass.written.insert(id);
        }
    }

    /// Stores the placement that the EHR confirmed with a write.
    fn confirmed(&mut self, work: WriteIntent, sent: Option<Placement>) {
        let Some(id) = work.appointment() else { return };
        let sent = sent.filter(|_| matches!(work, WriteIntent::CreateAppointment(_) | WriteIntent::Reschedule(_)));
        self.change_appointment(id, |a| a.confirmed = sent.or(a.confirmed));
    }

    /// Stores the hours that the EHR confirmed with a write. `sent` is `None` for a removal.
    fn hour_confirmed(&mut self, id: WorkingHourId, sent: Option<Box<WorkingHour>>) {
        match sent {
            Some(hour) => self.confirmed_hours.insert(id, *hour),
            None => self.confirmed_hours.remove(&id),
        };
    }

    /// Stores hours as the EHR shows them. Marks a write in flight as superseded if they match neither the confirmed
    /// nor the sent hours.
    fn hour_shown(&mut self, shown: &WorkingHour) {
        let previous = self.confirmed_hours.insert(shown.id, shown.clone());
        let sent = self.queue.for_record(Resource::WorkingHours, shown.id.0.into()).find(|(_, w)| !w.withdrawable());
        let Some((write, sent)) = sent.map(|(write, w)| (write, w.sent_hour.as_deref())) else { return };
        if sent.is_some() && sent != Some(shown) && previous.as_ref() != Some(shown) {
            self.queue.update(write, |w| w.superseded = true);
        }
    }

    fn pulled(&mut self, record: &PulledAppointment, keep: bool) {
        if keep {
            self.superseded_by_pull(record);
            self.change_appointment(record.id, |a| {
                a.patient = record.patient;
                a.appointment_type = record.appointment_type;
                a.confirmed = Some(record.placement);
                // The EHR has restored an appointment that only waited for the end of its replacement.
                (a.cancelling, a.gone) = (a.cancelling && !a.gone, false);
            });
            return;
        }
        let known = self.appointments.get(&record.id);
        let insert = known.map_or(Insert::Pulled, |a| match a.insert {
            Insert::Pulled => Insert::Pulled,
            Insert::Pending | Insert::Done => Insert::Done,
        });
        let replaced = known.map(|a| a.replaced.clone()).unwrap_or_default();
        let appointment = CalendarAppointment {
            patient: record.patient,
            appointment_type: record.appointment_type,
            placement: record.placement,
            unavailable: record.unavailable,
            insert,
            cancelling: false,
            vacating: Vec::new(),
            confirmed: Some(record.placement),
            replaced,
            gone: false,
        };
        let vacating = self.vacating(record.id, &appointment);
        self.put_appointment(record.id, CalendarAppointment { vacating, ..appointment });
    }

    /// Marks a reschedule in flight as superseded if the EHR shows a placement that is neither confirmed nor sent.
    fn superseded_by_pull(&mut self, record: &PulledAppointment) {
        let confirmed = self.appointments.get(&record.id).and_then(|a| a.confirmed);
        let sent = self
            .queue
            .for_appointment(record.id)
            .find(|(_, w)| matches!(w.work, WriteIntent::Reschedule(_)) && !w.withdrawable());
        let Some((write, sent)) = sent.map(|(write, w)| (write, w.sent)) else { return };
        if ![confirmed, sent].contains(&Some(record.placement)) {
            self.queue.update(write, |w| w.superseded = true);
        }
    }

    /// Moves due times back by `by` and caps start times at `at`, after a backward step of the clock.
    fn set_back(&mut self, at: Timestamp, by: Millis) {
        self.queue.set_back(at, by);
        self.breaker.set_back(at, by);
        self.pulls.set_back(at, by);
        self.quota.set_back(by);
        for hold in self.holds.values_mut() {
            hold.until = hold.until.minus(by);
        }
        if let Some(gate) = &mut self.gate {
            gate.since = gate.since.min(at);
        }
    }

    /// Makes everything that waits for a retry due now.
    fn try_at_once(&mut self, at: Timestamp) {
        self.pulls.retry_at = None;
        let waiting: Vec<_> = self.queue.iter().filter(|(_, w)| w.withdrawable()).map(|(id, _)| id).collect();
        for id in waiting {
            self.queue.update(id, |w| w.state = WriteState::Waiting { not_before: at });
        }
        self.breaker = CircuitBreaker::default();
    }

    fn pull_failing(&mut self, at: Timestamp, reason: &str) {
        let since = self.pulls.failing.as_ref().map_or(at, |(since, _)| *since);
        self.pulls.failing = Some((since, reason.to_owned()));
    }
}

fn queued(at: Timestamp, work: WriteIntent, ordering_key: OrderingKey, key: &str, deadline: Timestamp) -> Write {
    Write {
        work,
        ordering_key,
        key: key.to_owned(),
        queued_at: at,
        clock_changed: false,
        deadline,
        attempts: 0,
        state: WriteState::Waiting { not_before: at },
        unknown: false,
        restored: false,
        not_found: 0,
        sent: None,
        sent_hour: None,
        superseded: false,
        reason: None,
        origin: None,
    }
}

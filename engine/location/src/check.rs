//! The invariants of a location, numbered as in `engine/README.md`.

use crate::{Holder, Insert, Location, Resource, Timestamp, WriteIntent, writes::replacement::Replaced};

impl Location {
    /// Asserts the invariants of the location at `now`; panics with the number of the one that does not hold.
    pub fn check(&self, now: Timestamp) {
        self.no_double_booking();
        self.one_insert_per_pending_booking();
        self.replaced_are_cancelled_once();
        self.calendar_follows();
        self.state.queue.check();
        self.bounded();
        self.timer_is_set(now);
        self.hours_agree();
    }

    /// 1. Two entries share an operatory and a time only if the EHR placed, or may still have, one of them there.
    fn no_double_booking(&self) {
        let by_ehr = |holder: Holder| match holder {
            Holder::Appointment(id) => self.state.appointments.get(&id).is_some_and(|a| a.in_ehr()),
            Holder::Vacating(_) => true,
            Holder::Hold(_) => false,
        };
        for (column, a, b) in self.state.calendar.overlaps_within() {
            assert!(by_ehr(a.holder) || by_ehr(b.holder), "invariant 1: {a:?} and {b:?} overlap in {column:?}");
        }
    }

    /// 2. A booking that is not in the EHR has exactly one insert in the queue; one that is in the EHR has none.
    fn one_insert_per_pending_booking(&self) {
        for (id, appointment) in &self.state.appointments {
            let inserts =
                self.state.queue.for_appointment(*id).filter(|(_, w)| w.work == WriteIntent::CreateAppointment(*id));
            let expected = usize::from(appointment.insert == Insert::Pending);
            assert_eq!(inserts.count(), expected, "invariant 2: inserts of appointment {id}");
        }
        for (write, queued) in self.state.queue.iter() {
            if let Some(id) = queued.work.appointment() {
                assert!(self.state.appointments.contains_key(&id), "invariant 2: write {write} has its appointment");
            }
        }
    }

    /// 2. A replaced appointment has at most one cancellation in the queue, and each cancellation has its replaced one.
    ///
    /// A visit that is gone from the EHR is known only while a replacement of it is left.
    fn replaced_are_cancelled_once(&self) {
        for (id, appointment) in &self.state.appointments {
            for Replaced { write: replaced, .. } in &appointment.replaced {
                let work = WriteIntent::CancelReplaced { appointment: *id, replaced: *replaced };
                let cancels = self.state.queue.for_appointment(*id).filter(|(_, write)| write.work == work);
                assert!(cancels.count() <= 1, "invariant 2: cancellations of {replaced}, replaced of appointment {id}");
            }
            let mut writes = self.state.queue.for_appointment(*id);
            let left = !appointment.replaced.is_empty()
                || writes.any(|(_, write)| matches!(write.work, WriteIntent::Replace(_)));
            assert!(!appointment.gone || left, "invariant 2: appointment {id} is gone, and nothing of it is left");
        }
        for (write, queued) in self.state.queue.iter() {
            if let WriteIntent::CancelReplaced { appointment, replaced } = queued.work {
                let known = self.replaced(appointment, replaced).is_some();
                assert!(known, "invariant 2: write {write} cancels a replaced appointment");
            }
        }
    }

    /// 3. The calendar equals the one derived from appointments and holds.
    fn calendar_follows(&self) {
        for (id, appointment) in &self.state.appointments {
            let vacating = self.state.vacating(*id, appointment);
            assert_eq!(
                appointment.vacating, vacating,
                "invariant 3: `vacating` of appointment {id} matches its placements in the EHR"
            );
        }
        assert_eq!(self.state.calendar, self.state.rebuilt_calendar(), "invariant 3: the calendar follows");
        self.state.calendar.check();
    }

    /// 5. All collections are bounded.
    fn bounded(&self) {
        let (state, settings) = (&self.state, &self.settings);
        // Pages queue cancellations of late appointments beyond the limit of the queue.
        let replaced: usize = state.appointments.values().map(|appointment| appointment.replaced.len()).sum();
        let most = settings.write.max_changes() as usize + replaced;
        assert!(state.queue.len() <= most, "invariant 5: the queue is bounded");
        assert!(state.holds.len() <= settings.booking.max_holds as usize, "invariant 5: holds are bounded");
        let flight = usize::from(settings.write.concurrency.max(1));
        assert!(state.queue.in_flight() <= flight, "invariant 5: writes in flight are bounded");
    }

    /// 6. Waiting work has a timer, and a due timer yields events.
    fn timer_is_set(&self, now: Timestamp) {
        if !self.state.queue.is_empty() {
            assert!(self.wake_at().is_some(), "invariant 6: a timer is set while writes are queued");
        }
        if self.due_at().is_some_and(|at| at <= now) {
            let cx = crate::command::DecisionContext { now, random: 7 };
            assert!(!self.wake(cx).events.is_empty(), "invariant 6: a due timer yields events");
        }
    }

    /// 9. Local hours match those confirmed by the EHR, unless a change is pending.
    fn hours_agree(&self) {
        for (id, confirmed) in &self.state.confirmed_hours {
            let changing = self.state.queue.for_record(Resource::WorkingHours, id.0.into()).next().is_some();
            let agrees = self.state.hours.get(id) == Some(confirmed);
            assert!(changing || agrees, "invariant 9: hours {id} are as the EHR has them");
        }
    }
}

//! Handles a backward step of the clock. While the clock was ahead, upcoming appointments counted as past, so that the
//! state may lack them. Their documents remain.

use location::{
    AppointmentId, AppointmentTypeId, Command, DAY, DecisionContext, Millis, PatientId, Span, Timestamp,
    command::{PulledAppointment, Written},
};
use query::lists::{Filter, ListQuery, Lists, Order, Range};
use records::{Appointment, Record, Writeback};

use crate::{Prepared, Processor, Reject, Request, UnitOfWork};

/// Maximum length of an appointment or block that is found again.
const LONGEST: Millis = 366 * DAY;

/// Number of records per read.
const READ_AT_ONCE: usize = 1_000;

pub(crate) struct ClockSetBack {
    pub(crate) by: Millis,
}

impl Request for ClockSetBack {
    type Reply = ();

    /// Returns `true`, because a reload compares the clock again.
    fn ends_with_memory(&self) -> bool {
        true
    }

    fn is_long(&self) -> bool {
        true
    }

    fn prepare(&self, at: &Processor, cx: DecisionContext, _: &mut UnitOfWork<'_>) -> Prepared<()> {
        let forgotten = at.upcoming_but_forgotten(cx.now, self.by)?;
        Ok((at.decide(cx, &Command::ClockSetBack { by: self.by, forgotten })?, ()))
    }
}

impl Processor {
    /// Returns the appointments that end after `now` and that the state lacks, because the clock was `by` ahead.
    fn upcoming_but_forgotten(&self, now: Timestamp, by: Millis) -> Result<Vec<PulledAppointment>, Reject> {
        let ahead = now.plus(by).minus(self.settings().pull.keep_past);
        // Appointments that ended by this time counted as past.
        let until = self.machine.state.pruned.map_or(ahead, |pruned| pruned.max(ahead));
        let mut forgotten = Vec::new();
        let Some(span) = Span::new(now.minus(LONGEST), until).filter(|_| now < until) else { return Ok(forgotten) };
        let query = ListQuery::new([self.setup.id.0], Order::StartsAt).filtered([Filter::Starting(span)]);
        let lists = Lists { store: &*self.deps.store, index: &self.deps.index };
        let mut range = Range::first(READ_AT_ONCE);
        loop {
            let found = lists.scan::<Record<Appointment>>(&query, range)?;
            range.from = found.last().map(|(position, _)| *position);
            let is_last = found.len() < READ_AT_ONCE;
            let upcoming = found.into_iter().map(|(_, record)| record).filter(|record| self.is_forgotten(now, record));
            forgotten.extend(upcoming.map(|record| pulled(&record)));
            if is_last {
                return Ok(forgotten);
            }
        }
    }

    /// Returns `true` if the state lacks an appointment that takes a time after `now`.
    fn is_forgotten(&self, now: Timestamp, record: &Record<Appointment>) -> bool {
        let has_failed = record.booking.as_ref().is_some_and(|booking| booking.writeback == Writeback::Failed);
        now < record.placement.span.end
            && !record.cancelled
            && !has_failed
            && record.location() == self.setup.id.0
            && !self.machine.state.appointments.contains_key(&AppointmentId(record.id))
    }
}

/// Returns an appointment as its document shows it.
fn pulled(record: &Record<Appointment>) -> PulledAppointment {
    PulledAppointment {
        id: AppointmentId(record.id),
        patient: record.patient_id.map(PatientId),
        appointment_type: record.appointment_type_id.map(AppointmentTypeId),
        placement: record.placement,
        unavailable: record.unavailable,
        cancelled: false,
        written: Written { foreign_id: record.foreign_id.clone().unwrap_or_default(), version: record.version.clone() },
        replacement: None,
    }
}

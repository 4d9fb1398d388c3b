//! The age of the schedule in the answers of the booking intent, and reads of the EHR before them. A call waits for a
//! read before its handler runs, so that it occupies no thread of the blocking pool.

use framework::values::limits::MAX_FRESH_WITHIN;
use location::settings::VerifyOn;

use crate::prelude::*;

/// The arguments of a call of the booking intent that depends on the schedule.
pub(crate) trait NeedsSchedule {
    /// Returns the needed schedule, or `None` if the call will be refused or replays an earlier one.
    fn schedule(&self, call: &ApiCall) -> Option<NeededSchedule>;
}

/// The schedule that a call needs.
pub(crate) struct NeededSchedule {
    pub(super) location: OpenLocation,
    pub(super) intent: IntentCall,
    /// Maximum age in seconds, if the client set one.
    pub(super) fresh_within: Option<i64>,
}

/// The calls of the booking intent that depend on the schedule.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum IntentCall {
    Search,
    Hold,
    Book,
}

impl IntentCall {
    /// Returns `true` if the configuration requires a fresh schedule for the call.
    fn is_verified(self, verify_on: VerifyOn) -> bool {
        match verify_on {
            VerifyOn::Never => false,
            VerifyOn::Book => self == IntentCall::Book,
            VerifyOn::Hold => self != IntentCall::Search,
        }
    }
}

/// The field `fresh_within`.
pub(super) fn fresh_within() -> Kind<i64> {
    let about = "Maximum age of the schedule, in seconds. If it is older, the practice's system is read first, for up \
                 to two seconds. If that fails, the response has the older `schedule_as_of` and a warning.";
    integer(1..=MAX_FRESH_WITHIN).about(about).omit_from_example()
}

/// A schedule that is older than a client or the configuration accepts.
pub(crate) struct OutdatedSchedule {
    location: OpenLocation,
    /// The accepted age.
    within: Millis,
}

/// Returns the schedule that must be read before the handler runs, if any.
pub(crate) fn outdated_schedule(call: &ApiCall, arguments: &impl NeedsSchedule) -> Option<OutdatedSchedule> {
    let NeededSchedule { location, intent, fresh_within } = arguments.schedule(call)?;
    let setup = &location.setup;
    call.api.engine.note_intent(setup.id);
    let limits = &setup.settings.booking.limits;
    let verified = Some(limits.verify_within).filter(|_| intent.is_verified(limits.verify_on));
    let requested = fresh_within.map(|seconds| seconds * SECOND);
    let within = requested.into_iter().chain(verified).min()?;
    let is_outdated = call.api.engine.is_schedule_older(setup.id, within);
    is_outdated.then_some(OutdatedSchedule { location, within })
}

/// Reads the practice's appointments. Adds a warning if the schedule stays older.
pub(crate) async fn freshen(call: &mut ApiCall, OutdatedSchedule { location, within }: OutdatedSchedule) {
    let setup = &location.setup;
    let Some(reason) = call.api.engine.refresh_schedule(setup.id, within).await else { return };
    let read = match call.api.engine.schedule_as_of(setup.id) {
        Some(at) => format!("was last read on {}", times::for_people(at, setup.zone)),
        None => "was not read yet".to_owned(),
    };
    call.warn(&format!("The schedule of {} {read}: {reason}.", setup.name));
}

/// Returns the time up to which the practice's changes to its appointments are known.
pub(super) fn schedule_as_of(call: &ApiCall, location: &OpenLocation) -> Option<At> {
    call.api.engine.schedule_as_of(location.setup.id).map(At)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configured_check_covers_the_calls_that_take_a_slot() {
        let verified = |on| [IntentCall::Search, IntentCall::Hold, IntentCall::Book].map(|call| call.is_verified(on));
        assert_eq!(verified(VerifyOn::Never), [false; 3]);
        assert_eq!(verified(VerifyOn::Book), [false, false, true]);
        assert_eq!(verified(VerifyOn::Hold), [false, true, true]);
    }
}

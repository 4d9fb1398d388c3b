//! The age of the schedule in the answers of the booking intent, and reads of the EHR before them.

use framework::values::{limits::MAX_FRESH_WITHIN, times};
use location::{settings::VerifyOn, time::SECOND};

use crate::prelude::*;

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

/// Reads the practice's appointments first if the schedule is older than the client or the configuration accepts. Adds
/// a warning if it stays older.
pub(super) async fn freshen(
    call: &mut ApiCall,
    location: &OpenLocation,
    intent: IntentCall,
    fresh_within: Option<i64>,
) {
    let setup = &location.setup;
    call.api.engine.note_intent(setup.id);
    let verified = Some(setup.booking.verify_within).filter(|_| intent.is_verified(setup.booking.verify_on));
    let asked = fresh_within.map(|seconds| seconds * SECOND);
    let Some(within) = asked.into_iter().chain(verified).min() else { return };
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

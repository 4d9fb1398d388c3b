//! Faults by what the engine does next.

use crate::{Fault, RetryLater};

impl Fault {
    /// The EHR said no; the same write will never be accepted.
    pub fn rejected(reason: impl Into<String>) -> Fault {
        Fault::Rejected(reason.into())
    }

    /// Nothing was written; try again, not before so many seconds where given.
    pub fn retry_later(reason: impl Into<String>, seconds: Option<u32>) -> Fault {
        Fault::RetryLater(RetryLater { reason: reason.into(), seconds })
    }

    /// It may have been written: the engine looks it up before any resend.
    pub fn unknown(reason: impl Into<String>) -> Fault {
        Fault::Unknown(reason.into())
    }

    /// Nothing tells whether it was done. A request that `reads` is made again, a write is looked up first.
    pub fn lost(reason: impl Into<String>, reads: bool) -> Fault {
        if reads { Fault::retry_later(reason, None) } else { Fault::unknown(reason) }
    }

    /// The credentials were not accepted.
    pub fn unauthorized(reason: impl Into<String>) -> Fault {
        Fault::Unauthorized(reason.into())
    }

    /// This EHR cannot do it.
    pub fn unsupported(reason: impl Into<String>) -> Fault {
        Fault::Unsupported(reason.into())
    }
}

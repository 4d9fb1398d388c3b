//! Constructors of faults. The kind of a fault determines the engine's next step.

use crate::{Fault, RetryLater};

impl Fault {
    /// The EHR refused the write and will never accept it.
    pub fn rejected(reason: impl Into<String>) -> Fault {
        Fault::Rejected(reason.into())
    }

    /// Nothing was written. The engine tries again, after `seconds` if given.
    pub fn retry_later(reason: impl Into<String>, seconds: Option<u32>) -> Fault {
        Fault::RetryLater(RetryLater { reason: reason.into(), seconds })
    }

    /// The write may have been applied; the engine looks it up before it resends.
    pub fn unknown(reason: impl Into<String>) -> Fault {
        Fault::Unknown(reason.into())
    }

    /// The outcome is unknown: a request that `reads` is retried, a write is looked up first.
    pub fn lost(reason: impl Into<String>, reads: bool) -> Fault {
        if reads { Fault::retry_later(reason, None) } else { Fault::unknown(reason) }
    }

    /// The EHR did not accept the credentials.
    pub fn unauthorized(reason: impl Into<String>) -> Fault {
        Fault::Unauthorized(reason.into())
    }

    /// The EHR does not support the operation.
    pub fn unsupported(reason: impl Into<String>) -> Fault {
        Fault::Unsupported(reason.into())
    }
}

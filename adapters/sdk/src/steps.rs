//! Writes in several steps: how the fault of one step applies to the whole write.
//!
//! ```
//! use adapter_sdk::{Fault, steps};
//!
//! // The person exists, and the patient does not.
//! assert_eq!(steps::after(Fault::retry_later("busy", None)), Fault::unknown("busy"));
//! // A slot may have been marked; the booking has not begun.
//! assert_eq!(steps::before(Fault::unknown("no answer")), Fault::retry_later("no answer", None));
//! ```

use crate::Fault;

/// Maps the fault of a step after the first effective one: the write is partly done.
pub fn after(fault: Fault) -> Fault {
    match fault {
        Fault::RetryLater(retry) => Fault::unknown(retry.reason),
        other => other,
    }
}

/// Maps the fault of a repeatable step before the first effective one: nothing has been written yet.
pub fn before(fault: Fault) -> Fault {
    match fault {
        Fault::Unknown(why) => Fault::retry_later(why, None),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_with_a_certain_outcome_are_unchanged() {
        for certain in [Fault::rejected("no"), Fault::unsupported("never"), Fault::unauthorized("who?")] {
            assert_eq!((after(certain.clone()), before(certain.clone())), (certain.clone(), certain));
        }
    }
}

//! Requests that run inside the session of a staff member logged in at a workstation. What their answers mean is for [`session`](crate::session).

pub use crate::bindings::practice_sync::ehr::gate::State;
use crate::{
    Fault,
    http::{Error, Request, Response},
};

/// Where the gate stands now; it may close before the next call.
pub fn current() -> State {
    #[cfg(target_arch = "wasm32")]
    return crate::bindings::practice_sync::ehr::gate::current();
    #[cfg(not(target_arch = "wasm32"))]
    crate::testing::gate()
}

/// Sends one request through the workstation. [`Error::NotSent`] with a closed gate.
pub fn send(request: &Request) -> Result<Response, Error> {
    #[cfg(target_arch = "wasm32")]
    return crate::bindings::practice_sync::ehr::gate::send(request);
    #[cfg(not(target_arch = "wasm32"))]
    crate::testing::send_through_gate(request)
}

/// What a missing answer means. Not sent: there is no workstation, or nobody is logged in at one. A workstation also refuses a read that is led
/// elsewhere, which says nothing about the next one.
pub fn fault_of_error(error: Error, reads: bool) -> Fault {
    match error {
        Error::NotSent(_) => Fault::GateClosed,
        Error::NoAnswer(why) => Fault::lost(why, reads),
        Error::Refused(why) if reads => Fault::retry_later(why, None),
        Error::Refused(why) => Fault::rejected(why),
    }
}

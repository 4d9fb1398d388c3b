//! Requests that run inside the session of a staff member logged in at a workstation. [`session`](crate::session)
//! interprets their responses.

pub use crate::bindings::practice_sync::ehr::gate::State;
use crate::{
    Fault,
    http::{Error, Request, Response},
};

/// Returns the state of the gate, which may close before the next call.
pub fn current() -> State {
    #[cfg(target_arch = "wasm32")]
    return crate::bindings::practice_sync::ehr::gate::current();
    #[cfg(not(target_arch = "wasm32"))]
    crate::testing::gate()
}

/// Sends one request through the workstation. Returns [`Error::NotSent`] if the gate is closed.
pub fn send(request: &Request) -> Result<Response, Error> {
    #[cfg(target_arch = "wasm32")]
    return crate::bindings::practice_sync::ehr::gate::send(request);
    #[cfg(not(target_arch = "wasm32"))]
    crate::testing::send_through_gate(request)
}

/// Maps a missing response to a fault. `NotSent`: no workstation is connected, or no staff member is logged in. A
/// workstation also refuses a read that is redirected to another host; the next read may succeed.
pub fn fault_of_error(error: Error, reads: bool) -> Fault {
    match error {
        Error::NotSent(_) => Fault::GateClosed,
        Error::NoAnswer(why) => Fault::lost(why, reads),
        Error::Refused(why) if reads => Fault::retry_later(why, None),
        Error::Refused(why) => Fault::rejected(why),
    }
}

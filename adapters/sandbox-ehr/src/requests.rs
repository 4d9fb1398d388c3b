//! The handling of a request: control, faults, then the routes.

use super::{
    control,
    ehr::SandboxEhr,
    routes,
    wire::{SandboxReply, SandboxRequest},
};

impl SandboxEhr {
    /// Handles a request. The changes in the reply must be stored before the reply is delivered.
    pub fn handle(&mut self, now_ms: i64, request: &SandboxRequest) -> SandboxReply {
        if request.path == control::PATH && self.profile.control {
            return self.control_route(request);
        }
        let delay_ms = self.behaviours.delay_ms;
        let reply = match self.failure_reply(now_ms, request) {
            Some(reply) => reply,
            None => {
                let reply = routes::handle(self, now_ms, request);
                if request.is_write() && self.loses_reply() { reply.lost() } else { reply }
            }
        };
        SandboxReply { delay_ms, ..reply }
    }
}

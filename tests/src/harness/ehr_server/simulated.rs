//! The simulated EHR as a server on loopback, owned by the test and reached by adapters over the network.

use std::{io, time::Duration};

use parking_lot::MutexGuard;
use runtime::clock;
use sandbox_ehr::{Delivery, Profile, SandboxEhr, SandboxRequest};

use crate::harness::ehr_server::fake::{FakeRequest, FakeServer, Respond, Response};

/// One practice's EHR. Its records live as long as this value.
pub type EhrServer = FakeServer<SandboxEhr>;

impl EhrServer {
    /// Starts a server. Must be called within an actix system.
    pub fn start(profile: Profile) -> io::Result<EhrServer> {
        FakeServer::serving(SandboxEhr::new(profile))
    }

    pub fn ehr(&self) -> MutexGuard<'_, SandboxEhr> {
        self.state()
    }
}

impl Respond for SandboxEhr {
    fn respond(&mut self, request: FakeRequest) -> Response {
        let FakeRequest { method, path, query, headers, body } = request;
        let reply = self.handle(clock::now().0, &SandboxRequest { method, path, query, headers, body });
        Response {
            status: reply.status,
            headers: reply.headers,
            body: reply.body,
            delay: Duration::from_millis(reply.delay_ms),
            lost: reply.delivery != Delivery::Answered,
        }
    }
}

//! The simulated EHR as a server of its own on loopback: what an adapter reaches over the network, kept alive by whoever tests.

use std::{io, sync::MutexGuard, time::Duration};

use engine::{
    clock,
    sandbox_ehr::{Delivery, Profile, SandboxEhr, SandboxRequest},
};

use crate::loopback::{Answered, Answers, Asked, Loopback};

/// One practice's EHR. Its records live as long as this value.
pub type EhrServer = Loopback<SandboxEhr>;

impl EhrServer {
    /// Must be called within an actix system.
    pub fn start(profile: Profile) -> io::Result<EhrServer> {
        Loopback::serving(SandboxEhr::new(profile))
    }

    pub fn ehr(&self) -> MutexGuard<'_, SandboxEhr> {
        self.held()
    }
}

impl Answers for SandboxEhr {
    fn answer(&mut self, asked: Asked) -> Answered {
        let Asked { method, path, query, headers, body } = asked;
        let reply = self.handle(clock::now().0, &SandboxRequest { method, path, query, headers, body });
        Answered {
            status: reply.status,
            headers: reply.headers,
            body: reply.body,
            delay: Duration::from_millis(reply.delay_ms),
            lost: reply.delivery != Delivery::Answered,
        }
    }
}

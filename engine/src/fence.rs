//! A fence that keeps a node that has lost its lease from calling an EHR, which another node may be calling.
//!
//! The fence checks that the institution is on this node, at the start of a call and before each of its HTTP requests.
//! A guest, or the whole process, may have been suspended in between.

use std::{sync::Arc, time::Duration};

use adapter_host::{HttpRequest, Transport, TransportError, TransportFuture};
use location::{InstitutionId, Resource};
use membership::Place;
use records::{Description, Ehr, EhrFuture, Fault, Page, Receipt, Write};
use setup::secret::Secret;

use crate::cluster::Cluster;

const ELSEWHERE: &str = "the institution is served by another node";

/// The placement of one institution on this node.
#[derive(Clone)]
pub(crate) struct Fence {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) institution: InstitutionId,
}

impl Fence {
    fn is_open(&self) -> bool {
        self.cluster.place(self.institution) == Place::Mine
    }

    pub(crate) fn around(self, ehr: Arc<dyn Ehr>) -> Arc<dyn Ehr> {
        Arc::new(FencedEhr { ehr, fence: self })
    }

    pub(crate) fn before(self, transport: Arc<dyn Transport>) -> Arc<dyn Transport> {
        Arc::new(FencedTransport { transport, fence: self })
    }
}

struct FencedEhr {
    ehr: Arc<dyn Ehr>,
    fence: Fence,
}

impl FencedEhr {
    fn admitted<'a, T: 'a>(&'a self, call: impl FnOnce(&'a dyn Ehr) -> EhrFuture<'a, T>) -> EhrFuture<'a, T> {
        if self.fence.is_open() { call(&*self.ehr) } else { Box::pin(async { Err(Fault::NotBegun(ELSEWHERE.into())) }) }
    }
}

impl Ehr for FencedEhr {
    fn describe(&self, deadline: Duration) -> EhrFuture<'_, Description> {
        self.admitted(|ehr| ehr.describe(deadline))
    }

    fn pull(&self, resource: Resource, cursor: Option<String>, limit: u32, deadline: Duration) -> EhrFuture<'_, Page> {
        self.admitted(|ehr| ehr.pull(resource, cursor, limit, deadline))
    }

    fn push(&self, write_key: String, write: Write, deadline: Duration) -> EhrFuture<'_, Receipt> {
        self.admitted(|ehr| ehr.push(write_key, write, deadline))
    }

    fn find(&self, write_key: String, write: Write, deadline: Duration) -> EhrFuture<'_, Option<Receipt>> {
        self.admitted(|ehr| ehr.find(write_key, write, deadline))
    }

    fn take_requests_beyond(&self) -> u32 {
        self.ehr.take_requests_beyond()
    }
}

struct FencedTransport {
    transport: Arc<dyn Transport>,
    fence: Fence,
}

impl Transport for FencedTransport {
    fn send(&self, request: HttpRequest, deadline: Duration) -> TransportFuture<'_> {
        if self.fence.is_open() {
            return self.transport.send(request, deadline);
        }
        Box::pin(async { Err(TransportError::NotSent(ELSEWHERE.into())) })
    }

    fn secrets(&self) -> Vec<Secret> {
        self.transport.secrets()
    }
}

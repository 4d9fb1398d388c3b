//! What the tests of this crate share: a processor's surroundings, of which nobody listens to the world.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use location::pull::Resource;
use records::sync_state::SyncState;
use serde_json::Value;
use setup::{Setup, current::Current};
use store::{Store, counters::Ids, secrets::Secrets};
use webhooks::{
    egress::{Egress, Reach},
    outbox::{Doorbell, Outbox},
    registry::EndpointRegistry,
    subscriptions::Everyone,
    views::{RelatedRecords, ViewContext, ViewError, Views},
};

use crate::{change_counter::ChangeCounter, id_pool::Pool, long_work::LongWork, processor::Deps};

/// Nobody listens.
pub(crate) struct Mute;

impl Views for Mute {
    fn record(&self, _: &ViewContext<'_>, _: Resource, _: &[u8], _: &dyn RelatedRecords) -> Result<Value, ViewError> {
        Err(ViewError::Damaged)
    }

    fn sync_status(&self, _: &ViewContext<'_>, _: &SyncState) -> Result<Value, ViewError> {
        Err(ViewError::Damaged)
    }
}

/// With the endpoints that hear of it.
pub(crate) fn deps(
    store: Arc<dyn Store>,
    setup: Arc<Setup>,
    views: Arc<dyn Views>,
) -> (Arc<Deps>, Arc<EndpointRegistry>) {
    let ids = Arc::new(Ids::new(store.clone()));
    let egress = Arc::new(Egress::new(Reach::PublicAndLoopback).unwrap());
    let registry =
        EndpointRegistry::load(store.clone(), ids.clone(), egress, Default::default(), Arc::new(Everyone)).unwrap();
    let deps = Deps {
        lives_here: None,
        change_counter: ChangeCounter::new(&setup),
        setup: Current::new(setup),
        store,
        ids,
        pool: Pool::default(),
        outbox: Outbox::new(registry.subscriptions().clone(), Arc::new(Doorbell::default())),
        views,
        secrets: Secrets::from_seed([7; 32]),
        index: Arc::default(),
        long_work: LongWork::default(),
        untold: Default::default(),
    };
    (Arc::new(deps), registry)
}

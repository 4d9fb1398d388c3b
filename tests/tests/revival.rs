//! A location whose actor panicked comes back by itself: what it has to do waits for nobody's request.
#![allow(clippy::unwrap_used)]

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use api::shapes::Wire;
use engine::{
    ehr::{Description, Ehr, EhrFuture, Page, PullAbility, Receipt, Resource, Write},
    engine::{Engine, Parts},
    store::MemoryStore,
};
use tests::practice;

/// An EHR whose first pull takes the actor down.
#[derive(Default)]
struct Poison {
    described: AtomicU32,
    pulled: AtomicU32,
}

impl Ehr for Poison {
    fn describe(&self, _: Duration) -> EhrFuture<'_, Description> {
        self.described.fetch_add(1, Ordering::SeqCst);
        let providers = PullAbility { resource: Resource::Providers, delta: false, deletions_by_absence: false };
        Box::pin(async { Ok(Description { pulls: vec![providers], ..Description::default() }) })
    }

    fn pull(&self, _: Resource, _: Option<String>, _: u32, _: Duration) -> EhrFuture<'_, Page> {
        assert!(self.pulled.fetch_add(1, Ordering::SeqCst) > 0, "poison");
        Box::pin(async { Ok(Page { last: true, ..Page::default() }) })
    }

    fn push(&self, _: String, _: Write, _: Duration) -> EhrFuture<'_, Receipt> {
        unreachable!("nothing is written")
    }

    fn find(&self, _: String, _: Write, _: Duration) -> EhrFuture<'_, Option<Receipt>> {
        unreachable!("nothing is written")
    }
}

#[actix::test]
async fn a_location_that_panicked_comes_back_unasked() {
    let ehr = Arc::new(Poison::default());
    let mut setup = practice::setup("sandbox:");
    setup.locations.remove(&practice::LAKESIDE);
    let mut parts = Parts::new(Arc::new(MemoryStore::new()), Wire::shapes());
    parts.own = HashMap::from([(practice::MAIN_STREET, ehr.clone() as Arc<dyn Ehr>)]);
    let engine = Engine::start(setup, parts).await.unwrap();
    for _ in 0..200 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        if ehr.described.load(Ordering::SeqCst) > 1 {
            assert_eq!(ehr.pulled.load(Ordering::SeqCst), 1, "it died of the first pull");
            return engine.stop().await;
        }
    }
    panic!("it did not come back within 10 s");
}

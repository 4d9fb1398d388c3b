//! A location whose actor panicked comes back by itself: what it has to do waits for nobody's request.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use api::views::published::RecordViews;
use engine::{Engine, Parts, recent_errors::Part};
use processor::commands::CreateRecord;
use records::{
    InsurancePlan,
    ehr::{Description, Ehr, EhrFuture, Page, Receipt, Resource, Write},
    schema,
};
use serde_json::json;
use store::MemoryStore;
use tests::harness::{fixtures, poll::until};

/// An EHR whose first write takes the actor down.
#[derive(Default)]
struct Poison {
    described: AtomicU32,
    written: AtomicU32,
}

impl Ehr for Poison {
    fn describe(&self, _: Duration) -> EhrFuture<'_, Description> {
        self.described.fetch_add(1, Ordering::SeqCst);
        Box::pin(async {
            Ok(Description { writes: vec!["create-insurance-plan".to_owned()], ..Description::default() })
        })
    }

    fn pull(&self, _: Resource, _: Option<String>, _: u32, _: Duration) -> EhrFuture<'_, Page> {
        unreachable!("nothing is read")
    }

    fn push(&self, _: String, _: Write, _: Duration) -> EhrFuture<'_, Receipt> {
        self.written.fetch_add(1, Ordering::SeqCst);
        panic!("poison")
    }

    fn find(&self, _: String, _: Write, _: Duration) -> EhrFuture<'_, Option<Receipt>> {
        Box::pin(async { Ok(None) })
    }
}

#[actix::test]
async fn a_location_that_panicked_comes_back_unasked() {
    let ehr = Arc::new(Poison::default());
    let mut setup = fixtures::setup("sandbox:");
    setup.locations.remove(&fixtures::LAKESIDE);
    let mut parts = Parts::new(Arc::new(MemoryStore::new()), RecordViews::shared());
    parts.own = HashMap::from([(fixtures::MAIN_STREET, ehr.clone() as Arc<dyn Ehr>)]);
    let engine = Engine::start(setup, parts).await.unwrap();
    until("the first question who it is", async || (ehr.described.load(Ordering::SeqCst) == 1).then_some(())).await;
    let body = json!({"name": "Family Plan"});
    let body: InsurancePlan = schema::read(body).unwrap();
    let plan = CreateRecord { body, patient: None, number: None };
    for tries in 1.. {
        match engine.send(fixtures::MAIN_STREET, plan.clone()).await {
            Ok(_) => break,
            // What the EHR can do is known a moment after it said so.
            Err(refused) => assert!(tries < 100, "{refused:?}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    until("the write", async || (ehr.written.load(Ordering::SeqCst) > 0).then_some(())).await;
    until("its return", async || (ehr.described.load(Ordering::SeqCst) > 1).then_some(())).await;
    assert_eq!(ehr.written.load(Ordering::SeqCst), 1, "it died of the first write");
    let errors = engine.recent_errors(fixtures::MAIN_STREET);
    let of_it = errors.iter().find(|it| it.part == Part::Location).unwrap_or_else(|| panic!("{errors:?}"));
    assert!(of_it.reason.contains("ended unexpectedly"), "{of_it:?}");
    engine.stop().await;
}

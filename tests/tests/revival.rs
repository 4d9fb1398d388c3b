//! A location whose actor panicked restarts without a request, so that its pending work continues.

use std::{collections::HashMap, sync::Arc};

use endpoints::resources::record_views::RecordViews;
use engine::{Engine, Parts, recent_errors::ErrorSource};
use processor::commands::CreateRecord;
use records::ehr::Ehr;
use store::MemoryStore;
use testing::{FakeEhr, insurance_plan, until};
use tests::harness::fixtures;

#[actix::test]
async fn panicked_location_restarts_without_a_request() {
    // The first write panics the actor.
    let ehr = Arc::new(FakeEhr { write: Box::new(|_| panic!("poison")), ..FakeEhr::default() });
    let mut setup = fixtures::setup("sandbox:");
    setup.locations.remove(&fixtures::LAKESIDE);
    let mut parts = Parts::new(Arc::new(MemoryStore::new()), RecordViews::shared());
    parts.own = HashMap::from([(fixtures::MAIN_STREET, ehr.clone() as Arc<dyn Ehr>)]);
    let engine = Engine::start(setup, parts).await.unwrap();
    until("the first question who it is", async || (ehr.described.get() == 1).then_some(())).await;
    let plan = CreateRecord { body: insurance_plan(), patient: None, number: None };
    // The engine learns the EHR's capabilities shortly after the EHR has described them.
    until("the write is accepted", async || engine.send(fixtures::MAIN_STREET, plan.clone()).await).await;
    until("the write", async || (ehr.pushed.get() > 0).then_some(())).await;
    until("its return", async || (ehr.described.get() > 1).then_some(())).await;
    assert_eq!(ehr.pushed.get(), 1, "it died of the first write");
    let errors = engine.recent_errors(fixtures::MAIN_STREET);
    let of_it = errors.iter().find(|it| it.part == ErrorSource::Location).unwrap_or_else(|| panic!("{errors:?}"));
    assert!(of_it.reason.contains("ended unexpectedly"), "{of_it:?}");
    engine.stop().await;
}

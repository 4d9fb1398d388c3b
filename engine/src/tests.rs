//! Locations as the engine runs them: actors of their own, a store in memory, an EHR made up.
#![allow(clippy::unwrap_used)]

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use location::{
    command::{Command, Cx, Failure},
    decision::Call,
    event::CallKind,
    ids::{AppointmentId, LocationId},
    pull::Resource,
    time::{DAY, MINUTE},
};
use processor::{
    actor::{Asked, Job},
    change_counter::ChangeCounter,
    commands::CreateRecord,
    disk_share,
    error::{EngineError, Reject},
    id_pool::Pool,
    note_keys::description_key,
    processor::{Deps, Processor},
};
use records::{
    InsurancePlan,
    ehr::{Description, Ehr, EhrFuture, EhrPatient, EhrRecord, Page, PullAbility, Receipt, Write},
    schema,
    sync_state::SyncState,
};
use runtime::clock;
use serde_json::{Value, json};
use setup::{EngineRules, Setup, testing};
use store::{Batch, MemoryStore, Store, counters::Ids, memory::Fault as Broken, secrets::Secrets};
use webhooks::{
    outbox::{Doorbell, Outbox},
    views::{RelatedRecords, ViewContext, ViewError, Views},
};

use crate::engine::{Engine, Parts};

pub(crate) const PLACE: LocationId = LocationId(1);
const SOURCE: u32 = 1;

/// Nobody listens.
struct Mute;

impl Views for Mute {
    fn record(&self, _: &ViewContext<'_>, _: Resource, _: &[u8], _: &dyn RelatedRecords) -> Result<Value, ViewError> {
        Err(ViewError::Damaged)
    }

    fn sync_status(&self, _: &ViewContext<'_>, _: &SyncState) -> Result<Value, ViewError> {
        Err(ViewError::Damaged)
    }
}

/// Takes every write, and shows a patient a page, without end where it is said so.
#[derive(Default)]
pub(crate) struct Practice {
    pub described: AtomicUsize,
    pulled: AtomicUsize,
    pushed: AtomicUsize,
    endless: bool,
}

fn description() -> Description {
    Description {
        pulls: vec![PullAbility { resource: Resource::Patients, delta: true, deletions_by_absence: false }],
        writes: vec!["create-insurance-plan".to_owned()],
        ..Description::default()
    }
}

impl Ehr for Practice {
    fn describe(&self, _: Duration) -> EhrFuture<'_, Description> {
        self.described.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(description()) })
    }

    fn pull(&self, _: Resource, _: Option<String>, _: u32, _: Duration) -> EhrFuture<'_, Page> {
        let page = self.pulled.fetch_add(1, Ordering::SeqCst);
        let patient = EhrPatient { id: format!("patient {page}"), last_name: "Many".into(), ..EhrPatient::default() };
        let (cursor, last) = (page.to_string(), !self.endless);
        let records = vec![EhrRecord::Patient(patient)];
        Box::pin(async move { Ok(Page { records, cursor, last, ..Page::default() }) })
    }

    fn push(&self, _: String, _: Write, _: Duration) -> EhrFuture<'_, Receipt> {
        let id = format!("written {}", self.pushed.fetch_add(1, Ordering::SeqCst));
        Box::pin(async { Ok(Receipt { id, version: None }) })
    }

    fn find(&self, _: String, _: Write, _: Duration) -> EhrFuture<'_, Option<Receipt>> {
        Box::pin(async { Ok(None) })
    }
}

fn setup(engine: EngineRules) -> Setup {
    let location = testing::location(PLACE, 1, SOURCE);
    Setup { engine, ..testing::setup([testing::institution(1)], [location], [testing::source(SOURCE, 1)]) }
}

pub(crate) async fn started(store: Arc<MemoryStore>, ehr: &Arc<Practice>, rules: EngineRules) -> Engine {
    let own = HashMap::from([(PLACE, ehr.clone() as Arc<dyn Ehr>)]);
    Engine::start(setup(rules), Parts { own, ..Parts::new(store, Arc::new(Mute)) }).await.unwrap()
}

pub(crate) async fn until(what: &str, mut done: impl AsyncFnMut() -> bool) {
    for _ in 0..1_000 {
        if done().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what} did not happen within 10 s");
}

fn plan() -> CreateRecord<InsurancePlan> {
    let body = schema::read(json!({"name": "Family Plan"})).unwrap();
    CreateRecord { body, patient: None, number: None }
}

/// What an earlier life left, whose clock was a day ahead: a write that failed once and is to be tried again. Its location was in memory
/// when that life ended, or slept.
async fn left_a_day_ahead(asleep: bool) -> Arc<MemoryStore> {
    let (store, setup) = (Arc::new(MemoryStore::new()), Arc::new(setup(EngineRules::default())));
    let deps = Arc::new(Deps {
        change_counter: ChangeCounter::new(&setup),
        setup,
        store: store.clone(),
        ids: Arc::new(Ids::new(store.clone())),
        pool: Pool::default(),
        outbox: Outbox::new(Arc::default(), Arc::new(Doorbell::default())),
        views: Arc::new(Mute),
        secrets: Secrets::from_seed([7; 32]),
        index: Arc::default(),
    });
    let mut processor = Processor::load(deps.clone(), PLACE).unwrap();
    store.commit_now(processor.describing(&description()).unwrap()).unwrap();
    processor.described(description());
    let cx = Cx { now: clock::now().plus(DAY), random: 1 };
    let mut next: Vec<Box<dyn Job>> = vec![Asked::own(Command::Wake), Asked::own(plan())];
    while let Some(mut request) = next.pop() {
        let mut turn = match request.prepare(&processor, cx) {
            Err(Reject::NeedIds(resource)) => {
                deps.pool.fill(&deps.ids, resource).await.unwrap();
                next.push(request);
                continue;
            }
            turn => turn.unwrap(),
        };
        store.commit_now(std::mem::take(&mut turn.batch)).unwrap();
        for call in processor.finish(turn) {
            if let Call::Write { write, attempt, kind: CallKind::Push, .. } = call {
                let outcome = Err(Failure::RetryLater { reason: "down".into(), after: None });
                next.push(Asked::own(Command::Pushed { write, attempt, outcome }));
            }
        }
    }
    assert!(processor.wake_at().unwrap().since(clock::now()) > DAY - MINUTE);
    if asleep {
        store.commit_now(processor.leave().unwrap()).unwrap();
    }
    store
}

#[actix::test]
async fn a_clock_that_was_ahead_in_an_earlier_life_delays_nothing() {
    for asleep in [false, true] {
        let (store, ehr) = (left_a_day_ahead(asleep).await, Arc::new(Practice::default()));
        let engine = started(store, &ehr, EngineRules::default()).await;
        until("the write", async || ehr.pushed.load(Ordering::SeqCst) == 1).await;
        engine.stop().await;
    }
}

#[actix::test]
async fn reading_without_end_is_slowed_and_says_so_while_all_else_goes_on() {
    let ehr = Arc::new(Practice { endless: true, ..Practice::default() });
    // A page more than the bucket holds, and nothing runs out of it while the test does.
    let rules = EngineRules { pull_burst_bytes: 1, pull_bytes_per_minute: 1, ..EngineRules::default() };
    let engine = started(Arc::new(MemoryStore::new()), &ehr, rules).await;
    let slowed = async || engine.sync_state(PLACE).await.unwrap().read_reason.as_deref() == Some(disk_share::SLOWED);
    until("the slower reading", slowed).await;
    let unknown = engine.cancel(PLACE, AppointmentId(1), None).await;
    assert_eq!(unknown, Err(EngineError::Refused(location::decision::Refusal::AppointmentNotFound)));
    engine.send(PLACE, plan()).await.unwrap();
    until("the write", async || ehr.pushed.load(Ordering::SeqCst) == 1).await;
    assert!(ehr.pulled.load(Ordering::SeqCst) <= 2, "the second page was asked for while the first was being stored");
    engine.stop().await;
}

/// Its commit is durable, and nobody knows: what it would change is not acted on before the EHR is asked again.
#[actix::test]
async fn what_the_ehr_can_do_counts_once_it_is_stored() {
    let (store, ehr) = (Arc::new(MemoryStore::new()), Arc::new(Practice::default()));
    let described = || store.get(&description_key(PLACE)).unwrap().is_some();
    // Engine and location have nothing else to commit until then.
    started(store.clone(), &Arc::new(Practice::default()), EngineRules::default()).await.stop().await;
    let mut forgotten = Batch::new();
    forgotten.delete(description_key(PLACE));
    store.commit_now(forgotten).unwrap();
    store.fail_next_commit(Broken::LoseAnswer);
    let engine = started(store.clone(), &ehr, EngineRules::default()).await;
    until("the description", async || described()).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!((ehr.described.load(Ordering::SeqCst), ehr.pulled.load(Ordering::SeqCst)), (1, 0));
    engine.stop().await;

    let engine = started(store.clone(), &ehr, EngineRules::default()).await;
    until("the first read", async || ehr.pulled.load(Ordering::SeqCst) > 0).await;
    engine.stop().await;
}

//! Answers of the booking intent from a fresh schedule: `fresh_within` and `verify_on`.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use chrono::DateTime;
use engine::{
    records::ehr::{Description, Ehr, EhrAppointment, EhrFuture, EhrRecord, Page, Receipt, Resource, Write},
    setup::Setup,
};
use futures_util::future::join_all;
use location::{
    command::Command,
    ids::LocationId,
    pause::Directions,
    settings::VerifyOn,
    time::{MINUTE, SECOND as ONE_SECOND},
};
use serde_json::{Value, json};
use testing::{Counter, until};
use tokio::runtime;

use crate::{
    practice::{Books, PracticeEhr},
    support::*,
};

const SEARCH: &str = "/intent/booking/search?subdomain=acme&location_id=1";
const HOLD: &str = "/intent/booking/hold?subdomain=acme";
const BOOK: &str = "/intent/booking/book?subdomain=acme";

/// The first location's EHR, which counts the reads of its appointments.
pub struct WatchedEhr {
    inner: PracticeEhr,
    pub books: Arc<Books>,
    /// Reads of the appointments, also those that wait.
    pub reads: Counter,
    /// Reads wait while it is set.
    pub shut: AtomicBool,
}

impl WatchedEhr {
    pub fn new() -> Arc<WatchedEhr> {
        let books = Arc::new(Books::default());
        let inner = PracticeEhr::new(MAIN, 0, Arc::default(), books.clone());
        Arc::new(WatchedEhr { inner, books, reads: Counter::default(), shut: AtomicBool::new(false) })
    }

    /// Lets the practice's staff take a slot.
    fn staff_take(&self, offer: &Value) {
        let start = DateTime::parse_from_rfc3339(offer["start_iso"].as_str().unwrap()).unwrap().timestamp();
        let (provider, operatory) =
            if offer["operatory_id"] == json!(CHAIR_1) { ("anna", "chair 1") } else { ("ben", "chair 2") };
        self.books.edit(EhrRecord::Appointment(EhrAppointment {
            id: "made by staff".into(),
            provider: Some(provider.into()),
            operatory: Some(operatory.into()),
            start,
            end: start + 30 * MINUTE / ONE_SECOND,
            ..EhrAppointment::default()
        }));
    }
}

impl Ehr for WatchedEhr {
    fn describe(&self, deadline: Duration) -> EhrFuture<'_, Description> {
        self.inner.describe(deadline)
    }

    fn pull(&self, resource: Resource, cursor: Option<String>, limit: u32, deadline: Duration) -> EhrFuture<'_, Page> {
        self.reads.add(usize::from(resource == Resource::Appointments));
        Box::pin(async move {
            while self.shut.load(Ordering::SeqCst) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            self.inner.pull(resource, cursor, limit, deadline).await
        })
    }

    fn push(&self, key: String, write: Write, deadline: Duration) -> EhrFuture<'_, Receipt> {
        self.inner.push(key, write, deadline)
    }

    fn find(&self, key: String, write: Write, deadline: Duration) -> EhrFuture<'_, Option<Receipt>> {
        self.inner.find(key, write, deadline)
    }
}

async fn open() -> (ApiWorld, Arc<WatchedEhr>) {
    open_with(setup()).await
}

pub async fn open_with(setup: Setup) -> (ApiWorld, Arc<WatchedEhr>) {
    let ehr = WatchedEhr::new();
    (world_on_set_up(setup, [(MAIN, ehr.clone() as Arc<dyn Ehr>)]).await, ehr)
}

/// Waits until the schedule is older than this many seconds.
async fn grow_old(seconds: u64) {
    tokio::time::sleep(Duration::from_millis(seconds * 1_000 + 50)).await;
}

fn search(world: &ApiWorld, fresh_within: u64) -> ApiRequest<'_> {
    let day = world.monday().to_string();
    world.post(
        SEARCH,
        json!({"start_date": day, "limit": 1, "appointment_type_id": CHECKUP, "fresh_within": fresh_within}),
    )
}

fn booking(offer: &Value, key: &str) -> Value {
    let patient = json!({"first_name": "Mia", "last_name": "Meier", "date_of_birth": "1990-02-03", "phone_number": "+1 555 010 9999"});
    json!({"slot_token": offer["slot_token"], "idempotency_key": key, "patient": patient})
}

#[actix_web::test]
async fn answers_contain_the_age_of_the_schedule() {
    let (world, _) = open().await;
    let found = search(&world, 86_400).ok().await;
    let as_of = found["schedule_as_of"].as_str().unwrap();
    assert!(as_of.ends_with('Z'), "{found}");
    assert_eq!(found["timezone"], json!("America/New_York"));
    assert_eq!(found["today"].as_str().unwrap().len(), "2026-12-01".len());
    let offer = &found["slots"][0];
    let held = world.post(HOLD, json!({"slot_token": offer["slot_token"]})).ok().await;
    assert_eq!(held["schedule_as_of"], json!(as_of));
    let made = world.post(BOOK, booking(offer, "k1")).ok().await;
    assert_eq!(made["schedule_as_of"], json!(as_of));
    let reference = made["booking"]["booking_ref"].as_str().unwrap();
    let status = world.get(&format!("/intent/booking/status?subdomain=acme&booking_ref={reference}")).ok().await;
    assert_eq!(status.get("schedule_as_of"), None);
}

#[actix_web::test]
async fn a_search_reads_the_practice_first_if_the_schedule_is_too_old() {
    let (world, ehr) = open().await;
    let before = search(&world, 86_400).ok().await;
    let reads = ehr.reads.get();
    ehr.staff_take(&before["slots"][0]);
    grow_old(1).await;
    // Fresh enough for the client, so the EHR is not asked.
    let unread = search(&world, 3_600).ok().await;
    assert_eq!((&unread["slots"][0]["start_iso"], ehr.reads.get()), (&before["slots"][0]["start_iso"], reads));
    assert_eq!(unread["slots"][0]["provider_id"], before["slots"][0]["provider_id"]);
    let after = search(&world, 1).ok().await;
    assert_eq!(ehr.reads.get(), reads + 1);
    let place = |found: &Value| (found["slots"][0]["start_iso"].clone(), found["slots"][0]["provider_id"].clone());
    assert_ne!(place(&after), place(&before));
    assert!(after["schedule_as_of"].as_str() > before["schedule_as_of"].as_str());
    assert_eq!(after["description"], Value::Null);
}

#[actix_web::test]
async fn an_explanation_reads_the_practice_first_like_a_search() {
    let (world, ehr) = open().await;
    let offer = search(&world, 86_400).ok().await["slots"][0].clone();
    let reads = ehr.reads.get();
    ehr.staff_take(&offer);
    grow_old(1).await;
    let explain = async |fresh_within: u64| {
        let body = json!({"slot_token": offer["slot_token"], "fresh_within": fresh_within});
        let explained = world.post("/intent/booking/explain?subdomain=acme", body).ok().await;
        (explained["slot"]["reason"].clone(), explained["description"].clone())
    };
    assert_eq!((explain(3_600).await, ehr.reads.get()), ((json!("offered"), Value::Null), reads));
    assert_eq!((explain(1).await, ehr.reads.get()), ((json!("taken"), Value::Null), reads + 1));
}

#[actix_web::test]
async fn a_read_on_request_does_not_postpone_the_next_cycle() {
    let (world, ehr) = open().await;
    let state = async || world.engine.sync_state(LocationId(MAIN)).await.unwrap();
    let (before, reads) = (state().await, ehr.reads.get());
    grow_old(1).await;
    search(&world, 1).ok().await;
    assert_eq!(ehr.reads.get(), reads + 1);
    until("the end of the read", async || state().await.next_cycle.is_some()).await;
    let after = state().await;
    assert_eq!((after.next_cycle, after.last_sync), (before.next_cycle, before.last_sync));
}

#[actix_web::test]
async fn an_ehr_that_answers_late_costs_a_warning() {
    let (world, ehr) = open().await;
    let before = search(&world, 86_400).ok().await;
    ehr.shut.store(true, Ordering::SeqCst);
    grow_old(1).await;
    let late = search(&world, 1).ok().await;
    assert_eq!(late["schedule_as_of"], before["schedule_as_of"]);
    let warning = late["description"].as_str().unwrap();
    assert!(warning.contains("was last read on") && warning.contains("did not answer in time"), "{warning}");
    // Holds and bookings are answered, too.
    let offer = &late["slots"][0];
    let held = world.post(HOLD, json!({"slot_token": offer["slot_token"], "fresh_within": 1})).ok().await;
    assert!(held["description"].as_str().unwrap().contains("did not answer in time"));
    let mut body = booking(offer, "k1");
    body["fresh_within"] = json!(1);
    let made = world.post(BOOK, body).ok().await;
    assert!(made["description"].as_str().unwrap().contains("did not answer in time"));
    ehr.shut.store(false, Ordering::SeqCst);
}

#[actix_web::test]
async fn concurrent_requests_share_a_read() {
    let (world, ehr) = open().await;
    let reads = ehr.reads.get();
    ehr.shut.store(true, Ordering::SeqCst);
    grow_old(3).await;
    let opening = async {
        until("the read", async || ehr.reads.get() > reads).await;
        ehr.shut.store(false, Ordering::SeqCst);
    };
    let one = || search(&world, 3).ok();
    let (a, b, c, d, ()) = tokio::join!(one(), one(), one(), one(), opening);
    assert_eq!(ehr.reads.get(), reads + 1);
    for found in [a, b, c, d] {
        assert_eq!(found["description"], Value::Null);
    }
}

#[test]
fn searches_that_wait_for_the_practice_leave_the_threads_to_other_reads() {
    const THREADS: usize = 4;
    let runtime = || runtime::Builder::new_current_thread().enable_all().max_blocking_threads(THREADS).build().unwrap();
    actix_web::rt::System::with_tokio_rt(runtime).block_on(async {
        let (world, ehr) = open().await;
        let reads = ehr.reads.get();
        ehr.shut.store(true, Ordering::SeqCst);
        grow_old(1).await;
        let waiting = join_all((0..4 * THREADS).map(|_| search(&world, 1).ok()));
        let other = async {
            until("the read of the practice", async || ehr.reads.get() > reads).await;
            let read = world.get("/operatories?subdomain=acme&location_id=1").ok();
            tokio::time::timeout(Duration::from_secs(1), read).await.expect("no thread waits for the practice");
        };
        let (found, ()) = tokio::join!(waiting, other);
        for found in found {
            assert!(found["description"].as_str().unwrap().contains("did not answer in time"), "{found}");
        }
    });
}

#[actix_web::test]
async fn while_reading_is_paused_requests_do_not_wait() {
    let (world, ehr) = open().await;
    let reads = ehr.reads.get();
    let reading = Directions { reading: true, writing: false };
    world.engine.send(LocationId(MAIN), Command::Pause { which: reading }).await.unwrap();
    grow_old(1).await;
    let found = search(&world, 1).ok().await;
    assert!(found["description"].as_str().unwrap().contains("reading from the practice's system is paused"));
    assert_eq!(ehr.reads.get(), reads);
    world.engine.send(LocationId(MAIN), Command::Resume { which: reading }).await.unwrap();
    assert_eq!(search(&world, 1).ok().await["description"], Value::Null);
    assert_eq!(ehr.reads.get(), reads + 1);
}

#[actix_web::test]
async fn a_location_without_an_ehr_is_always_fresh() {
    let (world, _) = open().await;
    let bare = format!("/intent/booking/search?subdomain=acme&location_id={BARE}");
    let found = world.post(&bare, json!({"fresh_within": 1})).ok().await;
    assert!(found["schedule_as_of"].is_string() && found["description"].is_null(), "{found}");
}

#[actix_web::test]
async fn an_age_outside_of_its_range_is_refused() {
    let (world, _) = open().await;
    for age in [json!(0), json!(86_401), json!("soon")] {
        let body = json!({"fresh_within": age});
        let refused = world.post(SEARCH, body).answers(400).await;
        assert!(refused["error"][0].as_str().unwrap().contains("fresh_within"), "{refused}");
    }
}

fn verified(verify_on: VerifyOn) -> Setup {
    let mut setup = setup();
    let location = setup.locations.get_mut(&LocationId(MAIN)).map(Arc::make_mut).unwrap();
    let limits = &mut location.settings_mut().booking.limits;
    (limits.verify_on, limits.verify_within) = (verify_on, ONE_SECOND);
    setup
}

#[actix_web::test]
async fn a_configured_check_finds_the_appointments_of_staff_before_a_booking() {
    for (verify_on, status) in [(VerifyOn::Never, 200), (VerifyOn::Book, 409), (VerifyOn::Hold, 409)] {
        let (world, ehr) = open_with(verified(verify_on)).await;
        let offer = search(&world, 86_400).ok().await["slots"][0].clone();
        ehr.staff_take(&offer);
        grow_old(1).await;
        let answer = world.post(BOOK, booking(&offer, "k1")).answers(status).await;
        if status == 409 {
            assert_eq!(answer["reason"], json!("slot_taken"), "{verify_on:?}");
        }
    }
}

#[actix_web::test]
async fn a_configured_check_of_holds_does_not_apply_to_searches() {
    for (verify_on, status, reads) in [(VerifyOn::Book, 200, 0), (VerifyOn::Hold, 409, 1)] {
        let (world, ehr) = open_with(verified(verify_on)).await;
        let before = ehr.reads.get();
        grow_old(1).await;
        let offer = search(&world, 86_400).ok().await["slots"][0].clone();
        assert_eq!(ehr.reads.get(), before);
        ehr.staff_take(&offer);
        world.post(HOLD, json!({"slot_token": offer["slot_token"]})).answers(status).await;
        assert_eq!(ehr.reads.get(), before + reads, "{verify_on:?}");
    }
}

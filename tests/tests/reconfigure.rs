//! Reconfiguration of a running engine with real adapters and EHRs.

use std::{path::PathBuf, sync::Arc};

use endpoints::resources::record_views::RecordViews;
use engine::{Engine, NotReconfigurable, simulated::NoSimulatedEhrs};
use location::{
    ids::{AppointmentId, LocationId},
    slots::SlotQuery,
    time::{DAY, MINUTE},
    zone::Date,
};
use processor::{
    commands::{BookSlot, Offer},
    patients::PatientDetails,
};
use records::Writeback;
use sandbox_ehr::records::Resource;
use sandbox_host::Sandboxes;
use setup::{DataSource, Setup};
use testing::until;
use tests::harness::{components, ehr_server::EhrServer, fixtures};
use webhooks::subscriptions::Everyone;

async fn opened(dir: &tempfile::TempDir, setup: Setup, sandboxes: &Sandboxes) -> Arc<Engine> {
    let opened = engine::open(setup, dir.path(), RecordViews::shared(), Arc::new(Everyone), sandboxes).await;
    opened.unwrap_or_else(|error| panic!("{error}")).engine
}

fn with_adapter(mut setup: Setup, file: PathBuf) -> Setup {
    setup.engine.store_floor_bytes = 0;
    setup.engine.adapters = [("sandbox".to_owned(), file)].into();
    setup
}

async fn is_read(engine: &Engine, location: LocationId) {
    until("the first reading", async || engine.sync_state(location).await.ok()?.last_sync).await;
}

/// Books, waits for the EHR's confirmation, and returns the appointment's foreign id.
async fn booked(engine: &Engine, location: LocationId, key: &str) -> String {
    let today = Date(i32::try_from(engine.now().0.div_euclid(DAY)).unwrap());
    let query = SlotQuery { limit: 50, ..testing::slot_query(today.add_days(1), 7, 30 * MINUTE, engine.now()) };
    let slot = engine.free_slots(location, query).await.unwrap().slots[0];
    let offer = Offer {
        institution: fixtures::INSTITUTION,
        location,
        provider: slot.provider,
        operatory: slot.operatory,
        span: slot.span,
        appointment_type: None,
        expires: engine.now().plus(10 * MINUTE),
        join_blocks: true,
        hold: 99,
        channel: None,
        rules: None,
    };
    let patient = PatientDetails {
        first_name: "Zoë".to_owned(),
        // A distinct name, so that each key has its own patient.
        last_name: format!("Ångström-{key}"),
        date_of_birth: Date::from_ymd(1990, 2, 28),
        email: Some(format!("{key}@example.org")),
        ..PatientDetails::default()
    };
    let (idempotency_key, created_by) = (key.to_owned(), "test".to_owned());
    let request = BookSlot { offer, idempotency_key, patient, note: None, created_by };
    let booked = engine.book(request).await.unwrap_or_else(|error| panic!("{error}"));
    let written = until("the write-back", async || {
        let record = engine.appointment(AppointmentId(booked.appointment.id)).unwrap().unwrap();
        (record.booking.as_ref().unwrap().writeback == Writeback::Confirmed).then_some(record)
    });
    written.await.foreign_id.clone().unwrap()
}

#[actix::test]
async fn changed_ehr_address_applies_from_the_next_call() {
    let dir = tempfile::tempdir().unwrap();
    let [old, new] = [1, 1].map(|seed| EhrServer::start(fixtures::small_profile(seed)).unwrap());
    let at = |url: &str| with_adapter(fixtures::setup(url), components::component("sandbox"));
    let engine = opened(&dir, at(&old.url()), &Sandboxes::default()).await;
    is_read(&engine, fixtures::MAIN_STREET).await;

    let taken = engine.reconfigure(at(&new.url()), &NoSimulatedEhrs).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(taken.changes.sources.changed, [fixtures::SOURCE]);
    // `stop` waits for open calls.
    old.stop().await;
    let before = engine.sync_state(fixtures::MAIN_STREET).await.unwrap().last_sync;
    engine.sync_now(fixtures::MAIN_STREET).await.unwrap();
    until("a reading at the new address", async || {
        let state = engine.sync_state(fixtures::MAIN_STREET).await.ok()?;
        (state.last_sync > before && state.read_ok).then_some(())
    })
    .await;
    new.stop().await;
    engine.stop().await;
}

#[actix::test]
async fn practice_is_added_with_adapter_and_simulated_ehr() {
    let (dir, sandboxes) = (tempfile::tempdir().unwrap(), Sandboxes::default());
    let mut empty = Setup { engine: fixtures::setup("sandbox:").engine, ..Setup::default() };
    empty.engine.store_floor_bytes = 0;
    let engine = opened(&dir, empty.clone(), &sandboxes).await;

    let broken = dir.path().join("broken.wasm");
    std::fs::write(&broken, "no component").unwrap();
    let refused = engine.reconfigure(with_adapter(fixtures::setup("sandbox:"), broken), &sandboxes).await.err();
    assert!(matches!(&refused, Some(NotReconfigurable::Unusable(why)) if why[0].starts_with("adapters.sandbox: ")));
    assert!(engine.setup().locations.is_empty() && engine.adapters().names().is_empty());

    let whole = || with_adapter(fixtures::setup("sandbox:"), components::component("sandbox"));
    let mut first = whole();
    let lakeside = first.locations.remove(&fixtures::LAKESIDE).unwrap();
    let taken = engine.reconfigure(first, &sandboxes).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((taken.changes.adapters.added, taken.simulated.len()), (vec!["sandbox".to_owned()], 1));
    is_read(&engine, fixtures::MAIN_STREET).await;
    let id = booked(&engine, fixtures::MAIN_STREET, "one").await;

    // The second location of a running EHR.
    engine.reconfigure(whole(), &sandboxes).await.unwrap_or_else(|error| panic!("{error}"));
    is_read(&engine, lakeside.id).await;
    booked(&engine, lakeside.id, "two").await;
    let hosted = sandboxes.get(fixtures::SOURCE).unwrap();
    assert!(hosted.view(Resource::Appointments, &id).await.is_some());

    let mut renamed = whole();
    let source = renamed.sources.remove(&fixtures::SOURCE).unwrap();
    renamed.sources.insert(source.id, DataSource { name: "Renamed".into(), ..(*source).clone() }.into());
    engine.reconfigure(renamed, &sandboxes).await.unwrap_or_else(|error| panic!("{error}"));
    booked(&engine, lakeside.id, "three").await;

    let taken = engine.reconfigure(empty, &sandboxes).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((taken.changes.locations.gone.len(), taken.changes.adapters.gone.len()), (2, 1));
    assert!(engine.adapters().names().is_empty());
    engine.stop().await;
}

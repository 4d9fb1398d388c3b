//! The main job without HTTP: a first pull, a booking through the location's actor and the sandbox adapter, its copy
//! in the EHR, and the same after a restart.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use adapter_host::Transport;
use endpoints::resources::record_views::RecordViews;
use engine::{Engine, Parts};
use location::{
    decision::Refusal,
    ids::{AppointmentId, LocationId},
    slots::{Slot, SlotQuery},
    time::{DAY, MINUTE, Timestamp},
    zone::Date,
};
use processor::{
    commands::{BookSlot, Offer},
    error::EngineError,
    patients::PatientDetails,
};
use records::Writeback;
use sandbox_ehr::records::Resource;
use sandbox_host::InProcessEhr;
use store::{EmbeddedStore, Store, StoreConfig, StoreKey};
use testing::until;
use tests::harness::{components, fixtures};

async fn start(dir: &Path) -> (Engine, Arc<InProcessEhr>) {
    let mut config = StoreConfig::new(dir.join("store"), StoreKey::new([7; 32]));
    config.floor_bytes = 0;
    // The previous engine may still be finishing its last calls.
    let store = until("the store is free", async || EmbeddedStore::open(config.clone()).ok()).await;
    let store: Arc<dyn Store> = Arc::new(store);
    let ehr = InProcessEhr::open(store.clone(), fixtures::SOURCE, fixtures::profile(1)).unwrap();
    let mut parts = Parts::new(store, RecordViews::shared());
    parts.adapters = components::load(&["sandbox"]).await;
    parts.in_process = BTreeMap::from([(fixtures::SOURCE, ehr.clone() as Arc<dyn Transport>)]);
    (Engine::start(fixtures::setup("sandbox:"), parts).await.unwrap(), ehr)
}

fn query(engine: &Engine, length: i64) -> SlotQuery {
    let today = Date(i32::try_from(engine.now().0.div_euclid(DAY)).unwrap());
    SlotQuery { limit: 50, ..testing::slot_query(today.add_days(1), 7, length, engine.now()) }
}

fn booking(location: LocationId, slot: Slot, key: &str, expires: Timestamp) -> BookSlot {
    BookSlot {
        offer: Offer {
            institution: fixtures::INSTITUTION,
            location,
            provider: slot.provider,
            operatory: slot.operatory,
            span: slot.span,
            appointment_type: None,
            expires,
            join_blocks: true,
            hold: 99,
            channel: None,
            rules: None,
        },
        idempotency_key: key.to_owned(),
        patient: PatientDetails {
            first_name: "Zoë".to_owned(),
            last_name: "Ångström".to_owned(),
            date_of_birth: Date::from_ymd(1990, 2, 28),
            phone_number: Some("555-010-7788".to_owned()),
            email: Some("zoe@example.org".to_owned()),
            ..PatientDetails::default()
        },
        note: Some("first visit".to_owned()),
        created_by: "test".to_owned(),
    }
}

#[actix::test]
async fn a_booking_reaches_the_ehr_and_survives_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, ehr) = start(dir.path()).await;
    until("the first pull of both locations", async || {
        for location in [fixtures::MAIN_STREET, fixtures::LAKESIDE] {
            engine.sync_state(location).await.unwrap().last_sync?;
        }
        Some(())
    })
    .await;

    let location = fixtures::LAKESIDE;
    let free = engine.free_slots(location, query(&engine, 30 * MINUTE)).await.unwrap();
    let slot = free.slots[0];
    let request = booking(location, slot, "key-1", engine.now().plus(10 * MINUTE));
    let booked = engine.book(request.clone()).await.map_err(|_| "refused").unwrap();
    assert!(!booked.replay);
    let id = booked.appointment.id;
    let booking = booked.appointment.booking.as_ref().unwrap().clone();
    assert_eq!(booking.writeback, Writeback::Pending);

    let again = engine.book(request.clone()).await.map_err(|_| "refused").unwrap();
    assert!(again.replay);
    assert_eq!(again.appointment.id, id);
    let other = BookSlot { note: None, ..request.clone() };
    assert_eq!(engine.book(other).await.err(), Some(EngineError::Refused(Refusal::IdempotencyConflict)));
    let elsewhere =
        BookSlot { offer: Offer { location: fixtures::MAIN_STREET, ..request.offer.clone() }, ..request.clone() };
    assert_eq!(engine.book(elsewhere).await.err(), Some(EngineError::Refused(Refusal::IdempotencyConflict)));
    let taken = BookSlot { idempotency_key: "key-2".to_owned(), ..request.clone() };
    let Some(EngineError::Refused(Refusal::SlotTaken { alternatives, .. })) = engine.book(taken).await.err() else {
        panic!("the slot is taken");
    };
    assert_eq!(alternatives.len(), 5);

    let written = until("the write-back", async || {
        let record = engine.appointment(AppointmentId(id)).unwrap().unwrap();
        (record.booking.as_ref().unwrap().writeback == Writeback::Confirmed).then_some(record)
    })
    .await;
    let foreign_id = written.foreign_id.as_ref().unwrap();
    let view = ehr.view(Resource::Appointments, foreign_id).await.expect("the EHR has the appointment");
    assert!(view.contains("first visit"), "{view}");
    let patient = engine.patient(fixtures::INSTITUTION, written.patient_id.unwrap()).unwrap().unwrap();
    assert!(patient.foreign_id.is_some(), "the patient was written first");

    engine.stop().await;
    drop((engine, ehr));
    let (engine, ehr) = start(dir.path()).await;
    let replay = engine.book(request).await.map_err(|_| "refused").unwrap();
    assert!(replay.replay);
    assert_eq!(replay.appointment.id, id);
    assert_eq!(engine.booking(&booking.booking_ref).unwrap().unwrap().id, id);
    assert!(ehr.view(Resource::Appointments, foreign_id).await.is_some());

    assert!(!engine.cancel(location, AppointmentId(id), Some("test".to_owned())).await.unwrap());
    assert!(engine.cancel(location, AppointmentId(id), None).await.unwrap());
    until("the cancellation in the EHR", async || {
        let view = ehr.view(Resource::Appointments, foreign_id).await?;
        view.contains("\"status\":\"cancelled\"").then_some(())
    })
    .await;
    engine.stop().await;
}

//! Replacement of the setup at run time: clients notice the changes and no interruption.

use std::sync::Arc;

use engine::{
    NotReconfigurable, Reconfigured,
    setup::{LocationStatus, Setup},
    simulated::NoSimulatedEhrs,
};
use location::ids::{InstitutionId, LocationId};
use serde_json::json;

use crate::support::*;

async fn reconfigured(world: &ApiWorld, setup: Setup) -> Reconfigured {
    world.api.reconfigure(setup, &NoSimulatedEhrs).await.unwrap_or_else(|error| panic!("{error}"))
}

const PATIENTS_HERE: &str = "/patients?subdomain=acme&location_id=1";
const PATIENTS_THERE: &str = "/patients?subdomain=acme&location_id=2";

#[actix_web::test]
async fn a_removed_location_can_return_and_take_bookings() {
    let world = world().await;
    let search = "/intent/booking/search?subdomain=acme&location_id=1";
    let asked = json!({"start_date": world.monday().to_string(), "limit": 1});
    let token = world.post(search, asked.clone()).ok().await["slots"][0]["slot_token"].clone();
    let mut without = setup();
    without.locations.remove(&LocationId(MAIN));
    assert_eq!(reconfigured(&world, without).await.changes.locations.gone, [LocationId(MAIN)]);
    assert_eq!(world.get(PATIENTS_HERE).fails(404).await, ["Location with id 1 not found"]);
    world.post(search, asked).fails(404).await;
    world.get(PATIENTS_THERE).ok().await;

    assert_eq!(reconfigured(&world, setup()).await.changes.locations.added, [LocationId(MAIN)]);
    world.get(PATIENTS_HERE).ok().await;
    let patient = json!({"first_name": "Mia", "last_name": "Meier", "date_of_birth": "1990-02-03", "phone_number": "+1 555 010 9999", "email": "mia@example.com"});
    let booking = json!({"slot_token": token, "idempotency_key": "one", "patient": patient});
    world.post("/intent/booking/book?subdomain=acme", booking).ok().await;
}

#[actix_web::test]
async fn names_statuses_and_subdomains_are_those_of_the_new_setup() {
    let world = world().await;
    let name = async || world.get("/locations/1?subdomain=acme").ok().await["data"]["name"].clone();
    assert_eq!(name().await, "Place 1");
    world.get(PATIENTS_THERE).ok().await;
    let mut next = setup();
    next.locations.get_mut(&LocationId(MAIN)).map(Arc::make_mut).unwrap().name = "Main Street".into();
    next.locations.get_mut(&LocationId(SECOND)).map(Arc::make_mut).unwrap().status = LocationStatus::Closed;
    let changes = reconfigured(&world, next.clone()).await.changes;
    assert_eq!(changes.locations.changed, [LocationId(MAIN), LocationId(SECOND)]);
    assert_eq!(name().await, "Main Street");
    world.get(PATIENTS_THERE).fails(404).await;
    next.institutions.get_mut(&InstitutionId(1)).map(Arc::make_mut).unwrap().subdomain = "acme-dental".into();
    reconfigured(&world, next).await;
    world.get(PATIENTS_HERE).fails(403).await;
    world.get("/patients?subdomain=acme-dental&location_id=1").ok().await;
    reconfigured(&world, setup()).await;
    world.get(PATIENTS_THERE).ok().await;
}

#[actix_web::test]
async fn a_refused_setup_changes_nothing() {
    let world = world().await;
    let mut next = setup();
    next.locations.remove(&LocationId(MAIN));
    next.engine.actor_threads += 1;
    let refused = world.api.reconfigure(next, &NoSimulatedEhrs).await.err().unwrap();
    assert!(matches!(&refused, NotReconfigurable::Restart(names) if names == &["engine.actor_threads"]), "{refused}");
    world.get(PATIENTS_HERE).ok().await;
}

//! Rows of lists that stay in memory: responses are the same as without them, and unchanged records are not opened
//! again.

use std::sync::Arc;

use engine::{
    records::schema::rules,
    setup::Setup,
    simulated::NoSimulatedEhrs,
    store::{Key, keys as store_keys},
};
use framework::http::endpoint::Success;
use location::{
    ids::{InstitutionId, LocationId},
    pull::Resource,
};
use serde_json::json;
use testing::{HookedStore, until};

use crate::{
    everywhere::{CallParameters, DocumentedEndpoint, guarded},
    filled::{Filled, resources},
    support::*,
};

const PATIENTS: &str = "/patients?subdomain=acme&location_id=1";
const APPOINTMENTS: &str =
    "/appointments?subdomain=acme&location_id=1&start=2020-01-01T00:00:00Z&end=2040-01-01T00:00:00Z";

/// The name of an endpoint with the status, the body and the entity tag of its response.
type Shown = (String, u16, String, Option<String>);

/// Returns every list in each of its versions, as a caller sees it. The feed of changes also grows without a change of
/// a record, so it is left out.
async fn lists(world: &ApiWorld, key: &str) -> Vec<Shown> {
    let is_list = |it: &DocumentedEndpoint| {
        let is_page = it.route.role.is_none() && matches!(it.route.success, Success::Page(_));
        is_page && !it.route.path.contains('{') && it.route.path != "/changes"
    };
    let mut shown = Vec::new();
    for it in guarded().filter(is_list) {
        let path = match it.route.path {
            "/appointments" => APPOINTMENTS.to_owned(),
            _ => it.path(&CallParameters::right()),
        };
        let reply = world.get(&path).key(key).version(it.version.name()).reply().await;
        let tag = reply.header("ETag").map(str::to_owned);
        shown.push((it.name(), reply.status.as_u16(), reply.text, tag));
    }
    shown
}

/// Replaces the setup by one with another institution's name, which no row contains. Every row is rendered again.
async fn replace_setup(world: &ApiWorld, name: &str) {
    let mut next = Setup::clone(&world.engine.setup());
    next.institutions.get_mut(&InstitutionId(2)).map(Arc::make_mut).unwrap().name = name.to_owned();
    world.api.reconfigure(next, &NoSimulatedEhrs).await.unwrap_or_else(|error| panic!("{error}"));
}

#[actix_web::test]
async fn lists_from_memory_equal_lists_rendered_again() {
    let ehr = Filled::new("Acme", MAIN, 6);
    let world = world_on([(MAIN, Arc::clone(&ehr) as _)]).await;
    let callers = [ACME_KEY, MAIN_FULL_KEY, MAIN_KEY];
    for step in ["created", "changed", "deleted", "restored"] {
        for resource in resources() {
            match step {
                "changed" => ehr.touch(resource, 1),
                "deleted" => ehr.remove(resource, 2),
                "restored" => ehr.touch(resource, 2),
                _ => {}
            }
        }
        if step != "created" {
            world.sync(MAIN).await;
        }
        let mut first = Vec::new();
        for caller in callers {
            first.push(lists(&world, caller).await);
        }
        let filled = first[0].iter().filter(|(_, status, body, _)| *status == 200 && body.contains("\"data\":[{"));
        assert!(filled.count() > 20, "{step}");
        for again in ["from memory", "rendered again"] {
            // In reverse order, so that rows for callers with and without grants are rendered first.
            for (caller, first) in callers.iter().zip(&first).rev() {
                for (now, first) in lists(&world, caller).await.iter().zip(first) {
                    assert_eq!(now, first, "{step}, {again}, {caller}");
                }
            }
            replace_setup(&world, step).await;
        }
    }
}

#[actix_web::test]
async fn rows_show_the_time_zone_of_a_new_setup() {
    let world = world().await;
    let zones = async || each(&world.get(APPOINTMENTS).ok().await["data"], "timezone");
    let before = zones().await;
    assert!(!before.is_empty() && before.iter().all(|zone| zone == "America/New_York"), "{before:?}");
    let mut next = setup();
    next.locations.get_mut(&LocationId(MAIN)).map(Arc::make_mut).unwrap().zone = "America/Denver".parse().unwrap();
    world.api.reconfigure(next, &NoSimulatedEhrs).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(zones().await, vec!["America/Denver"; before.len()]);
}

#[actix_web::test]
async fn a_repeated_list_opens_changed_records_only() {
    let store = Arc::new(HookedStore::default());
    let world = world_on_store(store.clone()).await;
    let opened = |resource: Resource| {
        let is_record =
            |key: &&Key| store_keys::parse_record(key).is_some_and(|(kind, ..)| kind == rules(resource).tag);
        store.take_opened().iter().filter(is_record).count()
    };
    for (list, resource) in [(PATIENTS, Resource::Patients), (APPOINTMENTS, Resource::Appointments)] {
        opened(resource);
        let first = world.get(list).reply().await;
        assert!(opened(resource) > 1, "{list}");
        let second = world.get(list).reply().await;
        assert_eq!((opened(resource), second.text), (0, first.text), "{list}");
    }
    let before = world.get(PATIENTS).reply().await;
    let change = json!({"patient": {"last_name": "Lovelace"}});
    let path = format!("/patients/{PAT}?subdomain=acme&location_id=1");
    world.patch(&path, change).version("v3.1.0").ok().await;
    until("the end of the queue", async || world.engine.sync_state(LocationId(MAIN)).await.unwrap().queued == 0).await;
    opened(Resource::Patients);
    let third = world.get(PATIENTS).reply().await;
    assert_eq!(opened(Resource::Patients), 1);
    assert!(third.text.contains("Lovelace"));
    assert!(before.header("ETag").is_some() && third.header("ETag") != before.header("ETag"));
}

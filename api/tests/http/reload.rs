//! What SIGHUP takes over, whatever else is wrong in the file; and that nothing read under earlier rights is given out afterwards.

use std::{future::Future, path::PathBuf, task::Poll};

use actix_web::{HttpResponse, dev::Payload, test::TestRequest};
use api::{
    access::{cached::Lookup, call::Call, keys::hash},
    routes::table::TABLE,
    service::take_over,
    values::versions::Version,
};
use location::ids::LocationId;

use crate::support::*;

const LIST: &str = "/patients?subdomain=acme&location_id=1";

/// A file that would not start the service: its adapter is gone, a variable is not set, and a knob does not exist.
const BROKEN: &str = r#"
[http]
no_such_knob = 1
[adapters]
moved = "/nowhere/moved.wasm"
[[institutions]]
id = 1
subdomain = "acme"
environment = "sandbox"
[[institutions.sources]]
id = 1
name = "Server"
adapter = "moved"
base_url = "https://ehr.example"
headers = { Authorization = "env:NO_SUCH_VARIABLE" }
"#;

fn place(id: u32, more: &str) -> String {
    format!("[[institutions.locations]]\nid = {id}\nname = \"P\"\nzone = \"America/New_York\"\n{more}\n")
}

fn key(name: &str, more: &str) -> String {
    let hash = hex::encode(hash(name));
    format!(
        "[[keys]]\nname = \"{name}\"\nsha256 = \"{hash}\"\nenvironment = \"sandbox\"\ninstitutions = [\"acme\"]\n{more}\n"
    )
}

/// Takes over a file with these parts.
fn reload(world: &World, parts: &[String]) {
    let dir = tempfile::tempdir().unwrap();
    let file: PathBuf = dir.path().join("x.toml");
    std::fs::write(&file, format!("{BROKEN}{}", parts.concat())).unwrap();
    assert!(api::config::Config::load(&file).is_err(), "nothing starts with it");
    take_over(&world.api, &file);
}

fn all_places() -> String {
    let rest = "[[institutions]]\nid = 2\nsubdomain = \"rival\"\nname = \"R\"\nenvironment = \"sandbox\"\n";
    [place(MAIN, ""), place(SECOND, ""), place(BARE, ""), rest.to_owned(), place(RIVAL, "")].concat()
}

#[actix_web::test]
async fn a_key_is_revoked_whatever_else_is_wrong() {
    let world = world().await;
    let tokens = [ACME_KEY, MAIN_KEY].map(|key| world.token(key));
    reload(&world, &[all_places(), key(MAIN_KEY, "locations = [1]")]);
    world.get(LIST).with("Authorization", &tokens[0]).fails(401).await;
    world.get(LIST).with("Authorization", &tokens[1]).ok().await;
    world.get("/patients?subdomain=acme&location_id=2").with("Authorization", &tokens[1]).fails(404).await;
}

#[actix_web::test]
async fn what_cannot_be_read_of_a_key_gives_it_nothing() {
    let world = world().await;
    // All its locations, its grants, or the key itself.
    reload(&world, &[all_places(), key(ACME_KEY, "locations = \"2\"")]);
    world.get(LIST).fails(401).await;
    reload(&world, &[all_places(), key(ACME_KEY, "locations = [2, 999]\ngrants = [\"bta\"]")]);
    world.get(LIST).fails(404).await;
    world.get("/patients?subdomain=acme&location_id=2").ok().await;
    world.get("/locations").version("v3.1.0").fails(403).await;
    reload(&world, &[all_places(), key(ACME_KEY, "grants = [\"beta\"]")]);
    world.get("/locations").version("v3.1.0").ok().await;
}

#[actix_web::test]
async fn a_location_closes_whatever_else_is_wrong() {
    let world = world().await;
    world.get(LIST).ok().await;
    reload(&world, &[place(MAIN, "status = \"closed\""), place(SECOND, ""), key(ACME_KEY, "")]);
    world.get(LIST).fails(404).await;
    world.get("/patients?subdomain=acme&location_id=2").ok().await;
}

#[actix_web::test]
async fn a_location_that_is_gone_from_the_file_is_closed() {
    let world = world().await;
    world.get(LIST).ok().await;
    reload(&world, &[place(SECOND, ""), key(ACME_KEY, "")]);
    assert_eq!(world.get(LIST).fails(404).await, ["Location with id 1 not found"]);
    world.get("/patients?subdomain=acme&location_id=2").ok().await;
    reload(&world, &[place(MAIN, ""), place(SECOND, ""), key(ACME_KEY, "")]);
    world.get(LIST).ok().await;
}

#[actix_web::test]
async fn a_location_that_cannot_be_told_closes_none() {
    let world = world().await;
    reload(
        &world,
        &[place(MAIN, "").replace("id = 1", "id = \"one\""), place(SECOND, "status = \"clsed\""), key(ACME_KEY, "")],
    );
    world.get(LIST).ok().await;
    world.get("/patients?subdomain=acme&location_id=2").ok().await;
}

#[actix_web::test]
async fn a_file_that_is_not_toml_changes_nothing() {
    let world = world().await;
    reload(&world, &["this is not".to_owned()]);
    world.get(LIST).ok().await;
    assert!(world.api.directory.locations().get(LocationId(MAIN)).is_some());
}

async fn received(world: &World) -> Call {
    let route = TABLE.iter().find(|route| route.method_and_path() == "GET /patients").unwrap();
    let request = TestRequest::with_uri(LIST).app_data(world.api.clone());
    let request = request.insert_header(("Authorization", world.token(ACME_KEY))).to_http_request();
    Call::receive(route, Version::V3_0_0, &request, Payload::None).await.unwrap_or_else(|error| panic!("{error}"))
}

#[actix_web::test]
async fn a_page_read_under_earlier_rights_is_not_kept() {
    let world = world().await;
    let look_up = |call: &Call| call.cached_page("/patients", "subdomain=acme&location_id=1");
    let before = received(&world).await;
    let Lookup::Miss(vacancy) = look_up(&before) else { panic!("nothing is kept yet") };
    world.api.replace_keys(keys());
    world.api.page_cache.fill(vacancy, HttpResponse::Ok().body("of earlier rights"));
    let after = received(&world).await;
    let Lookup::Miss(vacancy) = look_up(&after) else { panic!("the page is kept") };
    world.api.page_cache.fill(vacancy, HttpResponse::Ok().body("of these rights"));
    assert!(matches!(look_up(&received(&world).await), Lookup::Hit(_)));
}

#[actix_web::test]
async fn a_page_being_read_while_rights_change_is_not_given_out() {
    let world = world().await;
    // The page is read on another thread; whoever answers is free. Now and then that thread is done before anybody looks.
    let mut asking = None;
    for per_page in 1..=50 {
        let mut asked = Box::pin(world.get(&format!("{LIST}&per_page={per_page}")).reply());
        let pending = std::future::poll_fn(|cx| Poll::Ready(asked.as_mut().poll(cx).is_pending())).await;
        if pending {
            asking = Some(asked);
            break;
        }
    }
    let asking = asking.expect("reading holds up the thread that answers");
    let narrowed =
        keys().into_iter().map(|key| api::access::keys::ApiKey { locations: Some(vec![LocationId(SECOND)]), ..key });
    world.api.replace_keys(narrowed.collect());
    assert_eq!(asking.await.status, 404);
}

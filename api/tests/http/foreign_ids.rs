//! Every main list whose records show a `foreign_id` can be filtered by several of these ids.

use std::sync::Arc;

use actix_web::http::Method;
use engine::records::ehr::Ehr;
use serde_json::{Value, json};

use crate::{
    everywhere::{CallParameters, DocumentedEndpoint, guarded},
    filled::Filled,
    support::*,
};

async fn filled() -> ApiWorld {
    let ehr = |location| -> (u32, Arc<dyn Ehr>) { (location, Filled::new("Acme", location, 4)) };
    world_on([ehr(MAIN), ehr(SECOND)]).await
}

/// Returns the lists without a parameter in the path.
fn main_lists() -> impl Iterator<Item = DocumentedEndpoint> {
    guarded().filter(|it| it.route.method == Method::GET && !it.route.path.contains('{') && !it.route.is_stream())
}

/// Returns the records of a page in any version.
fn rows(answer: &Value) -> Vec<Value> {
    let data = &answer["data"];
    data.as_array().or_else(|| data["patients"].as_array()).cloned().unwrap_or_default()
}

fn foreign_ids(rows: &[Value]) -> Vec<String> {
    rows.iter().filter_map(|row| row["foreign_id"].as_str()).map(str::to_owned).collect()
}

/// Returns the id of the location's first patient, which depends on the order of the first pulls.
async fn first_patient(world: &ApiWorld) -> u64 {
    let all = rows(&world.get(&format!("/patients?subdomain=acme&location_id={MAIN}&per_page=100")).ok().await);
    all.iter().filter_map(|row| row["id"].as_u64()).min().unwrap()
}

/// Returns the list with its examples: appointments of all years, and form responses of one patient.
async fn ask(world: &ApiWorld, it: &DocumentedEndpoint, more: &str) -> Vec<Value> {
    let always = "&start=2020-01-01T00:00:00Z&end=2040-01-01T00:00:00Z";
    let path = match it.route.path {
        "/appointments" => format!("/appointments?subdomain=acme&location_id={MAIN}{always}{more}"),
        "/form_responses" => {
            let patient = ("patient_id", first_patient(world).await);
            format!("{}{more}", it.path(&CallParameters { instead: Some(patient), ..CallParameters::right() }))
        }
        _ => format!("{}{more}", it.path(&CallParameters::right())),
    };
    rows(&world.get(&path).version(it.version.name()).ok().await)
}

#[actix_web::test]
async fn several_foreign_ids_find_exactly_their_records() {
    let world = filled().await;
    let (mut asked, mut wrong) = (Vec::new(), Vec::new());
    // Locations are nested in institutions, and claims do not show foreign ids.
    let others = ["/locations", "/claims"];
    for it in main_lists().filter(|it| it.has("foreign_ids[]") && !others.contains(&it.route.path)) {
        let all = foreign_ids(&ask(&world, &it, "").await);
        let Some((first, last)) = all.first().zip(all.last()) else {
            wrong.push(format!("{} shows none", it.name()));
            continue;
        };
        let mut both = vec![first.clone(), last.clone()];
        both.dedup();
        let several = format!("&foreign_ids[]={last}&foreign_ids[]=nobody&foreign_ids[]={first}&foreign_ids[]={last}");
        let one = format!("{several}&foreign_id={last}");
        for (query, expected) in [(&several[..], both), (&one, vec![last.clone()]), ("&foreign_ids[]=nobody", vec![])] {
            let found = foreign_ids(&ask(&world, &it, query).await);
            if found != expected {
                wrong.push(format!("{} {query}: {found:?} instead of {expected:?}", it.name()));
            }
        }
        asked.push((it.route.path, all.len()));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // The list of form responses has one row per patient.
    assert!(asked.iter().all(|(path, count)| *count > 1 || *path == "/form_responses"), "{asked:?}");
    let expected = [
        "/operatories", "/providers", "/appointments", "/patients", "/insurance_plans", "/form_responses",
        "/procedure_codes", "/patient_recalls", "/recall_types", "/conversations", "/charges", "/payments",
        "/adjustments", "/guarantor_balances",
    ];
    let missing: Vec<_> = expected.iter().filter(|path| !asked.iter().any(|(known, _)| known == *path)).collect();
    assert!(missing.is_empty(), "{missing:?} are not among {asked:?}");
}

#[actix_web::test]
async fn every_list_with_foreign_ids_can_be_filtered_by_them() {
    let world = filled().await;
    for it in main_lists().filter(|it| !it.has("foreign_ids[]")) {
        let reply = world.get(&it.path(&CallParameters::right())).version(it.version.name()).reply().await;
        if reply.status == 200 {
            let shown = foreign_ids(&rows(&reply.json()));
            assert!(shown.is_empty(), "{} shows {shown:?}", it.name());
        }
    }
}

#[actix_web::test]
async fn foreign_ids_of_another_practice_are_not_found() {
    let world = filled().await;
    let (here, there) = ("/operatories?subdomain=acme&location_id=1", "/operatories?subdomain=acme&location_id=2");
    let theirs = foreign_ids(&rows(&world.get(there).ok().await));
    let asked = format!("{here}&foreign_ids[]={}", theirs[0]);
    assert_eq!(world.get(&asked).ok().await["data"], json!([]));
}

#[actix_web::test]
async fn locations_are_found_by_foreign_ids() {
    let world = world().await;
    let found =
        async |query: &str| each(&world.get(&format!("/locations?{query}")).ok().await["data"][0]["locations"], "id");
    assert_eq!(found("foreign_ids[]=F2&foreign_ids[]=none").await, [SECOND]);
    assert_eq!(found("foreign_ids[]=none").await, Vec::<Value>::new());
}

#[actix_web::test]
async fn the_number_of_foreign_ids_is_limited() {
    let world = world().await;
    let many = |count: usize| -> String { (0..count).map(|n| format!("&foreign_ids[]=P-{n:06}")).collect() };
    let path = format!("/patients?subdomain=acme&location_id=1&foreign_ids[]=pat{}", many(998));
    let found = world.get(&format!("{path}&foreign_ids[]=ada")).ok().await;
    assert_eq!((&found["description"], foreign_ids(&rows(&found))), (&Value::Null, vec!["pat".into(), "ada".into()]));
    let refused = world.get(&format!("{path}{}", many(3))).answers(400).await;
    assert_eq!(refused["error"], json!(["foreign_ids[] holds more than 1000 values."]));
    assert_eq!(refused["description"], Value::Null, "the parameter was read");
    let both = world.get(&format!("{path}{}&colour=red", many(3))).answers(400).await;
    assert_eq!(both["description"], json!("Note that following parameters are ignored: colour."));
}

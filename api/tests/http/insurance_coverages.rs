use actix_web::http::Method;
use engine::records::ehr::Resource;
use serde_json::{Value, json};

use crate::support::*;

const CREATE: &str = "/insurance_coverages?subdomain=acme&location_id=1";

async fn silver(world: &ApiWorld) -> Value {
    world.one_of("/insurance_plans?subdomain=acme&payer_id=P2").await["id"].clone()
}

#[actix_web::test]
async fn coverages_are_listed_and_filtered() {
    let world = world().await;
    let ada = world.patient("ada").await;
    let rows =
        async |rest: &str| world.get(&format!("/insurance_coverages?subdomain=acme&{rest}")).ok().await["data"].clone();
    assert_eq!(each(&rows("").await, "subscription_relation"), ["self", "spouse"], "active ones");
    assert_eq!(rows("active=false").await.as_array().unwrap().len(), 1);
    let own = rows(&format!("patient_id={ada}")).await;
    assert_eq!(each(&own, "subscriber_num"), ["S-1"]);
    assert_eq!((&own[0]["priority"], &own[0]["effective_date"]), (&json!(1), &json!("2024-01-01")));
    assert_eq!(rows("updated_since=2190-01-01T00:00:00Z").await, json!([]));
    let one = world.get(&format!("/insurance_coverages/{}?subdomain=acme", own[0]["id"])).ok().await["data"].clone();
    assert_eq!(one["subscriber"]["date_of_birth"], json!("1990-03-04"));
    let missing = world.get("/insurance_coverages/4711?subdomain=acme").fails(404).await;
    assert_eq!(missing, ["Insurance Coverage with id 4711 not found"]);
}

#[actix_web::test]
async fn a_new_coverage_wrapped_or_not_is_written_and_ended() {
    let world = world().await;
    let plan = silver(&world).await;
    let coverage = json!({
        "plan_id": plan, "patient_id": PAT, "subscription_relation": "child", "priority": "secondary",
        "effective_date": "2026-01-01", "insurance_subscription": {"name": "Sue Sub", "date_of_birth": "1960-02-03", "subscriber_num": "S-2"},
    });
    let made = world.post(CREATE, json!({"insurance_coverage": coverage})).version("v3.1.0").answers(201).await["data"]
        .clone();
    assert_eq!((&made["priority"], &made["subscriber_num"], &made["plan_id"]), (&json!(2), &json!("S-2"), &plan));
    let written = world.wait_for_writes(Resource::Coverages, 1).await;
    assert_eq!((&written[0].fields()["patient"], &written[0].fields()["plan"]), (&json!("pat"), &json!("silver")));
    assert_eq!(
        (&written[0].fields()["subscriber_name"], &written[0].fields()["relation"]),
        (&json!("Sue Sub"), &json!("child"))
    );

    let ada = world.patient("ada").await;
    let bare = json!({"plan_id": plan, "patient_id": PAT, "priority": 3, "subscriber_id": ada});
    let made = world.post(CREATE, bare).version("v3.1.0").answers(201).await["data"].clone();
    assert_eq!((&made["priority"], &made["subscription_relation"]), (&json!(3), &json!("self")));
    let written = world.wait_for_writes(Resource::Coverages, 2).await;
    assert_eq!(written[1].fields()["subscriber"], json!("ada"));

    let one = format!("/insurance_coverages/{}?subdomain=acme", made["id"]);
    assert_eq!(world.get(&one).ok().await["data"]["subscriber"]["id"], json!(ada));
    let gone = world.request(Method::DELETE, &one).version("v3.1.0").reply().await;
    assert_eq!((gone.status.as_u16(), gone.text.as_str()), (204, ""));
    world.wait_for_writes(Resource::Coverages, 3).await;
    assert_eq!(world.get(&one).ok().await["data"]["active"], json!(false));
    let again = world.request(Method::DELETE, &one).version("v3.1.0").fails(404).await;
    assert_eq!(again, [format!("Insurance Coverage with id {} not found", made["id"])]);
}

/// Specification 2.4: an id is an integer.
#[actix_web::test]
async fn subscribers_who_are_not_patients_have_one_id_each() {
    let world = world().await;
    let (plan, ada) = (silver(&world).await, world.patient("ada").await);
    let mut made = Vec::new();
    for (name, born, number) in [
        ("Parent Nopatient", "1980-05-06", "N-1"),
        ("Parent Nopatient", "1980-05-06", "N-1"),
        ("Parent Nopatient", "1981-05-06", "N-1"),
        ("Parent Nopatient", "1980-05-06", "N-2"),
        ("Other Nopatient", "1980-05-06", "N-1"),
    ] {
        let subscription = json!({"name": name, "date_of_birth": born, "subscriber_num": number});
        let body = json!({"plan_id": plan, "patient_id": ada, "insurance_subscription": subscription});
        made.push(world.post(CREATE, body).version("v3.1.0").answers(201).await["data"]["id"].clone());
    }
    let mut ids = Vec::new();
    for id in &made {
        let coverage = world.get(&format!("/insurance_coverages/{id}?subdomain=acme")).ok().await["data"].clone();
        let again = world.get(&format!("/insurance_coverages/{id}?subdomain=acme")).version("v2.2.2").ok().await;
        assert_eq!(again["data"]["subscriber"], coverage["subscriber"]);
        ids.push(coverage["subscriber"]["id"].as_u64().unwrap());
    }
    assert_eq!(ids[0], ids[1], "the same name, date of birth and number");
    let mut others = ids[1..].to_vec();
    others.sort_unstable();
    others.dedup();
    assert_eq!(others.len(), 4);
    for id in &others {
        world.get(&format!("/patients/{id}?subdomain=acme")).fails(404).await;
    }
    let ids_of = |people: &Value| {
        let mut ids: Vec<u64> = people.as_array().unwrap().iter().map(|it| it["id"].as_u64().unwrap()).collect();
        ids.sort_unstable();
        ids
    };
    let of_plan = world.get(&format!("/insurance_plans/{plan}?subdomain=acme&include[]=subscribers")).ok().await;
    let of_plan = ids_of(&of_plan["data"]["subscribers"]);
    assert!(others.iter().all(|id| of_plan.contains(id)) && of_plan.len() < made.len() + 3, "{of_plan:?}");
    let patient = world.get(&format!("/patients/{ada}?subdomain=acme&include[]=insurance_coverages")).ok().await;
    let covered = patient["data"]["insurance_coverages"].as_array().unwrap();
    assert!(covered.iter().all(|it| it["subscriber"]["id"].is_u64()), "{covered:?}");
}

#[actix_web::test]
async fn missing_fields_of_a_new_coverage_are_named() {
    let world = world().await;
    let send = |body: Value| world.post(CREATE, body).version("v3.1.0");
    let exactly_one = "insurance_coverage must hold exactly one of subscriber_id and insurance_subscription.";
    let expected = ["insurance_coverage.plan_id is missing.", "insurance_coverage.patient_id is missing.", exactly_one];
    assert_eq!(send(json!({})).fails(400).await, expected);
    let wrong = json!({
        "plan_id": 1, "patient_id": PAT, "subscription_relation": "friend", "priority": "fourth", "subscriber_id": PAT,
        "insurance_subscription": {}, "effective_date": "2026-02-01", "expiration_date": "2026-01-01",
    });
    let errors = send(wrong).fails(400).await;
    assert!(
        errors[0].starts_with("insurance_coverage.subscription_relation must be one of self, spouse"),
        "{errors:?}"
    );
    assert_eq!(errors[1], "insurance_coverage.priority must be an integer, or be one of primary, secondary, tertiary.");
    assert_eq!(
        errors[2..],
        [
            exactly_one,
            "insurance_coverage.insurance_subscription.name is missing.",
            "insurance_coverage.expiration_date must not be before effective_date.",
        ]
    );
    let nowhere = json!({"plan_id": 4711, "patient_id": PAT, "subscriber_id": PAT});
    assert_eq!(send(nowhere).fails(404).await, ["Insurance Plan with id 4711 not found"]);
    let nobody = json!({"plan_id": silver(&world).await, "patient_id": 4711, "subscriber_id": PAT});
    assert_eq!(send(nobody).fails(404).await, ["Patient with id 4711 not found"]);
}

use engine::records::ehr::Resource;
use serde_json::{Value, json};

use crate::support::*;

const CREATE: &str = "/insurance_plans?subdomain=acme&location_id=1";

#[actix_web::test]
async fn plans_are_listed_and_filtered() {
    let world = world().await;
    let names = async |rest: &str| {
        let path = format!("/insurance_plans?subdomain=acme&{rest}");
        each(&world.get(&path).ok().await["data"], "name")
    };
    assert_eq!(names("").await, ["Gold", "Silver"]);
    assert_eq!(names("sort=-id").await, ["Silver", "Gold"]);
    assert_eq!(names("payer_id=P2").await, ["Silver"]);
    assert_eq!(names("group_num=G1").await, ["Gold"]);
    assert_eq!(names("group_num=g1").await, [""; 0]);
    assert_eq!(names("updated_since=2190-01-01T00:00:00Z").await, [""; 0]);
    let gold = world.one_of("/insurance_plans?subdomain=acme&payer_id=P1").await;
    assert_eq!((&gold["annual_max_individual"]["amount"], &gold["state"]), (&json!("1500.00"), &json!("NY")));
    assert_eq!((&gold["benefit_year_renewal_month"], &gold["deleted_at"]), (&json!(1), &Value::Null));
    world.get("/insurance_plans?subdomain=acme").key(MAIN_KEY).fails(403).await;
}

#[actix_web::test]
async fn a_plan_includes_requested_records() {
    let world = world().await;
    let id = world.one_of("/insurance_plans?subdomain=acme&payer_id=P1").await["id"].clone();
    let plain = world.get(&format!("/insurance_plans/{id}?subdomain=acme")).ok().await["data"].clone();
    assert_eq!((plain.get("subscribers"), plain.get("fee_schedule")), (None, None));
    let path = format!(
        "/insurance_plans/{id}?subdomain=acme&include[]=patient_coverages&include[]=subscribers&include[]=fee_schedule"
    );
    let all = world.get(&path).ok().await["data"].clone();
    assert_eq!(each(&all["patient_coverages"], "subscription_relation"), ["self", "spouse"]);
    assert_eq!(each(&all["subscribers"], "name"), ["Ada Maria Lübke", "Sam Sub"]);
    assert_eq!(all["fee_schedule"]["name"], json!("UCR"));
    let missing = world.get("/insurance_plans/4711?subdomain=acme").fails(404).await;
    assert_eq!(missing, ["Insurance Plan with id 4711 not found"]);
}

#[actix_web::test]
async fn a_new_plan_is_written_to_the_ehr() {
    let world = world().await;
    let plan = json!({"insurance_plan": {
        "name": "Bronze", "employer_name": "Mine", "payer_id": "P3", "address": "1 Way", "address2": "Left", "city": "Troy",
        "state": "ny", "zip_code": "1", "country_code": "us", "group_num": "G3",
    }});
    let made = world.post(CREATE, plan.clone()).version("v3.1.0").answers(201).await;
    let nobody = ["patient_coverages", "subscribers", "fee_schedule"].map(|field| made["data"].get(field));
    assert_eq!(nobody, [Some(&json!([])), Some(&json!([])), Some(&Value::Null)]);
    assert_eq!((&made["description"], &made["data"]["foreign_id"]), (&Value::Null, &Value::Null));
    assert_eq!((&made["data"]["state"], &made["data"]["country_code"]), (&json!("NY"), &json!("US")));
    let written = world.wait_for_writes(Resource::InsurancePlans, 1).await;
    assert_eq!((&written[0].fields()["name"], &written[0].fields()["group_number"]), (&json!("Bronze"), &json!("G3")));
    assert_eq!(written[0].fields()["address"]["line2"], json!("Left"));
    let path = format!("/insurance_plans/{}?subdomain=acme", made["data"]["id"]);
    world.data_until(&path, |it| it["foreign_id"].is_string()).await;
    world.post(CREATE, plan).fails(404).await;
}

#[actix_web::test]
async fn a_name_too_long_is_accepted_with_a_warning() {
    let world = world().await;
    let plan = json!({"insurance_plan": {"name": "A plan whose name is far too long for it", "employer_name": "Mine"}});
    let made = world.post(CREATE, plan).version("v3.1.0").answers(201).await;
    let warning = made["description"].as_str().unwrap();
    assert!(warning.starts_with("insurance_plan.name is longer than the 32 characters"), "{warning}");
}

#[actix_web::test]
async fn missing_fields_of_a_new_plan_are_named() {
    let world = world().await;
    let plan = json!({"insurance_plan": {"name": "", "state": "New York", "country_code": "USA"}});
    let expected = [
        "insurance_plan.name must not be empty.",
        "insurance_plan.employer_name is missing.",
        "insurance_plan.state must be a code of two letters.",
        "insurance_plan.country_code must be a code of two letters.",
    ];
    assert_eq!(world.post(CREATE, plan).version("v3.1.0").fails(400).await, expected);
    let bare = json!({"name": "Bronze", "employer_name": "Mine"});
    let wrapped = world.post(CREATE, bare).version("v3.1.0").fails(400).await;
    assert_eq!(wrapped[0], "insurance_plan is missing.");
    let path = format!("/insurance_plans?subdomain=rival&location_id={RIVAL}");
    let plan = json!({"insurance_plan": {"name": "Bronze", "employer_name": "Mine"}});
    let refused = world.post(&path, plan).key(RIVAL_KEY).version("v3.1.0").fails(400).await;
    assert_eq!(refused, ["EMR does not support this operation."]);
}

use serde_json::{Value, json};

use crate::support::*;

const HERE: &str = "subdomain=acme&location_id=1";

/// Returns one field of each row of a list.
async fn rows(world: &ApiWorld, path: &str, rest: &str, field: &str) -> Vec<Value> {
    each(&world.edge(&format!("/{path}?{HERE}&{rest}")).await, field)
}

const NONE: [&str; 0] = [];
const LATE: &str = "updated_since=2190-01-01T00:00:00Z";

#[actix_web::test]
async fn codes_and_their_categories_are_listed() {
    let world = world().await;
    assert_eq!(rows(&world, "procedure_codes", "", "code").await, ["D1110", "D0120"]);
    assert_eq!(rows(&world, "procedure_codes", "", "active").await, [true, false]);
    assert_eq!(rows(&world, "procedure_codes", LATE, "code").await, NONE);
    let category = world.one_of(&format!("/procedure_code_categories?{HERE}")).await;
    assert_eq!(category["name"], json!("Preventive"));
    let codes = world.edge(&format!("/procedure_codes?{HERE}")).await;
    assert_eq!(codes[0]["category_id"], category["id"]);
    let path = format!("/procedure_code_categories/{}?{HERE}", category["id"]);
    assert_eq!(world.get(&path).version("v3.1.0").ok().await["data"]["foreign_id"], json!("preventive"));
    let missing = world.get(&format!("/procedure_code_categories/4711?{HERE}")).version("v3.1.0").fails(404).await;
    assert_eq!(missing, ["Procedure Code Category with id 4711 not found"]);
    world.get(&format!("/procedure_codes?{HERE}")).fails(404).await;
}

#[actix_web::test]
async fn procedures_are_listed_and_filtered() {
    let world = world().await;
    let ada = world.patient("ada").await;
    let codes = async |rest: &str| rows(&world, "procedures", rest, "code").await;
    assert_eq!(codes("").await, ["D1110", "D0120"]);
    assert_eq!(codes("sort=-id").await, ["D0120", "D1110"]);
    assert_eq!(codes(&format!("patient_id={ada}")).await, ["D1110"]);
    assert_eq!(codes(&format!("provider_id={BEN}")).await, ["D0120"]);
    assert_eq!(codes("appointment_id=1").await, ["D1110"]);
    assert_eq!(codes("started_after=2024-02-01").await, ["D0120"]);
    for same in ["2024-02-01T00:00:00Z", "2024-02-01T23:30:00-05:00", "2024-02-01%2009:00"] {
        assert_eq!(codes(&format!("started_after={same}")).await, ["D0120"], "{same}");
        let before = codes(&format!("started_before={same}")).await;
        assert_eq!(before, codes("started_before=2024-02-01").await, "{same}");
    }
    assert_eq!(codes("started_before=2024-03-01").await, ["D1110"]);
    assert_eq!(codes("ended_after=2024-02-01&ended_before=2024-02-03").await, ["D1110"]);
    assert_eq!(codes("ended_after=2024-02-02").await, NONE);
    assert_eq!(codes(LATE).await, NONE);
    let all = world.get("/procedures?subdomain=acme").ok().await["data"].clone();
    assert_eq!(each(&all, "status"), ["completed", "planned"]);
    assert_eq!((&all[0]["body_site"]["tooth"], &all[0]["fee"]["amount"]), (&json!(["3"]), &json!("105.00")));
    let path = format!("/procedures/{}?subdomain=acme", all[0]["id"]);
    assert_eq!(world.get(&path).ok().await["data"], all[0]);
    let missing = world.get("/procedures/4711?subdomain=acme").fails(404).await;
    assert_eq!(missing, ["Procedure with id 4711 not found"]);
    let foreign = world.get(&path.replace("acme", "rival")).key(RIVAL_KEY).fails(404).await;
    assert_eq!(foreign, [format!("Procedure with id {} not found", all[0]["id"])]);
}

#[actix_web::test]
async fn treatment_plans_are_listed_and_filtered() {
    let world = world().await;
    let all = world.get("/treatment_plans?subdomain=acme").ok().await["data"].clone();
    assert_eq!(each(&all, "status"), ["accepted", "proposed"]);
    assert_eq!((each(&all[0]["procedures"], "code"), &all[1]["procedures"]), (vec![json!("D0120")], &json!([])));
    let status = async |rest: &str| {
        each(&world.get(&format!("/treatment_plans?subdomain=acme&{rest}")).ok().await["data"], "status")
    };
    assert_eq!(status("status=proposed").await, ["proposed"]);
    assert_eq!(status(&format!("patient_id={PAT}")).await, ["accepted"]);
    assert_eq!(status(LATE).await, NONE);
    let one = world.get(&format!("/treatment_plans/{}?subdomain=acme", all[0]["id"])).ok().await;
    assert_eq!(one["data"], all[0]);
    let wrong = world.get("/treatment_plans?subdomain=acme&status=done").fails(400).await;
    assert_eq!(wrong, ["status must be one of not_applicable, proposed, accepted, rejected, completed."]);
}

#[actix_web::test]
async fn clinical_notes_are_listed_and_filtered() {
    let world = world().await;
    let notes = async |rest: &str| rows(&world, "clinical_notes", rest, "content").await;
    assert_eq!(notes("").await, ["All went well", "Later"]);
    assert_eq!(notes(&format!("patient_id={PAT}")).await, ["Later"]);
    let procedure = world.edge(&format!("/procedures?{HERE}")).await[0]["id"].clone();
    assert_eq!(notes(&format!("procedure_id={procedure}")).await, ["All went well"]);
    assert_eq!(notes("entered_after=2024-01-01T00:00:00Z").await, ["Later"]);
    assert_eq!(notes("entered_before=2024-01-05T00:00:00Z").await, ["All went well"]);
    assert_eq!(notes(LATE).await, NONE);
}

#[actix_web::test]
async fn recalls_and_their_types_are_listed() {
    let world = world().await;
    let types = world.get(&format!("/recall_types?{HERE}")).ok().await;
    assert_eq!(
        (each(&types["data"], "interval_unit"), &types["count"]),
        (vec![json!("month"), json!("year")], &json!(2))
    );
    assert_eq!(rows(&world, "recall_types", "foreign_id=yearly", "name").await, ["X-ray"]);
    assert_eq!(rows(&world, "recall_types", LATE, "name").await, NONE);
    let yearly = types["data"][1]["id"].clone();
    let one = world.get(&format!("/recall_types/{yearly}?subdomain=acme")).ok().await;
    assert_eq!(one["data"]["name"], json!("X-ray"));

    let due = async |rest: &str| rows(&world, "patient_recalls", rest, "date_due").await;
    assert_eq!(due("").await, ["2024-06-01", "2025-06-01"]);
    assert_eq!(due("sort=-id").await, ["2025-06-01", "2024-06-01"]);
    assert_eq!(due(&format!("recall_id={yearly}")).await, ["2025-06-01"]);
    assert_eq!(due(&format!("patient_id={PAT}")).await, ["2025-06-01"]);
    assert_eq!(due("foreign_id=recall%201").await, ["2024-06-01"]);
    assert_eq!(due(LATE).await, NONE);
    let all = world.edge(&format!("/patient_recalls?{HERE}")).await;
    assert_eq!(all[1]["recall_type"]["name"], json!("X-ray"));
    assert_eq!(world.get(&format!("/patient_recalls/{}?subdomain=acme", all[1]["id"])).ok().await["data"], all[1]);
    let missing = world.get("/patient_recalls/4711?subdomain=acme").fails(404).await;
    assert_eq!(missing, ["Patient Recall with id 4711 not found"]);
}

#[actix_web::test]
async fn recalls_due_after_a_time_are_those_of_later_days_at_the_location() {
    let world = world().await;
    let due = async |after: &str| rows(&world, "patient_recalls", &format!("due_after={after}"), "date_due").await;
    assert_eq!(due("2024-06-01").await, ["2025-06-01"]);
    assert_eq!(due("2024-05-31").await, ["2024-06-01", "2025-06-01"]);
    // The location is in New York.
    assert_eq!(due("2024-05-31T23:00:00-04:00").await, ["2024-06-01", "2025-06-01"]);
    assert_eq!(due("2024-06-01T03:59:59Z").await, ["2024-06-01", "2025-06-01"]);
    assert_eq!(due("2024-06-01T04:00:00Z").await, ["2025-06-01"]);
}

#[actix_web::test]
async fn conversations_are_read_only() {
    let world = world().await;
    let one = world.one_of(&format!("/conversations?{HERE}")).await;
    assert_eq!((&one["subject"], &one["messages"][0]["text"]), (&json!("Hello"), &json!("Hi")));
    assert_eq!(world.edge(&format!("/conversations?{HERE}&patient_id={PAT}")).await, json!([]));
    let send = world.post(&format!("/conversations/{}/messages?subdomain=acme", one["id"]), json!({"message": "Hi"}));
    assert_eq!(send.fails(403).await, ["You don't have access to perform this action."]);
}

#[actix_web::test]
async fn fees_need_the_grant_wherever_they_are_shown() {
    let world = world().await;
    fn fees(value: &Value, found: &mut Vec<Value>) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                if ["fee", "annual_max_individual"].contains(&name.as_str()) && !value.is_null() {
                    found.push(value.clone());
                }
                fees(value, found);
            }),
            Value::Array(values) => values.iter().for_each(|value| fees(value, found)),
            _ => {}
        }
    }
    let since = "/changes?subdomain=acme&location_id=1";
    let cursor = world.get(since).ok().await["page_info"]["end_cursor"].as_str().unwrap().to_owned();
    world.sync(MAIN).await;
    let patients = world.get("/patients?subdomain=acme&location_id=1&per_page=100").ok().await;
    let mut paths: Vec<String> =
        ["/procedures?subdomain=acme", "/procedures/1?subdomain=acme", "/treatment_plans?subdomain=acme"]
            .map(str::to_owned)
            .into();
    paths.push(format!("{since}&since={cursor}"));
    paths.extend((1..=12).map(|id| format!("/appointments/{id}?subdomain=acme&include[]=procedures")));
    paths.extend(each(&patients["data"], "id").iter().map(|id| {
        format!("/patients/{id}?subdomain=acme&include[]=insurance_coverages&include[]=procedures&include[]=charges")
    }));
    let mut granted = 0;
    for path in paths {
        let (mut with, mut without) = (Vec::new(), Vec::new());
        fees(&world.get(&path).ok().await, &mut with);
        fees(&world.get(&path).key(MAIN_KEY).ok().await, &mut without);
        granted += with.len();
        assert_eq!(without, Vec::<Value>::new(), "{path}");
    }
    assert!(granted > 1, "the same paths show amounts to those who may see them");
}

//! Only the simulated EHR of a sandbox accepts commands.

use serde_json::json;

use crate::support::*;

#[actix_web::test]
async fn a_real_ehr_accepts_no_commands() {
    let world = world().await;
    let real = "The location's health record system is not a simulated one: its behaviour cannot be controlled.";
    for (location, why) in [(MAIN, real), (BARE, "The location has no health record system.")] {
        let path = format!("/locations/{location}/simulated_ehr");
        assert_eq!(world.get(&path).fails(422).await, [why]);
        assert_eq!(world.post(&path, json!({"behave": {}})).fails(422).await, [why]);
    }
    world.get("/locations/5/simulated_ehr").fails(404).await;
}

#[actix_web::test]
async fn a_practice_in_production_has_no_simulated_ehr() {
    let world = world().await;
    let ask = || world.post("/locations/6/simulated_ehr", json!({"behave": {}}));
    for ask in [ask().key(REAL_KEY), ask().operator(ADMIN)] {
        assert_eq!(ask.fails(422).await, ["Only practices of the sandbox have simulated health record systems."]);
    }
}

//! The assumed capabilities of a server.

use adapter_sdk::Fault;
use fhir_adapter::{capability::Offer, settings::Settings};
use serde_json::{Value, json};

use crate::parts::host;

fn offer(statement: Option<Value>, resources: Option<&str>) -> Result<Offer, Fault> {
    let host = resources.into_iter().fold(host(), |host, list| host.config("resources", list));
    host.run(|| Offer::from_statement(statement, &Settings::read().unwrap()))
}

#[test]
fn capabilities_are_those_of_the_statement_within_the_setting() {
    let statement = json!({"resourceType": "CapabilityStatement", "rest": [
        {"mode": "client", "resource": [{"type": "Claim"}]},
        {"mode": "server", "resource": [
            {"type": "Patient", "interaction": [{"code": "read"}, {"code": "search-type"}, {"code": "create"}]},
            {"type": "Flag"}]}]});
    let stated = offer(Some(statement.clone()), None).unwrap();
    assert!(stated.reads("Patient") && stated.creates("Patient") && !stated.updates("Patient"));
    assert!(stated.updates("Flag") && !stated.reads("Claim") && !stated.reads("Slot"));
    let narrowed = offer(Some(statement), Some("Patient, Slot")).unwrap();
    assert!(narrowed.reads("Patient") && !narrowed.updates("Flag") && !narrowed.reads("Slot"));
}

#[test]
fn without_a_statement_the_setting_determines_the_capabilities() {
    let core = offer(None, None).unwrap();
    assert!(core.updates("Appointment") && !core.reads("Flag"));
    let named = offer(None, Some("Patient,Flag")).unwrap();
    assert!(named.creates("Flag") && !named.reads("Appointment"));
    for other in [json!({}), json!([]), json!({"resourceType": "CapabilityStatement", "rest": 5})] {
        assert!(matches!(offer(Some(other), None), Err(Fault::RetryLater(_))));
    }
}

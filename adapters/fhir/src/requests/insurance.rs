//! New insurance plans and coverages.

use adapter_sdk::records::{self, InsuranceType, Relation};
use serde_json::{Value, json};

use super::{
    address, concept, given, key_identifier,
    patient::{IDENTIFIER_TYPES, extension},
    reference,
};
use crate::{
    map::insurance::{CLASSES, PAYER, RELATIONS, RELATIONSHIPS},
    settings::{Plans, Settings},
};

const SUBSCRIBER_RELATIONSHIPS: &str = "http://terminology.hl7.org/CodeSystem/subscriber-relationship";
const ORGANIZATIONS: &str = "http://terminology.hl7.org/CodeSystem/organization-type";

pub fn plan(settings: &Settings, write_key: &str, plan: &records::InsurancePlan) -> Value {
    let payer = plan.payer_id.as_ref().map(|id| match &settings.payer_system {
        Some(system) => json!({"system": system, "value": id}),
        None => json!({"type": concept(Some(IDENTIFIER_TYPES), PAYER, None), "value": id}),
    });
    let identifier = json!([key_identifier(settings, write_key), payer]);
    let mut place = plan.address.as_ref().map(address);
    let mut resource = given(match settings.plans {
        Plans::Organizations => {
            if let Some(place) = &mut place {
                place["use"] = "work".into();
            }
            json!({
                "resourceType": "Organization",
                "active": true,
                "type": [concept(Some(ORGANIZATIONS), &settings.plan_type, None)],
                "identifier": identifier,
                "name": plan.name,
                "address": [place],
            })
        }
        Plans::InsurancePlans => json!({
            "resourceType": "InsurancePlan",
            "status": "active",
            "identifier": identifier,
            "name": plan.name,
            "contact": [{"address": place}],
        }),
    });
    let money = plan.annual_max_individual.as_ref().and_then(super::money::money);
    for (field, kind, value) in [
        ("group-number", "valueString", json!(plan.group_number)),
        ("employer-name", "valueString", json!(plan.employer_name)),
        ("annual-max-individual", "valueMoney", json!(money)),
        ("benefit-year-renewal-month", "valueInteger", json!(plan.benefit_year_renewal_month)),
    ] {
        extension(&mut resource, "insurance-plan", field, kind, value);
    }
    resource
}

pub fn coverage(settings: &Settings, write_key: &str, c: &records::Coverage) -> Value {
    let person = contained(c);
    let subscriber = match (&c.subscriber, &person) {
        (Some(id), _) => reference("Patient", id),
        (None, Some(_)) => json!({"reference": "#subscriber"}),
        (None, None) if c.relation == Relation::Oneself => reference("Patient", &c.patient),
        (None, None) => Value::Null,
    };
    let (payor, class) = match settings.plans {
        Plans::Organizations => (reference("Organization", &c.plan), Value::Null),
        Plans::InsurancePlans => {
            (json!({"display": "see class"}), json!([{"type": concept(Some(CLASSES), "plan", None), "value": c.plan}]))
        }
    };
    given(json!({
        "resourceType": "Coverage",
        "contained": [person],
        "identifier": [key_identifier(settings, write_key)],
        "status": if c.active { "active" } else { "cancelled" },
        "type": {"text": c.insurance_type.as_ref().map(InsuranceType::word)},
        "subscriber": subscriber,
        "subscriberId": c.subscriber_number,
        "beneficiary": reference("Patient", &c.patient),
        "relationship": relationship(c.relation),
        "period": {"start": c.effective_date, "end": c.expiration_date},
        "payor": [payor],
        "class": class,
        "order": c.priority,
    }))
}

/// Returns a non-patient subscriber, as a contained resource.
fn contained(c: &records::Coverage) -> Option<Value> {
    let has_details = c.subscriber.is_none() && (c.subscriber_name.is_some() || c.subscriber_date_of_birth.is_some());
    has_details.then(|| {
        json!({
            "resourceType": "RelatedPerson",
            "id": "subscriber",
            "patient": reference("Patient", &c.patient),
            "name": [{"text": c.subscriber_name}],
            "birthDate": c.subscriber_date_of_birth,
        })
    })
}

/// Returns the relation in the standard's codes, with our own code if the standard's is too coarse.
fn relationship(relation: Relation) -> Value {
    let standard = RELATIONSHIPS.word(relation);
    let ours = standard.is_none() && relation != Relation::Other;
    let ours = ours.then(|| json!({"system": RELATIONS, "code": relation.word()}));
    json!({"coding": [{"system": SUBSCRIBER_RELATIONSHIPS, "code": standard.unwrap_or("other")}, ours]})
}

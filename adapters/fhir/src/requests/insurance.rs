//! New insurance plans and coverages.

use adapter_sdk::records::{self, Relation};
use serde_json::{Value, json};

use super::{address, key_identifier, list, object, optional, patient::extension};
use crate::{
    map::insurance::{CLASSES, PAYER, RELATIONS},
    settings::{Plans, Settings},
};

const RELATIONSHIPS: &str = "http://terminology.hl7.org/CodeSystem/subscriber-relationship";
const ORGANIZATIONS: &str = "http://terminology.hl7.org/CodeSystem/organization-type";

pub fn plan(settings: &Settings, write_key: &str, plan: &records::InsurancePlan) -> Value {
    let payer = plan.payer_id.as_ref().map(|id| match &settings.payer_system {
        Some(system) => json!({"system": system, "value": id}),
        None => {
            json!({"type": {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/v2-0203", "code": PAYER}]},
            "value": id})
        }
    });
    let identifier = list([Some(key_identifier(settings, write_key, false)), payer]);
    let place = plan.address.as_ref().map(address);
    let mut resource = match settings.plans {
        Plans::Organizations => object([
            ("resourceType", "Organization".into()),
            ("active", true.into()),
            ("type", json!([{"coding": [{"system": ORGANIZATIONS, "code": settings.plan_type}]}])),
            ("identifier", identifier),
            ("name", plan.name.as_str().into()),
            (
                "address",
                list([place.map(|mut place| {
                    place["use"] = "work".into();
                    place
                })]),
            ),
        ]),
        Plans::InsurancePlans => object([
            ("resourceType", "InsurancePlan".into()),
            ("status", "active".into()),
            ("identifier", identifier),
            ("name", plan.name.as_str().into()),
            ("contact", list([place.map(|place| json!({"address": place}))])),
        ]),
    };
    let mut more = |field, kind, value| extension(&mut resource, "insurance-plan", field, kind, value);
    if let Some(group) = &plan.group_number {
        more("group-number", "valueString", Some(group.as_str().into()));
    }
    if let Some(employer) = &plan.employer_name {
        more("employer-name", "valueString", Some(employer.as_str().into()));
    }
    if let Some(money) = &plan.annual_max_individual {
        more("annual-max-individual", "valueMoney", super::money::money(money));
    }
    if let Some(month) = plan.benefit_year_renewal_month {
        more("benefit-year-renewal-month", "valueInteger", Some(month.into()));
    }
    resource
}

pub fn coverage(settings: &Settings, write_key: &str, c: &records::Coverage) -> Value {
    let person = contained(c);
    let subscriber = match (&c.subscriber, &person) {
        (Some(id), _) => json!({"reference": format!("Patient/{id}")}),
        (None, Some(_)) => json!({"reference": "#subscriber"}),
        (None, None) if c.relation == Relation::Oneself => json!({"reference": format!("Patient/{}", c.patient)}),
        (None, None) => Value::Null,
    };
    let (payor, class) = match settings.plans {
        Plans::Organizations => (json!([{"reference": format!("Organization/{}", c.plan)}]), Value::Null),
        Plans::InsurancePlans => (
            json!([{"display": "see class"}]),
            json!([{"type": {"coding": [{"system": CLASSES, "code": "plan"}]}, "value": c.plan}]),
        ),
    };
    object([
        ("resourceType", "Coverage".into()),
        ("contained", list([person])),
        ("identifier", json!([key_identifier(settings, write_key, false)])),
        ("status", if c.active { "active" } else { "cancelled" }.into()),
        ("type", c.insurance_type.as_ref().map_or(Value::Null, |kind| json!({"text": kind.word()}))),
        ("subscriber", subscriber),
        ("subscriberId", optional(&c.subscriber_number)),
        ("beneficiary", json!({"reference": format!("Patient/{}", c.patient)})),
        ("relationship", relationship(c.relation)),
        ("period", period(&c.effective_date, &c.expiration_date)),
        ("payor", payor),
        ("class", class),
        ("order", c.priority.map_or(Value::Null, Value::from)),
    ])
}

/// A subscriber who is no patient.
fn contained(c: &records::Coverage) -> Option<Value> {
    if c.subscriber.is_some() || (c.subscriber_name.is_none() && c.subscriber_date_of_birth.is_none()) {
        return None;
    }
    let name = c.subscriber_name.as_ref().map(|text| json!({"text": text}));
    Some(object([
        ("resourceType", "RelatedPerson".into()),
        ("id", "subscriber".into()),
        ("patient", json!({"reference": format!("Patient/{}", c.patient)})),
        ("name", list([name])),
        ("birthDate", optional(&c.subscriber_date_of_birth)),
    ]))
}

/// In the standard's words, and where those are too few in ours too.
fn relationship(relation: Relation) -> Value {
    let word = relation.word();
    let standard = match relation {
        Relation::Oneself | Relation::Spouse | Relation::Child => word,
        Relation::LifePartner => "common",
        Relation::InjuredPlaintiff => "injured",
        _ => "other",
    };
    let ours = (standard == "other" && relation != Relation::Other).then(|| json!({"system": RELATIONS, "code": word}));
    json!({"coding": list([Some(json!({"system": RELATIONSHIPS, "code": standard})), ours])})
}

fn period(start: &Option<String>, end: &Option<String>) -> Value {
    match (start, end) {
        (None, None) => Value::Null,
        _ => object([("start", optional(start)), ("end", optional(end))]),
    }
}

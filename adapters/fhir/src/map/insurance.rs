//! Insurance plans, as payer organisations or InsurancePlan resources, and coverages.

use adapter_sdk::{
    Record, limits,
    records::{self, InsuranceType, Relation},
    vocabulary::Vocabulary,
};
use serde_json::Value;

use super::{Unmapped, address, amount, extensions, has_code, identifier, main_address, patient_of, read};
use crate::{
    responses::{
        CodeableConcept, Extension, Identifier, Reference,
        filed::{Coverage, InsurancePlan, Organization},
    },
    settings::{Plans, Settings},
    time::date,
};

/// Type of payers' identifiers if no system is configured.
pub const PAYER: &str = "NIIP";
/// System of our own codes for the relation, which are finer than the standard's.
pub const RELATIONS: &str = "urn:practice-sync:relation";
/// The standard's codes.
pub const RELATIONSHIPS: Vocabulary<Relation> = Vocabulary(&[
    ("self", Relation::Oneself),
    ("spouse", Relation::Spouse),
    ("child", Relation::Child),
    ("common", Relation::LifePartner),
    ("injured", Relation::InjuredPlaintiff),
]);
pub const CLASSES: &str = "http://terminology.hl7.org/CodeSystem/coverage-class";

pub fn organization(resource: Value, settings: &Settings) -> Result<Record, Unmapped> {
    let o: Organization = read(resource)?;
    Ok(plan(
        o.id,
        o.name,
        &o.identifier,
        main_address(&o.address).map(|at| address(&o.address[at])),
        &o.extension,
        settings,
    ))
}

pub fn is_of_type(organization: &Value, code: &str) -> bool {
    let concepts = organization["type"].as_array().into_iter().flatten();
    let mut codings = concepts.filter_map(|concept| concept["coding"].as_array()).flatten();
    codings.any(|coding| coding["code"] == code)
}

pub fn insurance_plan(resource: Value, settings: &Settings) -> Result<Record, Unmapped> {
    let p: InsurancePlan = read(resource)?;
    let payer = p.contact.iter().find_map(|contact| contact.address.as_ref()).map(address);
    Ok(plan(p.id, p.name, &p.identifier, payer, &p.extension, settings))
}

fn plan(
    id: String,
    name: Option<String>,
    identifiers: &[Identifier],
    address: Option<records::Address>,
    beyond: &[Extension],
    settings: &Settings,
) -> Record {
    let is_payer = |i: &Identifier| match &settings.payer_system {
        Some(system) => i.system.as_ref() == Some(system),
        None => has_code(i, PAYER),
    };
    let more = extensions("insurance-plan", beyond);
    let max = more.get("annual-max-individual").and_then(|e| e.value_money.as_ref());
    Record::InsurancePlan(records::InsurancePlan {
        name: name.unwrap_or_else(|| id.clone()),
        payer_id: identifier(identifiers, is_payer).and_then(|at| identifiers[at].value.clone()),
        address,
        group_number: more.text("group-number"),
        employer_name: more.text("employer-name"),
        annual_max_individual: max.and_then(|money| amount(money, settings)),
        benefit_year_renewal_month: more
            .get("benefit-year-renewal-month")
            .and_then(|e| u8::try_from(e.value_integer?).ok())
            .filter(|month| (1..=12).contains(month)),
        id,
        ..records::InsurancePlan::default()
    })
}

pub fn coverage(resource: Value, settings: &Settings) -> Result<Record, Unmapped> {
    let c: Coverage = read(resource)?;
    let status = c.status.as_deref().unwrap_or_default();
    if status == "entered-in-error" {
        return Err(Unmapped::by_status(status));
    }
    let day = |text: &Option<String>| text.as_deref().and_then(date);
    let (subscriber_name, subscriber_date_of_birth) = contained_person(&c);
    Ok(Record::Coverage(records::Coverage {
        patient: patient_of(&c.beneficiary)?,
        plan: plan_of(&c, settings).ok_or("it names no plan")?,
        relation: relation(&c.relationship),
        priority: c.order.filter(|order| (1..=1_000).contains(order)),
        subscriber: c.subscriber.id_of("Patient"),
        subscriber_name,
        subscriber_date_of_birth,
        subscriber_number: c.subscriber_id.clone(),
        effective_date: day(&c.period.start),
        expiration_date: day(&c.period.end),
        insurance_type: insurance_type(&c.kind),
        active: status == "active",
        extra: Vec::new(),
        id: c.id,
    }))
}

fn plan_of(c: &Coverage, settings: &Settings) -> Option<String> {
    match settings.plans {
        Plans::Organizations => c.payor.iter().find_map(|payor| payor.id_of("Organization")),
        Plans::InsurancePlans => {
            let is_plan = |kind: &CodeableConcept| kind.coding.iter().any(|c| c.code.as_deref() == Some("plan"));
            c.class
                .iter()
                .find(|class| is_plan(&class.kind))
                .and_then(|class| class.value.clone())
                .filter(|id| limits::is_id(id))
        }
    }
}

/// A non-patient subscriber is contained in the coverage.
fn contained_person(c: &Coverage) -> (Option<String>, Option<String>) {
    let Reference { reference: Some(reference) } = &c.subscriber else { return (None, None) };
    let Some(id) = reference.strip_prefix('#') else { return (None, None) };
    let person = c.contained.iter().find(|resource| resource["id"] == id).unwrap_or(&Value::Null);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    (text(&person["name"][0]["text"]), person["birthDate"].as_str().and_then(date))
}

/// Returns the relation, from our own code or else from the standard's.
fn relation(concept: &CodeableConcept) -> Relation {
    let code = |ours: bool| {
        let of = concept.coding.iter().find(|c| (c.system.as_deref() == Some(RELATIONS)) == ours);
        of.and_then(|c| c.code.as_deref())
    };
    if let Some(word) = code(true).and_then(Relation::from_word) {
        return word;
    }
    code(false).map_or(Relation::Oneself, |word| RELATIONSHIPS.meaning(word).unwrap_or(Relation::Other))
}

fn insurance_type(kind: &CodeableConcept) -> Option<InsuranceType> {
    let codes = kind.coding.iter().flat_map(|c| [c.code.as_deref(), c.display.as_deref()]);
    let words = codes.flatten().chain(kind.text.as_deref()).map(str::to_lowercase).collect::<Vec<_>>();
    let says = |part: &str| words.iter().any(|word| word.contains(part));
    match () {
        () if says("dent") => Some(InsuranceType::Dental),
        () if says("vis") => Some(InsuranceType::Vision),
        () if says("medic") || says("ehcpol") || says("hip") => Some(InsuranceType::Medical),
        () => None,
    }
}

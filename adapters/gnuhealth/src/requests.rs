//! The EHR's calls: searches with their domains, and the bodies of writes; those of patients in a submodule.

pub mod patient;

use adapter_sdk::{
    Fault,
    notes::Note,
    records::{
        Address, Appointment, CommunicationLog, Coverage, HistoryCategory, InsurancePlan, InsuranceType,
        PatientHistoryItem, Payment, Relation,
    },
    time::instant_text,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    conventions::{EMPLOYER, GROUP, KEY, NOTES, PAYER},
    responses::{self, Invoice},
    settings::Settings,
    values::{Date, DateTime, Decimal},
};

/// Maximum duration of an appointment in seconds, to find those that began earlier and are not over.
const LONGEST_SECONDS: i64 = 86_400;
/// States of appointments that occupy time, and of free ones.
const STANDING: [&str; 4] = ["confirmed", "checked_in", "done", "free"];

#[derive(Clone, Debug, PartialEq)]
pub struct RpcCall {
    pub method: String,
    pub params: Value,
}

/// A search for rows of a model, ordered by id.
#[derive(Clone, Debug)]
pub struct Search {
    pub model: &'static str,
    pub domain: Value,
    pub limit: u32,
}

impl Search {
    pub fn call(&self, fields: &impl Serialize) -> RpcCall {
        let params = json!([self.domain, 0, self.limit, [["id", "ASC"]], fields, context()]);
        call(self.model, "search_read", params)
    }

    pub fn count(&self) -> RpcCall {
        call(self.model, "search_count", json!([self.domain, context()]))
    }
}

/// Includes inactive records; messages are in English, which `faults` parses.
fn context() -> Value {
    json!({"active_test": false, "language": "en"})
}

fn call(model: &str, method: &str, params: Value) -> RpcCall {
    RpcCall { method: format!("model.{model}.{method}"), params }
}

pub fn create(model: &str, values: &Value) -> RpcCall {
    call(model, "create", json!([[values], context()]))
}

/// Writes a record. `timestamp`: fails if the record has changed since then.
pub fn write(model: &str, id: i64, timestamp: Option<&str>, values: &Value) -> RpcCall {
    let mut context = context();
    if let Some(timestamp) = timestamp {
        context["_timestamp"] = json!({format!("{model},{id}"): timestamp});
    }
    call(model, "write", json!([[id], values, context]))
}

pub fn delete(model: &str, ids: &[i64]) -> RpcCall {
    call(model, "delete", json!([ids, context()]))
}

/// Searches for those of the models that exist.
pub fn models(names: &[&str]) -> RpcCall {
    call("ir.model", "search_read", json!([[["model", "in", names]], 0, null, null, ["model"], context()]))
}

/// Reads the login's rights on the models.
pub fn access(names: &[&str]) -> RpcCall {
    call("ir.model.access", "get_access", json!([names, context()]))
}

/// Returns the domain of a page: rows after an id and, in a delta, those with a change in one of the watched records.
/// The `write_date` of a record is empty until its first change.
pub fn page(mut domain: Vec<Value>, watched: &[&str], since: Option<i64>, after: u64) -> Value {
    domain.push(json!(["id", ">", after]));
    if let Some(since) = since {
        let at = DateTime::at(since);
        let dates = watched
            .iter()
            .flat_map(|prefix| ["write_date", "create_date"].map(|date| json!([format!("{prefix}{date}"), ">=", at])));
        domain.push(Value::Array(std::iter::once(json!("OR")).chain(dates).collect()));
    }
    Value::Array(domain)
}

pub fn patients_of(parties: &[i64]) -> Search {
    let limit = u32::try_from(parties.len()).unwrap_or(u32::MAX);
    Search { model: "gnuhealth.patient", domain: json!([["party", "in", parties]]), limit }
}

pub fn by_id(model: &'static str, id: i64) -> Search {
    Search { model, domain: json!([["id", "=", id]]), limit: 1 }
}

/// Returns the condition that a text has this write key in its footer.
fn carries(field: &str, key: &str) -> Value {
    let [alone, followed] = NOTES.searches(key).map(|text| json!([field, "like", format!("%{text}%")]));
    json!(["OR", alone, followed])
}

/// Searches for the records with this write key in their text.
pub fn by_key(model: &'static str, field: &str, key: &str) -> Search {
    Search { model, domain: json!([carries(field, key)]), limit: 100 }
}

/// Searches for the record of a person or company with this write key.
pub fn by_identifier(model: &'static str, path: &str, key: &str) -> Search {
    Search { model, domain: json!([[format!("{path}alternative_ids.code"), "=", key]]), limit: 2 }
}

/// Searches for the record with our write key or this id, and for appointments near the wanted time.
pub fn around(wanted: Value, a: &Appointment) -> Search {
    let domain = match number(&a.provider) {
        Some(provider) => json!([
            "OR",
            wanted,
            [
                ["healthprof", "=", provider],
                ["state", "in", STANDING],
                ["appointment_date", "<", DateTime::at(a.end)],
                ["appointment_date", ">", DateTime::at(a.start - LONGEST_SECONDS)],
            ]
        ]),
        None => json!([wanted]),
    };
    Search { model: responses::APPOINTMENT, domain, limit: 1_000 }
}

pub fn with_key(key: &str) -> Value {
    carries("comments", key)
}

pub fn with_id(id: i64) -> Value {
    json!(["id", "=", id])
}

/// Searches for a free appointment of a provider at exactly this time.
pub fn free_place(provider: i64, start: i64, end: i64) -> Search {
    let domain = json!([
        ["healthprof", "=", provider],
        ["state", "=", "free"],
        ["appointment_date", "=", DateTime::at(start)],
        ["appointment_date_end", "=", DateTime::at(end)]
    ]);
    Search { model: responses::APPOINTMENT, domain, limit: 1 }
}

pub fn new_free_place(institution: Option<i64>, provider: i64, start: i64, end: i64) -> Value {
    json!({"state": "free", "patient": null, "healthprof": provider, "institution": institution, "comments": null,
        "appointment_date": DateTime::at(start), "appointment_date_end": DateTime::at(end)})
}

/// Builds a new appointment. The server requires `state`, `healthprof` and `comments` to be present.
pub fn appointment(settings: &Settings, key: &str, a: &Appointment, in_free_place: bool) -> Result<Value, Fault> {
    let known = a.appointment_type.as_ref().and_then(|id| settings.types().iter().find(|kind| kind.id == *id));
    if a.appointment_type.is_some() && known.is_none() {
        return Err(Fault::rejected("the location has no such appointment type"));
    }
    let kind = known.map_or("outpatient", |kind| kind.kind.as_str());
    let comments = Note::new(a.note.as_deref(), key)
        .with("type", known.map(|kind| kind.id.as_str()).filter(|id| *id != kind))
        .with("slot", in_free_place.then_some("yes"))
        .with("patient-confirmed", a.patient_confirmed.then_some("yes"));
    Ok(json!({
        "patient": required(&a.patient, "a patient")?, "healthprof": number(&a.provider),
        "institution": settings.institution(), "state": "confirmed", "urgency": "a", "appointment_type": kind,
        "appointment_date": DateTime::at(a.start), "appointment_date_end": DateTime::at(a.end),
        "comments": NOTES.written(&comments),
    }))
}

/// Database ids of codes in an address and a patient.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub country: Option<i64>,
    pub subdivision: Option<i64>,
    pub language: Option<i64>,
}

fn address(address: &Address, place: &Place) -> Value {
    json!({"street": address.street("\n"), "city": address.city, "postal_code": address.postal_code,
        "country": place.country, "subdivision": place.subdivision})
}

pub fn country(code: &str) -> Search {
    let domain = json!([["code", "=", code.to_uppercase()]]);
    Search { model: "country.country", domain, limit: 1 }
}

/// Searches for a state by its name or by its code, which the EHR prefixes with the country: `US-NY`.
pub fn subdivision(country: i64, code: &str, region: &str) -> Search {
    let full = format!("{}-{}", code.to_uppercase(), region.to_uppercase());
    let domain = json!([["country", "=", country], ["OR", ["name", "=", region], ["code", "=", full]]]);
    Search { model: "country.subdivision", domain, limit: 1 }
}

pub fn language(code: &str) -> Search {
    Search { model: "ir.lang", domain: json!([["code", "=", code]]), limit: 1 }
}

fn identifier(code: &str, what: &str) -> Value {
    json!({"code": code, "alternative_id_type": "other", "comments": what})
}

/// Builds a payer, which is a party, together with its address.
pub fn insurer(key: &str, plan: &InsurancePlan, place: &Place) -> Value {
    let numbers = [(PAYER, &plan.payer_id), (GROUP, &plan.group_number), (EMPLOYER, &plan.employer_name)];
    let numbers = numbers.into_iter().filter_map(|(what, number)| Some(identifier(number.as_deref()?, what)));
    let identifiers: Vec<Value> = std::iter::once(identifier(key, KEY)).chain(numbers).collect();
    let mut values = json!({
        "name": plan.name, "is_insurance_company": true, "is_person": false, "fed_country": null,
        "alternative_ids": [["create", identifiers]],
    });
    if let Some(address) = &plan.address {
        values["addresses"] = json!([["create", [self::address(address, place)]]]);
    }
    values
}

/// Builds an insurance. Values without a field are stored in the notes, from which they are read.
pub fn insurance(key: &str, c: &Coverage, party: i64, company: i64, plan: Option<i64>) -> Result<Value, Fault> {
    let number = c.subscriber_number.as_deref().filter(|number| !number.is_empty());
    let number = number.ok_or_else(|| Fault::rejected("the EHR needs the number of the subscriber"))?;
    let notes = Note::new(None, key)
        .with("relation", Some(c.relation.word()).filter(|_| c.relation != Relation::Oneself))
        .with("priority", c.priority.map(|priority| priority.to_string()).as_deref())
        .with("subscriber", c.subscriber.as_deref())
        .with("subscriber-name", c.subscriber_name.as_deref())
        .with("subscriber-born", c.subscriber_date_of_birth.as_deref())
        .with("type", c.insurance_type.as_ref().map(InsuranceType::word));
    Ok(json!({
        "party": party, "company": company, "plan_id": plan, "number": number, "insurance_type": "private",
        "member_since": c.effective_date.as_deref().and_then(Date::parse),
        "member_exp": c.expiration_date.as_deref().and_then(Date::parse), "notes": NOTES.written(&notes),
    }))
}

/// Builds a new entry of a patient's history about an item of its catalogue.
pub fn new_history(item: &PatientHistoryItem, entry: i64, note: &Note) -> Result<Value, Fault> {
    let (patient, text) = (existing(&item.patient, "patient")?, NOTES.written(note));
    let mut values = object(match item.category {
        HistoryCategory::Medications => json!({"patient": patient, "medicament": entry, "notes": text}),
        category => {
            let allergy = category == HistoryCategory::Allergies;
            json!({"patient": patient, "pathology": entry, "is_allergy": allergy, "extra_info": text})
        }
    });
    values.extend(state(item));
    Ok(Value::Object(values))
}

/// Builds a change of an entry. `active`: its current state, which is written only if it changes, because staff may
/// have recorded why it ended.
pub fn changed_history(item: &PatientHistoryItem, active: bool, field: &str, note: &Note) -> Value {
    let mut values = Map::from_iter([(field.to_owned(), NOTES.written(note).into())]);
    if item.active != active {
        values.extend(state(item));
    }
    Value::Object(values)
}

/// A medication stopped without a reason counts as completed, because the EHR requires a reason to discontinue.
fn state(item: &PatientHistoryItem) -> Map<String, Value> {
    object(match item.category {
        HistoryCategory::Medications => {
            json!({"is_active": item.active, "course_completed": !item.active, "discontinued": false})
        }
        _ => json!({"is_active": item.active}),
    })
}

pub fn note(key: &str, log: &CommunicationLog) -> Result<Value, Fault> {
    let text = Note::new(Some(&log.note), key)
        .with("mode", Some(log.mode.word()))
        .with("direction", Some(log.direction.word()))
        .with("at", Some(&instant_text(log.occurred_at)));
    let resource = format!("gnuhealth.patient,{}", existing(&log.patient, "patient")?);
    Ok(json!({"resource": resource, "message": NOTES.written(&text)}))
}

/// Searches for a party's open invoices, oldest first.
pub fn open_invoices(party: i64) -> Search {
    let domain = json!([["type", "=", "out"], ["state", "=", "posted"], ["party", "=", party]]);
    Search { model: "account.invoice", domain, limit: 100 }
}

pub fn payments_by_key(key: &str) -> Search {
    let domain = json!([carries("move.description", key), ["invoice_payment", "!=", null]]);
    Search { model: "account.move.line", domain, limit: 100 }
}

pub fn start_of_payment(invoice: &Invoice) -> RpcCall {
    RpcCall { method: "wizard.account.invoice.pay.create".into(), params: json!([wizard_context(invoice)]) }
}

/// Pays in one step. `partial` permits an amount below the open one; the EHR refuses a larger one.
pub fn pay(session: i64, invoice: &Invoice, method: i64, key: &str, payment: &Payment, today: &str) -> RpcCall {
    let text = Note::new(None, key)
        .with("type", payment.payment_type.as_deref())
        .with("transaction", payment.transaction_id.as_deref());
    let description = payment
        .description
        .as_deref()
        .map(|description| format!("{} ", description.replace('\n', " ")))
        .unwrap_or_default();
    let data = json!({
        "start": {
            "payee": invoice.party, "payees": [invoice.party], "company": invoice.company, "currency": invoice.currency.id,
            "amount": Decimal::new(payment.amount.amount.clone()), "invoice_account": invoice.account,
            "payment_method": method, "date": Date::parse(payment.paid_at.as_deref().unwrap_or(today)),
            "description": format!("{description}{}", NOTES.written(&text)),
        },
        "ask": {"type": "partial"},
    });
    RpcCall {
        method: "wizard.account.invoice.pay.execute".into(),
        params: json!([session, data, "pay", wizard_context(invoice)]),
    }
}

pub fn end_of_payment(session: i64, invoice: &Invoice) -> RpcCall {
    RpcCall { method: "wizard.account.invoice.pay.delete".into(), params: json!([session, wizard_context(invoice)]) }
}

fn wizard_context(invoice: &Invoice) -> Value {
    let mut context = context();
    context["company"] = invoice.company.into();
    context["active_model"] = "account.invoice".into();
    context["active_id"] = invoice.id.into();
    context["active_ids"] = json!([invoice.id]);
    context
}

/// Parses a foreign id as a database id.
pub fn number(id: &Option<String>) -> Option<i64> {
    id.as_deref()?.parse().ok()
}

/// Parses the database id of a record that should exist.
pub fn existing(id: &str, what: &str) -> Result<i64, Fault> {
    id.parse().map_err(|_| Fault::rejected(format!("the EHR has no such {what}")))
}

fn required(id: &Option<String>, what: &str) -> Result<i64, Fault> {
    number(id).ok_or_else(|| Fault::rejected(format!("the EHR needs {what}")))
}

/// Splits `gnuhealth.pathology,12`, an id of a resource with several models.
pub fn reference(id: &str) -> Option<(&str, i64)> {
    let (model, number) = id.split_once(',')?;
    Some((model, number.parse().ok()?))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

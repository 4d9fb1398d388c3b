//! Writing what is neither a patient nor an appointment: insurance, history, communication logs, payments and adjustments. Each is looked for
//! before it is written, by the key behind its note or, where a row is what it is by its contents, by those.

use adapter_sdk::{
    Fault, Receipt,
    notes::same_text,
    records::{self, HistoryCategory},
};
use serde_json::Value;

use crate::{
    chart::{self, ALLERGY, CONDITION, MEDICATION},
    client::{self, Client},
    map,
    requests::{self, object},
    responses::{Adjustment, Allergy, Carrier, Commlog, Disease, InsPlan, InsSub, MedicationPat, PatPlan, Payment},
    time,
    values::{NOTES, Num},
};

type Found = Result<Option<Receipt>, Fault>;

pub fn create_commlog(client: &Client, key: &str, log: &records::CommunicationLog) -> Result<Receipt, Fault> {
    let answer = client.post("/commlogs", &requests::commlog(&client.settings, key, log))?;
    client::receipt(&answer, "CommlogNum", || find_commlog(client, key, log))
}

pub fn find_commlog(client: &Client, key: &str, log: &records::CommunicationLog) -> Found {
    let rows: Vec<Commlog> = client.all("/commlogs", &[("PatNum", log.patient.clone())])?;
    Ok(carrying(&rows, key, |row| (&row.note, row.commlog_num)))
}

pub fn create_payment(client: &Client, key: &str, payment: &records::Payment) -> Result<Receipt, Fault> {
    let answer = client.post("/payments", &requests::payment(key, payment)?)?;
    client::receipt(&answer, "PayNum", || find_payment(client, key, payment))
}

pub fn find_payment(client: &Client, key: &str, payment: &records::Payment) -> Found {
    let Some(patient) = &payment.patient else { return Ok(None) };
    let rows: Vec<Payment> = client.all("/payments", &[("PatNum", patient.clone())])?;
    Ok(carrying(&rows, key, |row| (&row.pay_note, row.pay_num)))
}

pub fn create_adjustment(client: &Client, key: &str, adjustment: &records::Adjustment) -> Result<Receipt, Fault> {
    let answer = client.post("/adjustments", &requests::adjustment(key, adjustment, &time::today())?)?;
    client::receipt(&answer, "AdjNum", || find_adjustment(client, key, adjustment))
}

pub fn find_adjustment(client: &Client, key: &str, adjustment: &records::Adjustment) -> Found {
    let Some(patient) = &adjustment.patient else { return Ok(None) };
    let rows: Vec<Adjustment> = client.all("/adjustments", &[("PatNum", patient.clone())])?;
    Ok(carrying(&rows, key, |row| (&row.adj_note, row.adj_num)))
}

/// A plan belongs to a carrier, which is made where there is none of that name and payer id.
pub fn create_plan(client: &Client, key: &str, plan: &records::InsurancePlan) -> Result<Receipt, Fault> {
    let carrier = match carrier_of(client, plan)? {
        Some(carrier) => carrier,
        None => {
            let answer = client.post("/carriers", &requests::carrier(plan))?;
            let made = client::made(&answer, "CarrierNum").and_then(|id| id.parse().ok()).map(Num);
            made.ok_or_else(|| Fault::unknown("Open Dental did not say which carrier it made"))?
        }
    };
    let answer = client.post("/insplans", &requests::plan(key, plan, carrier))?;
    client::receipt(&answer, "PlanNum", || plans_of(client, key, carrier))
}

pub fn find_plan(client: &Client, key: &str, plan: &records::InsurancePlan) -> Found {
    match carrier_of(client, plan)? {
        Some(carrier) => plans_of(client, key, carrier),
        None => Ok(None),
    }
}

fn plans_of(client: &Client, key: &str, carrier: Num) -> Found {
    let mut rows: Vec<InsPlan> = client.all("/insplans", &[("CarrierNum", carrier.to_string())])?;
    rows.retain(|row| row.carrier_num == carrier);
    Ok(carrying(&rows, key, |row| (&row.plan_note, row.plan_num)))
}

fn carrier_of(client: &Client, plan: &records::InsurancePlan) -> Result<Option<Num>, Fault> {
    let same = |carrier: &&Carrier| {
        carrier.carrier_name.trim().eq_ignore_ascii_case(plan.name.trim())
            && plan.payer_id.as_ref().is_none_or(|payer| carrier.elect_id.trim() == payer.trim())
    };
    Ok(client.carriers()?.values().find(same).map(|carrier| carrier.carrier_num))
}

/// A subscription to the plan, and the patient's coverage by it. Both are what they are by their contents: Open Dental itself refuses a
/// second coverage by one subscription.
pub fn create_coverage(client: &Client, c: &records::Coverage) -> Result<Receipt, Fault> {
    let (subscriber, number) = subscriber(c)?;
    let subscription = match subscription_of(client, c, &subscriber, &number)? {
        Some(subscription) => subscription,
        None => {
            let answer = client.post("/inssubs", &requests::subscription(c, &subscriber, &number))?;
            let look = || Ok(subscription_of(client, c, &subscriber, &number)?.map(|id| Receipt::of(id)));
            client::receipt(&answer, "InsSubNum", look)?.id
        }
    };
    if let Some(earlier) = covered_by(client, c, &subscription)? {
        return Ok(earlier);
    }
    let answer = client.post("/patplans", &requests::coverage(c, &subscription)?)?;
    client::receipt(&answer, "PatPlanNum", || covered_by(client, c, &subscription))
}

pub fn find_coverage(client: &Client, c: &records::Coverage) -> Found {
    let (subscriber, number) = subscriber(c)?;
    match subscription_of(client, c, &subscriber, &number)? {
        Some(subscription) => covered_by(client, c, &subscription),
        None => Ok(None),
    }
}

/// "Drop": the subscription stays, others of the family may be covered by it.
pub fn delete_coverage(client: &Client, id: &str) -> Result<Receipt, Fault> {
    client.delete("/patplans", id)?;
    Ok(Receipt::of(id))
}

/// Nobody says whose it was, so that all are looked through. Where they are too many it is not found: deleted once more it is as gone.
pub fn find_deleted_coverage(client: &Client, id: &str) -> Found {
    let rows: Option<Vec<PatPlan>> = client.up_to_limit("/patplans", &[])?;
    let gone = rows.is_some_and(|rows| rows.iter().all(|row| row.pat_plan_num.id().as_deref() != Some(id)));
    Ok(gone.then(|| Receipt::of(id)))
}

fn subscriber(c: &records::Coverage) -> Result<(String, String), Fault> {
    let own = (c.relation == records::Relation::Oneself).then(|| c.patient.clone());
    let subscriber = c.subscriber.clone().or(own);
    let subscriber = subscriber.ok_or_else(|| Fault::rejected("Open Dental needs a subscriber who is a patient"))?;
    let number = c.subscriber_number.clone().filter(|number| !number.trim().is_empty());
    Ok((subscriber, number.ok_or_else(|| Fault::rejected("Open Dental needs the number of the subscriber"))?))
}

fn subscription_of(
    client: &Client,
    c: &records::Coverage,
    subscriber: &str,
    number: &str,
) -> Result<Option<String>, Fault> {
    let query = [("PlanNum", c.plan.clone()), ("Subscriber", subscriber.to_owned())];
    let rows: Vec<InsSub> = client.all("/inssubs", &query)?;
    let found = rows.iter().find(|row| requests::is_subscription(row, c, subscriber, number));
    Ok(found.and_then(|row| row.ins_sub_num.id()))
}

fn covered_by(client: &Client, c: &records::Coverage, subscription: &str) -> Found {
    let query = [("PatNum", c.patient.clone()), ("InsSubNum", subscription.to_owned())];
    let rows: Vec<PatPlan> = client.all("/patplans", &query)?;
    let ours = |row: &&PatPlan| {
        row.pat_num.id().as_deref() == Some(&c.patient) && row.ins_sub_num.id().as_deref() == Some(subscription)
    };
    Ok(rows.iter().find(ours).map(|row| receipt(row.pat_plan_num)))
}

pub fn save_history(client: &Client, item: &records::PatientHistoryItem) -> Result<Receipt, Fault> {
    let Kind { path, field, prefix } = Kind::of(item.category);
    if item.id.is_empty() {
        let body = new_history(item)?;
        let answer = match find_history(client, item)? {
            Some(earlier) => return Ok(earlier),
            None => client.post(path, &body)?,
        };
        return match client::made(&answer, field) {
            Some(id) => Ok(Receipt::of(format!("{prefix}{id}"))),
            // Before 23 the answer to this is empty.
            None => find_history(client, item)?
                .ok_or_else(|| Fault::unknown("Open Dental did not say which record it made")),
        };
    }
    let number = number_of(&item.id, prefix)?;
    let rows = history_of(client, item)?;
    let held = rows.iter().find(|row| row.id == item.id);
    if !held.is_some_and(|row| is_so(row, item)) {
        client.put(&format!("{path}/{number}"), &changed_history(item, held.map(|row| row.active)))?;
    }
    Ok(Receipt::of(&item.id))
}

/// An entry of the same item with the same note that applies as it was to: a patient has an allergy once. What is not listed cannot be
/// told to be so: a change written once more is the same.
pub fn find_history(client: &Client, item: &records::PatientHistoryItem) -> Found {
    let rows = history_of(client, item)?;
    let same = |row: &&records::PatientHistoryItem| {
        if item.id.is_empty() { row.item == item.item } else { row.id == item.id }
    };
    let found = rows.iter().filter(same).find(|row| is_so(row, item));
    Ok(found.map(|row| Receipt::of(&row.id)))
}

fn is_so(row: &records::PatientHistoryItem, item: &records::PatientHistoryItem) -> bool {
    row.active == item.active && same_text(row.note.as_deref(), item.note.as_deref())
}

fn history_of(client: &Client, item: &records::PatientHistoryItem) -> Result<Vec<records::PatientHistoryItem>, Fault> {
    let query = [("PatNum", item.patient.clone())];
    let path = Kind::of(item.category).path;
    let rows: Vec<Result<records::PatientHistoryItem, String>> = match item.category {
        HistoryCategory::Allergies => client.all::<Allergy>(path, &query)?.iter().map(chart::of_allergy).collect(),
        HistoryCategory::Conditions => client.all::<Disease>(path, &query)?.iter().map(chart::of_disease).collect(),
        HistoryCategory::Medications => {
            client.all::<MedicationPat>(path, &query)?.iter().map(chart::of_medication).collect()
        }
    };
    Ok(rows.into_iter().flatten().collect())
}

struct Kind {
    path: &'static str,
    field: &'static str,
    prefix: &'static str,
}

impl Kind {
    fn of(category: HistoryCategory) -> Kind {
        match category {
            HistoryCategory::Allergies => Kind { path: "/allergies", field: "AllergyNum", prefix: ALLERGY },
            HistoryCategory::Conditions => Kind { path: "/diseases", field: "DiseaseNum", prefix: CONDITION },
            HistoryCategory::Medications => {
                Kind { path: "/medicationpats", field: "MedicationPatNum", prefix: MEDICATION }
            }
        }
    }
}

fn new_history(item: &records::PatientHistoryItem) -> Result<Value, Fault> {
    let def = number_of(&item.item, Kind::of(item.category).prefix)?;
    let patient = requests::number(&Some(item.patient.clone()));
    let note = item.note.as_deref().map_or(Value::Null, Value::from);
    Ok(match item.category {
        HistoryCategory::Allergies => object([
            ("PatNum", patient),
            ("AllergyDefNum", def.into()),
            ("Reaction", note),
            ("StatusIsActive", flag(item.active)),
        ]),
        HistoryCategory::Conditions => object([
            ("PatNum", patient),
            ("DiseaseDefNum", def.into()),
            ("PatNote", note),
            ("ProbStatus", problem(item.active)),
        ]),
        HistoryCategory::Medications => object([
            ("PatNum", patient),
            ("MedicationNum", def.into()),
            ("PatNote", note),
            ("DateStop", if item.active { Value::Null } else { stopped(false) }),
        ]),
    })
}

/// `held`: whether it applies there now. How it ended, and when, is staff's to say: named only where it changes.
fn changed_history(item: &records::PatientHistoryItem, held: Option<bool>) -> Value {
    let note = item.note.clone().unwrap_or_default().into();
    // A medication that applies no more may not be listed.
    let held = held.or((item.category == HistoryCategory::Medications).then_some(false));
    let state = |state: Value| if held == Some(item.active) { Value::Null } else { state };
    match item.category {
        HistoryCategory::Allergies => object([("Reaction", note), ("StatusIsActive", state(flag(item.active)))]),
        HistoryCategory::Conditions => object([("PatNote", note), ("ProbStatus", state(problem(item.active)))]),
        HistoryCategory::Medications => object([("PatNote", note), ("DateStop", state(stopped(item.active)))]),
    }
}

fn flag(active: bool) -> Value {
    if active { "true" } else { "false" }.into()
}

fn problem(active: bool) -> Value {
    if active { "Active" } else { "Inactive" }.into()
}

/// An empty date takes it back.
fn stopped(active: bool) -> Value {
    if active { "".into() } else { time::today().into() }
}

fn number_of(id: &str, prefix: &str) -> Result<u64, Fault> {
    let number = id.strip_prefix(prefix).and_then(|number| number.parse().ok());
    number.ok_or_else(|| Fault::rejected("the record is not of the category it is said to be"))
}

fn carrying<T>(rows: &[T], key: &str, of: impl Fn(&T) -> (&str, Num)) -> Option<Receipt> {
    let mut rows = rows.iter().map(of).filter(|(note, _)| NOTES.carries(note, key));
    rows.next().map(|(_, id)| receipt(id))
}

fn receipt(key: Num) -> Receipt {
    Receipt::of(map::id(key).unwrap_or_default())
}

//! Writes of other records: insurance, history, communication logs, payments and adjustments. Each write first looks
//! for an earlier one, by the key after the note or, for rows without a note, by their contents.

use adapter_sdk::{
    Fault, Receipt, clock,
    notes::same_text,
    records::{self, HistoryCategory},
};
use serde_json::{Value, json};

use crate::{
    chart::{self, ALLERGY, CONDITION, MEDICATION},
    client::{self, Client},
    requests::{self, object},
    responses::{
        Adjustment, Allergy, Carrier, Commlog, Disease, InsPlan, InsSub, MedicationPat, PatPlan, Payment, Row,
    },
    values::{NOTES, Num},
};

type FindResult = Result<Option<Receipt>, Fault>;

/// A list whose rows contain the write key in a note. `R` is the record of the write.
pub struct Noted<T: 'static, R: 'static> {
    path: &'static str,
    /// The parameter that selects the rows of one patient or carrier.
    by: &'static str,
    whose: fn(&R) -> Option<String>,
    of: fn(&T) -> (&str, Num),
}

pub const COMMLOGS: Noted<Commlog, records::CommunicationLog> = Noted {
    path: "/commlogs",
    by: "PatNum",
    whose: |log| Some(log.patient.clone()),
    of: |row| (&row.note, row.commlog_num),
};
pub const PAYMENTS: Noted<Payment, records::Payment> = Noted {
    path: "/payments",
    by: "PatNum",
    whose: |payment| payment.patient.clone(),
    of: |row| (&row.pay_note, row.pay_num),
};
pub const ADJUSTMENTS: Noted<Adjustment, records::Adjustment> = Noted {
    path: "/adjustments",
    by: "PatNum",
    whose: |adjustment| adjustment.patient.clone(),
    of: |row| (&row.adj_note, row.adj_num),
};
const PLANS: Noted<InsPlan, Num> = Noted {
    path: "/insplans",
    by: "CarrierNum",
    whose: |carrier| Some(carrier.to_string()),
    of: |row| (&row.plan_note, row.plan_num),
};

impl<T: Row, R> Noted<T, R> {
    pub fn create(&self, client: &Client, key: &str, record: &R, body: &Value) -> Result<Receipt, Fault> {
        let answer = client.post(self.path, body)?;
        client::receipt(&answer, T::KEY, || self.find(client, key, record))
    }

    pub fn find(&self, client: &Client, key: &str, record: &R) -> FindResult {
        let Some(whose) = (self.whose)(record) else { return Ok(None) };
        let rows: Vec<T> = client.all(self.path, &[(self.by, whose)])?;
        let mut rows = rows.iter().map(self.of).filter(|(note, _)| NOTES.carries(note, key));
        Ok(rows.next().map(|(_, id)| id.receipt()))
    }
}

/// Creates a plan. Its carrier is created if none has that name and payer id.
pub fn create_plan(client: &Client, key: &str, plan: &records::InsurancePlan) -> Result<Receipt, Fault> {
    let carrier = match carrier_of(client, plan)? {
        Some(carrier) => carrier,
        None => {
            let answer = client.post("/carriers", &requests::carrier(plan))?;
            let made = client::created_id(&answer, "CarrierNum").and_then(|id| id.parse().ok()).map(Num);
            made.ok_or_else(|| Fault::unknown("Open Dental did not report the created carrier"))?
        }
    };
    PLANS.create(client, key, &carrier, &requests::plan(key, plan, carrier))
}

pub fn find_plan(client: &Client, key: &str, plan: &records::InsurancePlan) -> FindResult {
    carrier_of(client, plan)?.map_or(Ok(None), |carrier| PLANS.find(client, key, &carrier))
}

fn carrier_of(client: &Client, plan: &records::InsurancePlan) -> Result<Option<Num>, Fault> {
    let same = |carrier: &&Carrier| {
        carrier.carrier_name.trim().eq_ignore_ascii_case(plan.name.trim())
            && plan.payer_id.as_ref().is_none_or(|payer| carrier.elect_id.trim() == payer.trim())
    };
    Ok(client.carriers()?.values().find(same).map(|carrier| carrier.carrier_num))
}

/// Creates a subscription to the plan, and the patient's coverage by it. Both are identified by their contents: Open
/// Dental refuses a second coverage by one subscription.
pub fn create_coverage(client: &Client, _: &str, c: &records::Coverage) -> Result<Receipt, Fault> {
    let (subscriber, number) = subscriber(c)?;
    let subscription = match subscription_of(client, c, &subscriber, &number)? {
        Some(subscription) => subscription,
        None => {
            let answer = client.post("/inssubs", &requests::subscription(c, &subscriber, &number))?;
            let look = || Ok(subscription_of(client, c, &subscriber, &number)?.map(Receipt::new));
            client::receipt(&answer, "InsSubNum", look)?.id
        }
    };
    if let Some(earlier) = covered_by(client, c, &subscription)? {
        return Ok(earlier);
    }
    let answer = client.post("/patplans", &requests::coverage(c, &subscription)?)?;
    client::receipt(&answer, "PatPlanNum", || covered_by(client, c, &subscription))
}

pub fn find_coverage(client: &Client, _: &str, c: &records::Coverage) -> FindResult {
    let (subscriber, number) = subscriber(c)?;
    match subscription_of(client, c, &subscriber, &number)? {
        Some(subscription) => covered_by(client, c, &subscription),
        None => Ok(None),
    }
}

/// Deletes a coverage ("Drop"). The subscription stays, because other family members may be covered by it.
pub fn delete_coverage(client: &Client, _: &str, id: &String) -> Result<Receipt, Fault> {
    client.delete("/patplans", id)?;
    Ok(Receipt::new(id))
}

/// Looks for a deleted coverage. The patient is unknown, so all coverages are searched. With too many rows nothing is
/// found; a repeated deletion has no effect.
pub fn find_deleted_coverage(client: &Client, _: &str, id: &String) -> FindResult {
    let rows: Option<Vec<PatPlan>> = client.walk("/patplans", &[])?;
    let gone = rows.is_some_and(|rows| rows.iter().all(|row| row.pat_plan_num.id().as_ref() != Some(id)));
    Ok(gone.then(|| Receipt::new(id)))
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

fn covered_by(client: &Client, c: &records::Coverage, subscription: &str) -> FindResult {
    let query = [("PatNum", c.patient.clone()), ("InsSubNum", subscription.to_owned())];
    let rows: Vec<PatPlan> = client.all("/patplans", &query)?;
    let ours = |row: &&PatPlan| {
        row.pat_num.id().as_deref() == Some(&c.patient) && row.ins_sub_num.id().as_deref() == Some(subscription)
    };
    Ok(rows.iter().find(ours).map(|row| row.pat_plan_num.receipt()))
}

pub fn save_history(client: &Client, key: &str, item: &records::PatientHistoryItem) -> Result<Receipt, Fault> {
    let kind = HistoryTable::for_category(item.category);
    if item.id.is_empty() {
        let body = kind.new_row(item)?;
        if let Some(earlier) = find_history(client, key, item)? {
            return Ok(earlier);
        }
        return match client::created_id(&client.post(kind.path, &body)?, kind.key) {
            Some(id) => Ok(Receipt::new(format!("{}{id}", kind.prefix))),
            // Before version 23 the body is empty.
            None => find_history(client, key, item)?
                .ok_or_else(|| Fault::unknown("Open Dental did not say which record it made")),
        };
    }
    let number = number_of(&item.id, kind.prefix)?;
    let rows = history_of(client, item)?;
    let held = rows.iter().find(|row| row.id == item.id);
    if !held.is_some_and(|row| is_applied(row, item)) {
        client.put(&format!("{}/{number}", kind.path), &kind.changed(item, held.map(|row| row.active)))?;
    }
    Ok(Receipt::new(&item.id))
}

/// Returns an entry of the same item with the same note and state; a patient has an allergy only once. An unlisted
/// entry is not found, and repeating its change has no effect.
pub fn find_history(client: &Client, _: &str, item: &records::PatientHistoryItem) -> FindResult {
    let rows = history_of(client, item)?;
    let same = |row: &&records::PatientHistoryItem| {
        if item.id.is_empty() { row.item == item.item } else { row.id == item.id }
    };
    let found = rows.iter().filter(same).find(|row| is_applied(row, item));
    Ok(found.map(|row| Receipt::new(&row.id)))
}

fn is_applied(row: &records::PatientHistoryItem, item: &records::PatientHistoryItem) -> bool {
    row.active == item.active && same_text(row.note.as_deref(), item.note.as_deref())
}

fn history_of(client: &Client, item: &records::PatientHistoryItem) -> Result<Vec<records::PatientHistoryItem>, Fault> {
    let query = [("PatNum", item.patient.clone())];
    let path = HistoryTable::for_category(item.category).path;
    let rows: Vec<Result<records::PatientHistoryItem, String>> = match item.category {
        HistoryCategory::Allergies => client.all::<Allergy>(path, &query)?.iter().map(chart::allergy_item).collect(),
        HistoryCategory::Conditions => client.all::<Disease>(path, &query)?.iter().map(chart::disease_item).collect(),
        HistoryCategory::Medications => {
            client.all::<MedicationPat>(path, &query)?.iter().map(chart::medication_item).collect()
        }
    };
    Ok(rows.into_iter().flatten().collect())
}

/// The fields of one of the three categories of a history.
struct HistoryTable {
    path: &'static str,
    /// The field with a row's id.
    key: &'static str,
    prefix: &'static str,
    /// The field with the id of the item.
    item: &'static str,
    note: &'static str,
    /// The field with the state, and its values.
    state: &'static str,
    says: fn(bool) -> String,
}

const ALLERGIES: HistoryTable = HistoryTable {
    path: "/allergies",
    key: Allergy::KEY,
    prefix: ALLERGY,
    item: "AllergyDefNum",
    note: "Reaction",
    state: "StatusIsActive",
    says: |active| active.to_string(),
};
const CONDITIONS: HistoryTable = HistoryTable {
    path: "/diseases",
    key: Disease::KEY,
    prefix: CONDITION,
    item: "DiseaseDefNum",
    note: "PatNote",
    state: "ProbStatus",
    says: |active| if active { "Active" } else { "Inactive" }.into(),
};
const MEDICATIONS: HistoryTable = HistoryTable {
    path: "/medicationpats",
    key: MedicationPat::KEY,
    prefix: MEDICATION,
    item: "MedicationNum",
    note: "PatNote",
    state: "DateStop",
    // An empty date means active.
    says: |active| if active { String::new() } else { clock::today() },
};

impl HistoryTable {
    fn for_category(category: HistoryCategory) -> &'static HistoryTable {
        match category {
            HistoryCategory::Allergies => &ALLERGIES,
            HistoryCategory::Conditions => &CONDITIONS,
            HistoryCategory::Medications => &MEDICATIONS,
        }
    }

    fn new_row(&self, item: &records::PatientHistoryItem) -> Result<Value, Fault> {
        let state = Some((self.says)(item.active)).filter(|said| !said.is_empty());
        Ok(object([
            ("PatNum", requests::number(&Some(item.patient.clone()))),
            (self.item, number_of(&item.item, self.prefix)?.into()),
            (self.note, json!(item.note)),
            (self.state, json!(state)),
        ]))
    }

    /// Returns the changed fields. `held`: the current state. The state is written only if it changes, because staff
    /// decide how and when an entry ended.
    fn changed(&self, item: &records::PatientHistoryItem, held: Option<bool>) -> Value {
        // An inactive medication may not be listed.
        let held = held.or((item.category == HistoryCategory::Medications).then_some(false));
        let state = (held != Some(item.active)).then(|| (self.says)(item.active));
        object([(self.note, item.note.clone().unwrap_or_default().into()), (self.state, json!(state))])
    }
}

fn number_of(id: &str, prefix: &str) -> Result<u64, Fault> {
    let number = id.strip_prefix(prefix).and_then(|number| number.parse().ok());
    number.ok_or_else(|| Fault::rejected("the record is of another category"))
}

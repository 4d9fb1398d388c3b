//! Queries, and bodies of writes. Unknown fields are omitted, so the API leaves them unchanged.

use adapter_sdk::{
    Fault, clock,
    json::{self, text},
    money::{self, Cents},
    notes::Note,
    records,
    streams::Ask,
    time::plus_days,
    warn,
};
use serde_json::{Value, json};

use crate::{
    pattern,
    responses::{Appointment, InsSub},
    settings::OpenDentalSettings,
    time,
    values::{DIRECTIONS, MODES, NOTES, Num, RELATIONSHIPS, TRANSACTION},
};

/// Categories of definitions.
pub const ADJUSTMENT_TYPES: u32 = 1;
pub const CONFIRMED: u32 = 2;
pub const PAYMENT_TYPES: u32 = 10;
pub const CODE_CATEGORIES: u32 = 11;

pub type Parameter = (&'static str, String);

pub fn clinic(settings: &OpenDentalSettings) -> Vec<Parameter> {
    settings.clinic.map(|clinic| ("ClinicNum", clinic.to_string())).into_iter().collect()
}

/// Parameters of appointments. A whole pass covers a window of days; a delta covers changes at any date.
pub fn appointments(settings: &OpenDentalSettings, asked: &Ask) -> Vec<Parameter> {
    let mut query = clinic(settings);
    if asked.since.is_none() {
        let today = clock::date(asked.started.unwrap_or(asked.now));
        query.push(("dateStart", plus_days(&today, -settings.past_days)));
        query.push(("dateEnd", plus_days(&today, settings.ahead_days)));
    }
    query
}

pub fn commlogs(settings: &OpenDentalSettings, asked: &Ask) -> Vec<Parameter> {
    if asked.since.is_some() {
        return Vec::new();
    }
    let started = asked.started.unwrap_or(asked.now);
    vec![("DateTStamp", time::text(started - settings.commlog_days * 86_400))]
}

pub fn definitions(category: u32) -> Vec<Parameter> {
    vec![("Category", category.to_string()), ("includeHidden", "true".into())]
}

pub fn schedules(kind: &str, from: &str, to: &str) -> Vec<Parameter> {
    vec![("dateStart", from.to_owned()), ("dateEnd", to.to_owned()), ("SchedType", kind.to_owned())]
}

pub fn new_appointment(
    settings: &OpenDentalSettings,
    key: &str,
    a: &records::Appointment,
    pattern: String,
    confirmed: Option<Num>,
) -> Result<Value, Fault> {
    let needed = |what: &str, id: &Option<String>| {
        id.as_ref()
            .map(|_| number(id))
            .ok_or_else(|| Fault::rejected(format!("Open Dental needs {what} for an appointment")))
    };
    Ok(object([
        ("PatNum", needed("a patient", &a.patient)?),
        ("Op", needed("an operatory", &a.operatory)?),
        ("AptDateTime", time::text(a.start).into()),
        ("AptStatus", "Scheduled".into()),
        ("Pattern", pattern.into()),
        ("Note", noted(a.note.as_deref(), key, None)),
        ("ProvNum", number(&a.provider)),
        ("ClinicNum", json!(settings.clinic)),
        ("AppointmentTypeNum", number(&a.appointment_type)),
        ("Confirmed", json!(confirmed)),
    ]))
}

/// Returns the changed fields of a moved appointment.
pub fn moved(row: &Appointment, a: &records::Appointment, signs: usize) -> Value {
    let hygienist = row.is_hygiene.0 && row.prov_hyg.0 > 0;
    let resized = row.pattern.len() != signs;
    let kind = a.appointment_type.as_ref().filter(|id| row.appointment_type_num.id().as_ref() != Some(id));
    object([
        ("AptDateTime", time::text(a.start).into()),
        ("Op", number(&a.operatory)),
        (if hygienist { "ProvHyg" } else { "ProvNum" }, number(&a.provider)),
        // Also sent with a new type, which would otherwise apply its own pattern.
        ("Pattern", if resized || kind.is_some() { pattern::resized(&row.pattern, signs).into() } else { Value::Null }),
        ("PatternSecondary", if resized { pattern::second(&row.pattern_secondary, signs).into() } else { Value::Null }),
        ("AppointmentTypeNum", kind.map_or(Value::Null, |id| number(&Some(id.clone())))),
    ])
}

/// Returns the fields that restore the row.
pub fn moved_back(row: &Appointment) -> Value {
    json!({
        "AptDateTime": row.apt_date_time.0, "Op": row.op.0, "ProvNum": row.prov_num.0, "ProvHyg": row.prov_hyg.0,
        "Pattern": row.pattern.0, "PatternSecondary": pattern::second(&row.pattern_secondary, row.pattern.len()),
    })
}

pub fn broken(settings: &OpenDentalSettings) -> Value {
    json!({"sendToUnscheduledList": if settings.unscheduled_list { "true" } else { "false" }})
}

/// Sets the confirmation status. `confirmVal: Confirmed` would set the office's status for automated messages, which
/// may not be one of those read as confirmed.
pub fn confirmation(status: Option<Num>) -> Value {
    status.map_or_else(|| json!({"confirmVal": "None"}), |status| json!({"defNum": status}))
}

/// Sets the arrival. The API accepts a time on the appointment's day.
pub fn arrival(row: &Appointment, at: i64) -> Result<Value, Fault> {
    let shown = time::text(at);
    match shown.split_once(' ') {
        Some((day, clock)) if time::day(&row.apt_date_time) == Ok(Some(day.to_owned())) => {
            Ok(json!({"DateTimeArrived": clock}))
        }
        _ => Err(Fault::rejected("Open Dental keeps an arrival only on the day of the appointment")),
    }
}

pub fn commlog(settings: &OpenDentalSettings, key: &str, log: &records::CommunicationLog) -> Value {
    object([
        ("PatNum", number(&Some(log.patient.clone()))),
        ("Note", noted(Some(&log.note), key, None)),
        ("CommDateTime", time::text(log.occurred_at).into()),
        ("commType", json!(settings.commlog_type)),
        ("Mode_", json!(MODES.word(log.mode))),
        ("SentOrReceived", json!(DIRECTIONS.word(log.direction))),
    ])
}

pub fn carrier(plan: &records::InsurancePlan) -> Value {
    let address = plan.address.clone().unwrap_or_default();
    object([
        ("CarrierName", plan.name.as_str().into()),
        ("Address", text(&address.line1)),
        ("Address2", text(&address.line2)),
        ("City", text(&address.city)),
        ("State", kept("region", &address.region, is_state)),
        ("Zip", kept("postal code", &address.postal_code, is_zip)),
        ("ElectID", text(&plan.payer_id)),
    ])
}

pub fn plan(key: &str, plan: &records::InsurancePlan, carrier: Num) -> Value {
    object([
        ("CarrierNum", carrier.0.into()),
        ("GroupName", text(&plan.employer_name)),
        ("GroupNum", text(&plan.group_number)),
        ("FeeSched", number(&plan.fee_schedule)),
        ("MonthRenew", json!(plan.benefit_year_renewal_month)),
        ("PlanNote", noted(None, key, None)),
    ])
}

pub fn subscription(c: &records::Coverage, subscriber: &str, subscriber_id: &str) -> Value {
    object([
        ("PlanNum", number(&Some(c.plan.clone()))),
        ("Subscriber", number(&Some(subscriber.to_owned()))),
        ("SubscriberID", subscriber_id.into()),
        ("DateEffective", text(&c.effective_date)),
        ("DateTerm", text(&c.expiration_date)),
    ])
}

/// Returns `true` if a row is the subscription that this coverage would create.
pub fn is_subscription(row: &InsSub, c: &records::Coverage, subscriber: &str, subscriber_id: &str) -> bool {
    row.plan_num.id().as_deref() == Some(&c.plan)
        && row.subscriber.id().as_deref() == Some(subscriber)
        && row.subscriber_id.trim() == subscriber_id.trim()
        && time::day(&row.date_effective).as_ref() == Ok(&c.effective_date)
        && time::day(&row.date_term).as_ref() == Ok(&c.expiration_date)
}

pub fn coverage(c: &records::Coverage, subscription: &str) -> Result<Value, Fault> {
    let relationship = RELATIONSHIPS.word(c.relation);
    let relationship =
        relationship.ok_or_else(|| Fault::rejected("Open Dental has no relationship `other` to a subscriber"))?;
    Ok(object([
        ("PatNum", number(&Some(c.patient.clone()))),
        ("InsSubNum", number(&Some(subscription.to_owned()))),
        ("Ordinal", c.priority.unwrap_or(1).into()),
        ("Relationship", relationship.into()),
    ]))
}

/// Builds a payment. The API accepts procedures without amounts and pays them in order until the payment is used up.
/// Only a payment for one whole procedure is unambiguous, and its provider is the procedure's.
pub fn payment(key: &str, p: &records::Payment) -> Result<Value, Fault> {
    let shared = "Open Dental takes a payment for one charge, and as a whole: post one for each";
    let charge = money::whole_charge(p).map_err(|_| Fault::rejected(shared))?;
    if p.provider_splits.len() > 1 || !p.provider_splits.iter().all(|split| money::is_whole(p, split)) {
        return Err(Fault::rejected("Open Dental shares no payment between providers: post one for each charge"));
    }
    if p.provider.is_some() || !p.provider_splits.is_empty() {
        warn!("the API has no field for the provider of a payment: it is the charge's");
    }
    let unknown = || Fault::rejected("Open Dental has no such charge");
    let charges = charge.map(|id| id.parse::<u64>().map_err(|_| unknown())).transpose()?;
    Ok(object([
        ("PatNum", number(&p.patient)),
        ("PayAmt", amount(&p.amount)?),
        ("PayType", number(&p.payment_type)),
        ("PayDate", text(&p.paid_at)),
        ("PayNote", noted(p.description.as_deref(), key, p.transaction_id.as_deref())),
        ("isPatientPreferred", "true".into()),
        ("procNums", charges.map_or(Value::Null, |charge| json!([charge]))),
    ]))
}

pub fn adjustment(key: &str, a: &records::Adjustment, today: &str) -> Result<Value, Fault> {
    if a.charge_splits.len() > 1 || a.provider_splits.len() > 1 {
        return Err(Fault::rejected("Open Dental keeps one provider and one procedure with an adjustment"));
    }
    let charge = a.charge.clone().or_else(|| a.charge_splits.first().map(|split| split.id.clone()));
    let provider = a.provider.clone().or_else(|| a.provider_splits.first().map(|split| split.id.clone()));
    Ok(object([
        ("PatNum", number(&a.patient)),
        ("AdjType", number(&a.adjustment_type)),
        ("AdjAmt", amount(&a.amount)?),
        ("AdjDate", a.adjusted_at.as_deref().unwrap_or(today).into()),
        ("ProvNum", number(&provider)),
        ("ProcNum", number(&charge)),
        ("AdjNote", noted(a.description.as_deref(), key, a.transaction_id.as_deref())),
    ]))
}

fn amount(money: &records::Money) -> Result<Value, Fault> {
    let cents = Cents::parse(&money.amount).ok_or_else(|| Fault::rejected("the amount is not one of money"))?;
    Ok(cents.to_string().into())
}

/// Returns the value, or null for a value that would make the EHR refuse the whole patient.
pub fn kept(what: &str, value: &Option<String>, fits: fn(&str) -> bool) -> Value {
    match value.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) if fits(text) => text.into(),
        Some(_) => {
            warn!("the {what} of a record is not in a format that Open Dental accepts and is not written");
            Value::Null
        }
        None => Value::Null,
    }
}

pub fn is_state(text: &str) -> bool {
    text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// Returns `true` for `12345`, `12345-1234`, `123456789`, or Canada's `A0A 0A0`.
pub fn is_zip(text: &str) -> bool {
    let shape = text.replace(|c: char| c.is_ascii_digit(), "0").replace(|c: char| c.is_ascii_uppercase(), "A");
    matches!(shape.as_str(), "00000" | "00000-0000" | "000000000" | "A0A 0A0")
}

/// Returns a note with the key after it and, for a payment, its transaction.
fn noted(text: Option<&str>, key: &str, transaction: Option<&str>) -> Value {
    NOTES.written(&Note::new(text.map(str::trim), key).with(TRANSACTION, transaction)).into()
}

/// Parses a foreign id as a number.
pub fn number(id: &Option<String>) -> Value {
    id.as_deref().and_then(|id| id.parse::<u64>().ok()).map_or(Value::Null, Value::from)
}

/// Returns an object without null fields.
pub fn object<const N: usize>(all: [(&str, Value); N]) -> Value {
    Value::Object(json::object(all))
}

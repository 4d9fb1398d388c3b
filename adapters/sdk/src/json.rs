//! Records as JSON, for an EHR whose names are, or can be mapped to, those of the contract in snake case:
//! `{"id": "C-1", "paid_at": "2026-12-01", "amount": {"amount": "12.50", "currency": "USD"}}`. Instants are numbers.
//! Enum values are in snake case; an unknown value of an enum with `other` becomes `other`.

use std::fmt::Display;

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, Error as _},
};
use serde_json::{Map, Value, json};

use crate::{Record, Resource, clock, records, time};

/// List fields of the contract's records: absent in JSON means empty.
const LISTS: [&str; 10] = [
    "extra", "messages", "appointment_types", "days", "teeth", "treatment_plans", "procedures", "charge_splits",
    "provider_splits", "payouts",
];

/// Flags that are rarely set: absent in JSON means `false`.
const FLAGS: [&str; 9] = [
    "inactive", "new_patient", "non_patient", "unsubscribed_sms", "unsubscribed_email", "unavailable",
    "patient_confirmed", "patient_missed", "cancelled",
];

/// Date fields of the contract's records.
const DATES: [&str; 14] = [
    "date_of_birth",
    "specific_date",
    "reference",
    "subscriber_date_of_birth",
    "effective_date",
    "expiration_date",
    "start_date",
    "end_date",
    "date_due",
    "charged_at",
    "paid_at",
    "adjusted_at",
    "date_of_service",
    "first_payment_due",
];

macro_rules! records {
    ($($resource:ident $case:ident $record:ident,)*) => {
        /// Builds a record of a resource. Optional fields, lists and flags may be absent; unknown fields are ignored.
        /// Null and a blank text count as absent; a date with a time is reduced to its day.
        pub fn record(resource: Resource, mut fields: Map<String, Value>) -> serde_json::Result<Record> {
            let blanks = take_absent(&mut fields);
            days(&mut fields)?;
            for list in LISTS {
                fields.entry(list).or_insert_with(|| json!([]));
            }
            for flag in FLAGS {
                fields.entry(flag).or_insert(Value::Bool(false));
            }
            Ok(match resource {
                $(Resource::$resource => Record::$case(build_record::<records::$record>(fields, &blanks)?),)*
            })
        }

        /// Returns the record's id in the EHR.
        pub fn id(record: &Record) -> &str {
            match record { $(Record::$case(record) => &record.id,)* }
        }
    };
}

records! {
    Patients Patient Patient,
    Providers Provider Provider,
    Operatories Operatory Operatory,
    AppointmentTypes AppointmentType AppointmentType,
    AppointmentDescriptors AppointmentDescriptor AppointmentDescriptor,
    WorkingHours WorkingHour WorkingHour,
    Appointments Appointment Appointment,
    InsurancePlans InsurancePlan InsurancePlan,
    Coverages Coverage Coverage,
    HistoryItems HistoryItem HistoryItem,
    PatientHistoryItems PatientHistoryItem PatientHistoryItem,
    PatientAlerts PatientAlert PatientAlert,
    CommunicationLogs CommunicationLog CommunicationLog,
    Conversations Conversation Conversation,
    FormSchemas FormSchema FormSchema,
    FormResponses FormResponse FormResponse,
    ProcedureCodes ProcedureCode ProcedureCode,
    ProcedureCodeCategories ProcedureCodeCategory ProcedureCodeCategory,
    Procedures Procedure Procedure,
    TreatmentPlans TreatmentPlan TreatmentPlan,
    ClinicalNotes ClinicalNote ClinicalNote,
    RecallTypes RecallType RecallType,
    PatientRecalls PatientRecall PatientRecall,
    Documents Document Document,
    DocumentTypes DocumentType DocumentType,
    FeeSchedules FeeSchedule FeeSchedule,
    Fees Fee Fee,
    PaymentTypes PaymentType PaymentType,
    AdjustmentTypes AdjustmentType AdjustmentType,
    Charges Charge Charge,
    Payments Payment Payment,
    Adjustments Adjustment Adjustment,
    Claims Claim Claim,
    PaymentPlans PaymentPlan PaymentPlan,
    GuarantorBalances GuarantorBalance Balance,
    InsuranceBalances InsuranceBalance Balance,
}

/// Removes nulls, including those in nested objects, and blank texts. Returns the names of the blank texts.
fn take_absent(fields: &mut Map<String, Value>) -> Vec<String> {
    let is_blank = |value: &Value| value.as_str().is_some_and(|text| text.trim().is_empty());
    let blanks: Vec<String> =
        fields.iter().filter(|(_, value)| is_blank(value)).map(|(name, _)| name.clone()).collect();
    fields.retain(|_, value| {
        if let Value::Object(inner) = value {
            take_absent(inner);
        }
        !value.is_null() && !is_blank(value)
    });
    blanks
}

/// Reduces dates with a time to their day. Returns an error if a text is not a date.
fn days(fields: &mut Map<String, Value>) -> serde_json::Result<()> {
    for (name, value) in fields {
        match value {
            Value::String(text) if DATES.contains(&name.as_str()) => {
                *text = time::day_of(text).ok_or_else(|| serde_json::Error::custom("a date cannot be read"))?;
            }
            Value::Object(inner) => days(inner)?,
            _ => (),
        }
    }
    Ok(())
}

/// Builds a record without the fields in `blanks`, except for required ones, such as the first name of a person with
/// only one name.
fn build_record<T: DeserializeOwned>(fields: Map<String, Value>, blanks: &[String]) -> serde_json::Result<T> {
    if blanks.is_empty() {
        return serde_json::from_value(Value::Object(fields));
    }
    let (mut fields, mut rest) = (fields, blanks.to_vec());
    loop {
        let error = match serde_json::from_value(Value::Object(fields.clone())) {
            Ok(made) => return Ok(made),
            Err(error) => error,
        };
        let message = error.to_string();
        let Some(at) = rest.iter().position(|name| message == format!("missing field `{name}`")) else {
            return Err(error);
        };
        fields.insert(rest.swap_remove(at), "".into());
    }
}

/// Returns the known fields of a record: without nulls, empty `id` and empty lists, also in nested records.
pub fn fields(record: &impl Serialize) -> serde_json::Result<Map<String, Value>> {
    let mut fields: Map<String, Value> = serde_json::from_value(serde_json::to_value(record)?)?;
    forget_unknown(&mut fields);
    Ok(fields)
}

fn forget_unknown(fields: &mut Map<String, Value>) {
    fields.retain(|name, value| match value {
        Value::Null => false,
        Value::String(text) => name != "id" || !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(inner) => {
            forget_unknown(inner);
            true
        }
        _ => true,
    });
}

/// Parses a row of the EHR. The error does not quote the row, unlike serde's own message.
///
/// ```
/// use adapter_sdk::json;
///
/// #[derive(Debug, PartialEq, serde::Deserialize)]
/// struct Room { name: String }
///
/// assert_eq!(json::typed::<Room>(serde_json::json!({})), Err("missing field `name`".to_owned()));
/// assert_eq!(json::typed::<Room>(serde_json::json!({"name": 7})), Err("a field is not as documented".to_owned()));
/// ```
pub fn typed<T: DeserializeOwned>(row: Value) -> Result<T, String> {
    serde_json::from_value(row).map_err(|e| {
        let message = e.to_string();
        if message.starts_with("missing field") { message } else { "a field is not as documented".into() }
    })
}

/// Returns an object of the fields that are not null, for an EHR that would clear a field given as null.
///
/// ```
/// use adapter_sdk::json;
/// use serde_json::{Value, json};
///
/// let (email, phone) = (Some("a@b.example".to_owned()), Some(" ".to_owned()));
/// let body = json::object([("email", json::text(&email)), ("phone", json::text(&phone)), ("born", Value::Null)]);
/// assert_eq!(Value::Object(body), json!({"email": "a@b.example"}));
/// ```
pub fn object<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    let known = fields.into_iter().filter(|(_, value)| !value.is_null());
    known.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Deserializes a list of the contract's words, such as `mon` and `tue`, for
/// `#[serde(deserialize_with = "json::words")]`.
///
/// ```
/// use adapter_sdk::{json, records::Weekday};
///
/// #[derive(serde::Deserialize)]
/// struct Hours {
///     #[serde(default, deserialize_with = "json::words")]
///     days: Vec<Weekday>,
/// }
///
/// let hours: Hours = json::typed(serde_json::json!({"days": ["mon", "sun"]})).expect("two days");
/// assert_eq!(hours.days, [Weekday::Monday, Weekday::Sunday]);
/// assert!(json::typed::<Hours>(serde_json::json!({"days": ["someday"]})).is_err());
/// ```
pub fn words<'de, D: Deserializer<'de>, T: TryFrom<String, Error: Display>>(from: D) -> Result<Vec<T>, D::Error> {
    let words = Vec::<String>::deserialize(from)?.into_iter();
    words.map(|word| T::try_from(word).map_err(D::Error::custom)).collect()
}

/// Deserializes one word of the contract, like [`words`].
pub fn word<'de, D: Deserializer<'de>, T: TryFrom<String, Error: Display>>(from: D) -> Result<T, D::Error> {
    T::try_from(String::deserialize(from)?).map_err(D::Error::custom)
}

/// Converts the named times from text to instants in place. Null is unchanged and a blank text becomes null. See
/// [`clock::instant_of`] for the formats. Returns an error if a text is not a time.
///
/// ```
/// let mut row = serde_json::json!({"start": "2026-12-01T09:00:00-05:00", "end": " ", "left": null});
/// assert!(adapter_sdk::json::instants(&mut row, &["start", "end", "left"]).is_ok());
/// assert_eq!(row, serde_json::json!({"start": 1_796_133_600, "end": null, "left": null}));
/// assert!(adapter_sdk::json::instants(&mut serde_json::json!({"start": "soon"}), &["start"]).is_err());
/// ```
pub fn instants(row: &mut Value, names: &[&str]) -> Result<(), &'static str> {
    for name in names {
        let at = &mut row[*name];
        *at = match at.as_str() {
            None if at.is_null() => continue,
            Some(text) if text.trim().is_empty() => Value::Null,
            text => text.and_then(clock::instant_of).ok_or("a time is none")?.into(),
        };
    }
    Ok(())
}

/// Returns a text as JSON; null if absent or blank.
pub fn text(text: &Option<String>) -> Value {
    text.as_deref().filter(|text| !text.trim().is_empty()).map_or(Value::Null, Value::from)
}

/// Replaces blank texts by null, also in nested objects.
///
/// ```
/// let mut form = serde_json::json!({"email": " ", "address": {"city": "", "zip": "60601"}});
/// adapter_sdk::json::forget_blanks(&mut form);
/// assert_eq!(form, serde_json::json!({"email": null, "address": {"city": null, "zip": "60601"}}));
/// ```
pub fn forget_blanks(value: &mut Value) {
    match value {
        Value::String(text) if text.trim().is_empty() => *value = Value::Null,
        Value::Object(fields) => fields.values_mut().for_each(forget_blanks),
        _ => (),
    }
}

/// Removes nulls and blank texts, also in nested objects and lists, because EHRs use both for absent values.
///
/// ```
/// let mut row = serde_json::json!({"name": "", "party": null, "phones": [null, {"value": " ", "id": 1}]});
/// adapter_sdk::json::forget_absent(&mut row);
/// assert_eq!(row, serde_json::json!({"phones": [{"id": 1}]}));
/// ```
pub fn forget_absent(value: &mut Value) {
    let absent = |value: &Value| value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty());
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !absent(value));
            fields.values_mut().for_each(forget_absent);
        }
        Value::Array(items) => {
            items.retain(|value| !absent(value));
            items.iter_mut().for_each(forget_absent);
        }
        _ => (),
    }
}

/// Returns the contract's name of a resource in snake case, `insurance_plans`.
pub fn name(resource: Resource) -> String {
    match serde_json::to_value(resource) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn json_becomes_a_record_and_back() {
        let payment = json!({"id": "Y-1", "patient": "P-1", "amount": {"amount": "12.50", "currency": "USD"},
            "provider_splits": [{"id": "D-1", "amount": {"amount": "12.50", "currency": "USD"}}], "version": 5});
        let Record::Payment(made) = record(Resource::Payments, map(payment.clone())).unwrap() else { panic!() };
        assert_eq!((made.amount.amount.as_str(), made.provider_splits.len(), made.charge), ("12.50", 1, None));
        let Record::Payment(made) = record(Resource::Payments, map(payment.clone())).unwrap() else { panic!() };
        let mut back = fields(&made).unwrap();
        back.insert("version".into(), 5.into());
        assert_eq!(Value::Object(back), payment);
        let item = json!({"id": "", "category": "medications", "name": "Aspirin"});
        let Record::HistoryItem(item) = record(Resource::HistoryItems, map(item)).unwrap() else { panic!() };
        assert_eq!(fields(&item).unwrap(), map(json!({"category": "medications", "name": "Aspirin"})));
        let balance = record(Resource::InsuranceBalances, map(json!({"id": "B-1", "from31_to60": null}))).unwrap();
        assert!(matches!(balance, Record::InsuranceBalance(_)));
        assert!(record(Resource::Payments, map(json!({"id": "Y-1"}))).is_err());
        assert_eq!(name(Resource::ProcedureCodeCategories), "procedure_code_categories");
    }

    #[test]
    fn null_and_blank_are_absent_and_a_date_with_a_time_is_that_day() {
        let patient = json!({"id": "P-1", "first_name": "", "last_name": "Zoë", "middle_name": " ", "email": "", "home_phone": null,
            "date_of_birth": "1940-01-01T00:00:00.000+0000", "inactive": null, "extra": null, "address": {"city": "", "line1": "1 Elm St"}});
        let Record::Patient(made) = record(Resource::Patients, map(patient.clone())).unwrap() else { panic!() };
        assert_eq!(
            (made.first_name.as_str(), made.last_name.as_str(), made.date_of_birth.as_deref()),
            ("", "Zoë", Some("1940-01-01"))
        );
        assert_eq!((made.middle_name, made.email, made.home_phone), (None, None, None));
        assert_eq!(made.address.map(|address| (address.line1, address.city)), Some((Some("1 Elm St".into()), None)));
        for (field, value) in
            [("date_of_birth", json!("soon")), ("date_of_birth", json!("2026-02-30")), ("email", json!(7))]
        {
            let mut other = patient.clone();
            other[field] = value;
            assert!(record(Resource::Patients, map(other)).is_err(), "{field}");
        }
        let log =
            json!({"id": "L-1", "patient": "P-1", "note": "", "mode": "mail", "direction": "sent", "occurred_at": 5});
        let Record::CommunicationLog(log) = record(Resource::CommunicationLogs, map(log)).unwrap() else { panic!() };
        assert_eq!(log.note, "");
    }
}

//! A request to an EHR and its response as a line of a file, without secrets and with patient data masked.

use std::collections::BTreeMap;

use adapter_conformance::masked;
use engine::adapter_host::{HttpRequest, HttpResponse, TransportError, Url};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use super::mask::SHOWN;

/// Response headers that an adapter may need. All other headers, including those of requests, are omitted.
const HEADERS: [&str; 6] = ["content-type", "date", "etag", "last-modified", "location", "retry-after"];

/// Fields and parameters of common EHRs that contain no patient data, in addition to those of the contract.
const PLAIN: [&str; 16] = [
    "resourceType", "system", "code", "reference", "kind", "currency", "unit", "use", "limit", "since", "page",
    "count", "offset", "sort", "location", "error",
];

/// Fields of Open Dental with the number of a record, which an adapter puts into paths of requests. Numbers in these
/// fields are not masked, but texts are.
const RECORD_NUMBERS: [&str; 23] = [
    "PatNum", "Guarantor", "Subscriber", "AptNum", "ScheduleNum", "InsSubNum", "PlanNum", "CarrierNum", "PatPlanNum",
    "AllergyNum", "DiseaseNum", "MedicationNum", "MedicationPatNum", "CommlogNum", "CodeNum", "ProcNum", "ProcNumOrig",
    "TreatPlanNum", "FeeNum", "RecallNum", "PayNum", "PayPlanNum", "AdjNum",
];

/// Number of an insured person in FHIR. The name is like that of a record's id, but it identifies a patient.
const MEMBER_NUMBER: &str = "subscriberId";

/// The replacement for dates.
const A_DAY: &str = "2000-01-01";
/// The replacement for dates as numbers.
const NUMBERED_DAY: u32 = 20_000_101;
/// Number of digits from which a number may be a telephone number, a date of birth or the id of a member. Shorter ones
/// are lengths, counts and most amounts, which an adapter needs.
const LONG_NUMBER: usize = 5;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordedRequest {
    pub method: String,
    /// The path with its query parameters.
    pub path: String,
    /// JSON, or the number of bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum RecordedResponse {
    With {
        status: u16,
        headers: BTreeMap<String, String>,
        /// The JSON body with masked values.
        body: Value,
    },
    /// A response whose body is not JSON and therefore cannot be masked reliably. Only its size is recorded.
    NoJson {
        status: u16,
        bytes: usize,
    },
    NotSent(String),
    NoAnswer(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exchange {
    pub asked: RecordedRequest,
    pub answered: RecordedResponse,
}

/// Masks all texts and long numbers that may be patient data.
#[derive(Clone, Default)]
pub(super) struct Masks {
    /// Additional fields and parameters that are not masked.
    pub keep: Vec<String>,
}

impl Masks {
    pub(super) fn mask_request(&self, request: &HttpRequest) -> RecordedRequest {
        let body = request.body.as_deref().map(|bytes| match serde_json::from_slice(bytes) {
            Ok(json) => self.value("", json).to_string(),
            Err(_) => format!("{} bytes", bytes.len()),
        });
        RecordedRequest { method: request.method.clone(), path: self.path(&request.url), body }
    }

    pub(super) fn mask_response(&self, ended: &Result<HttpResponse, TransportError>) -> RecordedResponse {
        let answer = match ended {
            Ok(answer) => answer,
            Err(TransportError::NotSent(why)) => return RecordedResponse::NotSent(why.clone()),
            Err(TransportError::NoAnswer(why)) => return RecordedResponse::NoAnswer(why.clone()),
        };
        let body = match answer.body.as_slice() {
            [] => Some(Value::Null),
            bytes => serde_json::from_slice(bytes).ok().map(|json| self.value("", json)),
        };
        let Some(body) = body else {
            return RecordedResponse::NoJson { status: answer.status, bytes: answer.body.len() };
        };
        let headers = answer.headers.iter().filter(|(name, _)| HEADERS.contains(&name.as_str()));
        RecordedResponse::With { status: answer.status, headers: headers.cloned().collect(), body }
    }

    fn path(&self, url: &Url) -> String {
        let pairs: Vec<String> = url.query_pairs().map(|(name, value)| self.parameter(&name, &value)).collect();
        if pairs.is_empty() { url.path().to_owned() } else { format!("{}?{}", url.path(), pairs.join("&")) }
    }

    fn parameter(&self, name: &str, value: &str) -> String {
        if self.keeps(name) { format!("{name}={value}") } else { format!("{name}={}", text(value)) }
    }

    fn keeps(&self, name: &str) -> bool {
        let known = SHOWN.contains(&name) || PLAIN.contains(&name) || self.keep.iter().any(|keep| keep == name);
        known || ((name.ends_with("_id") || name.ends_with("Id")) && name != MEMBER_NUMBER)
    }

    fn value(&self, name: &str, value: Value) -> Value {
        match value {
            Value::String(field) if !self.keeps(name) => text(&field).into(),
            Value::Number(field) if !self.keeps(name) && !RECORD_NUMBERS.contains(&name) => number(field),
            Value::Array(all) => all.into_iter().map(|value| self.value(name, value)).collect(),
            Value::Object(fields) => {
                let fields = fields.into_iter().map(|(name, value)| {
                    let value = self.value(&name, value);
                    (name, value)
                });
                Value::Object(fields.collect::<Map<String, Value>>())
            }
            other => other,
        }
    }
}

/// Replaces each letter with x and each digit with 0. Dates remain valid dates, so that the adapter can parse them.
/// Times of the schedule stay, because they identify no patient. Times at midnight are masked, because they may be
/// dates of birth.
fn text(value: &str) -> String {
    let digits = |text: &str, form: &str| {
        text.len() == form.len()
            && text
                .bytes()
                .zip(form.bytes())
                .all(|(is, like)| if like == b'0' { is.is_ascii_digit() } else { is == like })
    };
    let (day, time) = value.split_at_checked(A_DAY.len()).unwrap_or((value, ""));
    match digits(day, "0000-00-00") {
        true if time.is_empty() => A_DAY.to_owned(),
        true if time.starts_with("T00:00") || time.starts_with(" 00:00") => format!("{A_DAY}{time}"),
        true if digits(time.get(..6).unwrap_or_default(), "T00:00") => value.to_owned(),
        true if digits(time.get(..6).unwrap_or_default(), " 00:00") => value.to_owned(),
        false if digits(value, "00:00") || digits(value, "00:00:00") => value.to_owned(),
        _ => masked(value),
    }
}

/// Replaces the first digit of a long number with 1 and the others with 0. Dates remain valid dates.
fn number(value: Number) -> Value {
    let text = value.to_string();
    if text.bytes().filter(u8::is_ascii_digit).count() < LONG_NUMBER {
        return Value::Number(value);
    }
    if is_day(&text) {
        return NUMBERED_DAY.into();
    }
    let mut masked: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    if let Some(first) = text.find(|c: char| ('1'..='9').contains(&c)) {
        masked.replace_range(first..=first, "1");
    }
    serde_json::from_str(&masked).unwrap_or_default()
}

/// Returns `true` for days such as 19800228.
fn is_day(text: &str) -> bool {
    let part = |from: usize, to: usize| text.get(from..to).and_then(|part| part.parse::<u8>().ok()).unwrap_or_default();
    let digits = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    digits && (1..=12).contains(&part(4, 6)) && (1..=31).contains(&part(6, 8))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(url: &str, body: &Value) -> HttpRequest {
        HttpRequest {
            method: "POST".into(),
            url: url.parse().expect("an address"),
            headers: vec![("authorization".into(), "Bearer s3cret".into())],
            body: Some(body.to_string().into_bytes()),
            max_response_body: 1,
        }
    }

    #[test]
    fn long_numbers_are_masked_and_remain_numbers() {
        let masks = Masks { keep: vec!["total".into()] };
        let body = json!({"phone": 3_125_550_199_u64, "born": 19_800_228, "born_at": -310_000_000_i64, "member": 48_213,
            "at": {"lat": 40.712776, "lon": 41.90123}, "numbers": [7_735_550_100_u64], "minutes": 30, "amount": 12.5,
            "id": 35_612, "patient_id": 35_612, "PatNum": 35_612, "total": 12_345});
        let expected = json!({"phone": 1_000_000_000, "born": 20_000_101, "born_at": -100_000_000, "member": 10_000,
            "at": {"lat": 10.0, "lon": 10.0}, "numbers": [1_000_000_000], "minutes": 30, "amount": 12.5,
            "id": 35_612, "patient_id": 35_612, "PatNum": 35_612, "total": 12_345});
        let answer = HttpResponse { status: 200, headers: Vec::new(), body: body.to_string().into_bytes() };
        let masked = RecordedResponse::With { status: 200, headers: BTreeMap::new(), body: expected.clone() };
        assert_eq!(masks.mask_response(&Ok(answer)), masked);
        let asked = masks.mask_request(&request("http://ehr.example/v1/patients", &body));
        assert_eq!(asked.body, Some(expected.to_string()));
    }

    #[test]
    fn the_number_of_an_insured_person_is_masked_although_its_name_is_like_an_id() {
        let body = json!({"resourceType": "Coverage", "subscriberId": "W123", "planId": "P-1"});
        let recorded = |masks: Masks| masks.mask_request(&request("http://ehr.example/fhir/Coverage", &body)).body;
        let expected = json!({"resourceType": "Coverage", "subscriberId": "X000", "planId": "P-1"});
        assert_eq!(recorded(Masks::default()), Some(expected.to_string()));
        let kept = Masks { keep: vec!["subscriberId".into()] };
        assert_eq!(recorded(kept), Some(body.to_string()));
    }

    #[test]
    fn recorded_exchanges_contain_no_secrets_and_no_patient_data() {
        let masks = Masks { keep: vec!["color".into()] };
        let body = json!({"id": "P-1", "last_name": "O'Neill", "born": "1980-02-28", "color": "red",
            "born_at": "1980-02-28T00:00:00", "start": "2026-11-27T09:30:00-05:00", "begin": "09:00", "minutes": 30,
            "phones": [{"value": "+1 312 555 0199"}], "note": "1980-02-28 called"});
        let asked = masks.mask_request(&request("http://ehr.example/v1/patients?limit=5&name=Neill", &body));
        assert_eq!(asked.path, "/v1/patients?limit=5&name=Xxxxx");
        let shown: Value = serde_json::from_str(asked.body.as_deref().unwrap_or_default()).unwrap_or_default();
        let expected = json!({"id": "P-1", "last_name": "X'Xxxxx", "born": "2000-01-01", "color": "red",
            "born_at": "2000-01-01T00:00:00", "start": "2026-11-27T09:30:00-05:00", "begin": "09:00", "minutes": 30,
            "phones": [{"value": "+0 000 000 0000"}], "note": "0000-00-00 xxxxxx"});
        assert_eq!(shown, expected);
        let answer = HttpResponse {
            status: 200,
            headers: vec![("set-cookie".into(), "s3cret".into()), ("content-type".into(), "application/json".into())],
            body: body.to_string().into_bytes(),
        };
        let answered = masks.mask_response(&Ok(answer));
        let line = serde_json::to_string(&Exchange { asked, answered }).unwrap_or_default();
        assert!(["s3cret", "Neill", "1980", "312"].iter().all(|word| !line.contains(word)), "{line}");
        let page = HttpResponse { status: 200, headers: Vec::new(), body: b"<p>Neill</p>".to_vec() };
        assert_eq!(masks.mask_response(&Ok(page)), RecordedResponse::NoJson { status: 200, bytes: 12 });
    }
}

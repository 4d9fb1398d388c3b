//! POST /ehr_events/{source}, and PUT below it: reports of an EHR that something has changed. The caller authenticates
//! with the secret of the data source instead of an API key. A report is a hint: only the names of resources in it are
//! used.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::HeaderMap,
    web::{Bytes, Data, Payload},
};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use engine::setup::events::{EhrEvents, EventScheme};
use framework::{
    http::body::{self, BodyRules},
    values::secret::{is_secret, is_signature},
};

use crate::prelude::*;

/// The path without the id of the data source.
pub const PATH: &str = "/ehr_events/";
/// Maximum size of a report. Reports are short, and larger bodies cost memory before they are authenticated.
const MAX_REPORT: usize = 256 << 10;
/// Maximum depth at which names of resources are looked for.
const MAX_DEPTH: usize = 8;
/// Maximum number of values of a report that are looked at.
const MAX_VALUES: usize = 10_000;
/// Resources of FHIR whose changes concern only appointments.
const OF_APPOINTMENTS: [&str; 2] = ["Appointment", "AppointmentResponse"];
/// Tables of Open Dental whose changes concern only appointments.
const TABLES_OF_APPOINTMENTS: [&str; 2] = ["Appointment", "AppointmentDeleted"];
/// Resources of FHIR in which a notification is wrapped.
const WRAPPERS: [&str; 5] = ["Bundle", "Parameters", "Subscription", "SubscriptionStatus", "OperationOutcome"];

/// Takes a report of an EHR.
pub async fn take(request: HttpRequest, payload: Payload) -> HttpResult {
    let api = request.app_data::<Data<Api>>().cloned().ok_or_else(ApiError::internal)?;
    let edge = api.edge();
    let limits = BodyRules { max_bytes: MAX_REPORT.min(edge.rules.max_body), timeout: edge.rules.body_timeout };
    let report = body::collect(request.headers(), payload.into_inner(), limits).await?;
    let source = source_of(request.path());
    let setup = api.engine.setup();
    let events = source.and_then(|id| setup.sources.get(&id)?.events());
    let refusal = match events {
        None => Some(Failure::UnknownPath),
        Some(events) if !accepts(events, request.headers(), &report) => Some(Failure::EventSecretInvalid),
        Some(_) => None,
    };
    if let Some(refusal) = refusal {
        return Err(edge.rejected_callers.refused(api.client(&request), "secret of EHR events", refusal.into()));
    }
    if let Some(id) = source {
        api.engine.ehr_hint(id, concerns_everything(request.headers(), &report));
    }
    Ok(HttpResponse::Accepted().finish())
}

/// Returns `true` for paths of this endpoint, also with an invalid id.
pub fn has_path(path: &str) -> bool {
    path.starts_with(PATH)
}

/// Returns the id of the data source in a path of this endpoint.
pub fn source_of(path: &str) -> Option<u32> {
    path.strip_prefix(PATH)?.split('/').next()?.parse().ok()
}

/// Returns the maximum size of the body of a request that is passed on to another node, which authenticates it. `most`
/// is the maximum of other requests.
pub fn max_body(path: &str, most: usize) -> usize {
    if source_of(path).is_some() { MAX_REPORT.min(most) } else { most }
}

/// Returns `true` if the header has the secret, or the signature of the report. Compares in constant time.
fn accepts(events: &EhrEvents, headers: &HeaderMap, report: &Bytes) -> bool {
    let Some(secret) = events.secret.as_ref().map(|secret| secret.expose().as_bytes()) else { return false };
    let sent = headers.get(&events.header).map_or(&b""[..], |value| value.as_bytes());
    match events.scheme {
        EventScheme::Header => is_secret(secret, sent),
        EventScheme::Hmac => {
            let text = std::str::from_utf8(sent).unwrap_or_default().trim();
            let text = text.strip_prefix("sha256=").unwrap_or(text);
            let signature = hex::decode(text).or_else(|_| BASE64.decode(text)).unwrap_or_default();
            is_signature(secret, report, &signature)
        }
    }
}

/// Returns `true` if a report names records other than appointments. A report that names none concerns appointments.
/// Open Dental names the table in a header: `Event-Type: WatchTable: Appointment`.
fn concerns_everything(headers: &HeaderMap, report: &[u8]) -> bool {
    let event = headers.get("event-type").and_then(|value| value.to_str().ok());
    if let Some(table) = event.and_then(|event| event.trim().strip_prefix("WatchTable:")) {
        return !TABLES_OF_APPOINTMENTS.contains(&table.trim());
    }
    let Ok(report) = serde_json::from_slice::<Value>(report) else { return false };
    let mut named = NamedResources::default();
    named.collect(&report, 0);
    named.others
}

/// The resources that a report names.
#[derive(Debug, Default)]
struct NamedResources {
    /// `true` if it names one other than appointments.
    others: bool,
    values: usize,
}

impl NamedResources {
    /// Looks for `resourceType` and references of FHIR, and for keys of Open Dental.
    fn collect(&mut self, value: &Value, depth: usize) {
        self.values += 1;
        if depth > MAX_DEPTH || self.values > MAX_VALUES {
            return;
        }
        match value {
            Value::Array(all) => all.iter().for_each(|it| self.collect(it, depth + 1)),
            Value::Object(fields) => {
                let text = |name: &str| fields.get(name).and_then(Value::as_str);
                if let Some(kind) = text("resourceType") {
                    self.others |= !OF_APPOINTMENTS.contains(&kind) && !WRAPPERS.contains(&kind);
                    // The references of an appointment to patients and others do not report their changes.
                    if !WRAPPERS.contains(&kind) {
                        return;
                    }
                }
                // The focus of a notification: in SubscriptionStatus, and as a part of Parameters.
                let part = fields.get("valueReference").filter(|_| text("name") == Some("focus"));
                let focus = fields.get("focus").or(part);
                if let Some(reference) = focus.and_then(|focus| focus.get("reference")?.as_str()) {
                    let of_appointments = reference.split('/').any(|part| OF_APPOINTMENTS.contains(&part));
                    self.others |= !of_appointments;
                }
                // A row of a table of Open Dental: an appointment has the key of its patient, too.
                let has = |name: &str| fields.contains_key(name);
                self.others |= has("PatNum") && !has("AptNum");
                fields.values().for_each(|it| self.collect(it, depth + 1));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use actix_web::http::header::{HeaderName, HeaderValue};
    use engine::setup::secret::Secret;
    use framework::values::secret::sign;

    use super::*;

    fn accepted(scheme: EventScheme, sent: &str, report: &'static str) -> bool {
        let events = EhrEvents { secret: Some(Secret::new("0123456789abcdef")), scheme, header: "x-event".to_owned() };
        let mut headers = HeaderMap::new();
        headers.insert(HeaderName::from_static("x-event"), HeaderValue::from_str(sent).unwrap());
        accepts(&events, &headers, &Bytes::from_static(report.as_bytes()))
    }

    #[test]
    fn the_header_must_have_the_whole_secret() {
        assert!(accepted(EventScheme::Header, "0123456789abcdef", "{}"));
        for wrong in ["", "0123456789abcde", "0123456789abcdeg", "0123456789abcdef0"] {
            assert!(!accepted(EventScheme::Header, wrong, "{}"), "{wrong}");
        }
    }

    #[test]
    fn a_signature_in_hex_or_base64_must_be_of_the_report() {
        let tag = sign(b"0123456789abcdef", b"{}");
        for sent in [hex::encode(tag), format!("sha256={}", hex::encode(tag)), BASE64.encode(tag)] {
            assert!(accepted(EventScheme::Hmac, &sent, "{}"), "{sent}");
            assert!(!accepted(EventScheme::Hmac, &sent, "{ }"), "{sent}");
        }
        // Neither the secret itself nor a part of the signature is enough.
        for wrong in ["", "0123456789abcdef", &hex::encode(&tag[..16]), "sha256="] {
            assert!(!accepted(EventScheme::Hmac, wrong, "{}"), "{wrong}");
        }
    }

    #[test]
    fn without_a_secret_no_report_is_accepted() {
        let of_no_secret = hex::encode(sign(b"", b"{}"));
        for (scheme, sent) in [(EventScheme::Header, ""), (EventScheme::Hmac, of_no_secret.as_str())] {
            let events = EhrEvents { scheme, header: "x-event".to_owned(), ..EhrEvents::default() };
            let mut headers = HeaderMap::new();
            headers.insert(HeaderName::from_static("x-event"), HeaderValue::from_str(sent).unwrap());
            assert!(!accepts(&events, &headers, &Bytes::from_static(b"{}")));
        }
    }

    #[test]
    fn a_report_concerns_appointments_unless_it_names_other_records() {
        let appointments = [
            "",
            "not json",
            "{}",
            "[]",
            r#"{"resourceType":"Appointment","participant":[{"actor":{"reference":"Patient/7"}}]}"#,
            r#"{"resourceType":"Bundle","type":"subscription-notification","entry":[{"resource":
                {"resourceType":"Parameters","parameter":[{"name":"topic"}]}},
                {"resource":{"resourceType":"Appointment"}}]}"#,
            r#"{"resourceType":"Bundle","entry":[{"resource":{"resourceType":"SubscriptionStatus",
                "notificationEvent":[{"focus":{"reference":"https://ehr.example/Appointment/5"}}]}}]}"#,
            r#"{"resourceType":"Parameters","parameter":[{"name":"notification-event","part":[
                {"name":"focus","valueReference":{"reference":"Appointment/5"}}]}]}"#,
            r#"[{"AptNum":5,"PatNum":7}]"#,
        ];
        for report in appointments {
            assert!(!concerns_everything(&HeaderMap::new(), report.as_bytes()), "{report}");
        }
        let others = [
            r#"{"resourceType":"Patient"}"#,
            r#"{"resourceType":"Schedule"}"#,
            r#"{"resourceType":"Bundle","entry":[{"resource":{"resourceType":"Appointment"}},
                {"resource":{"resourceType":"Patient"}}]}"#,
            r#"{"resourceType":"SubscriptionStatus","notificationEvent":[{"focus":{"reference":"Slot/5"}}]}"#,
            r#"{"resourceType":"Parameters","parameter":[{"name":"notification-event","part":[
                {"name":"focus","valueReference":{"reference":"https://ehr.example/Slot/5"}}]}]}"#,
            r#"[{"PatNum":7}]"#,
        ];
        for report in others {
            assert!(concerns_everything(&HeaderMap::new(), report.as_bytes()), "{report}");
        }
    }

    #[test]
    fn the_table_of_open_dental_is_in_a_header() {
        let concerns = |event: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(HeaderName::from_static("event-type"), HeaderValue::from_static(event));
            concerns_everything(&headers, br#"[{"ProvNum":3}]"#)
        };
        assert_eq!((concerns("WatchTable: Appointment"), concerns("WatchTable: AppointmentDeleted")), (false, false));
        assert_eq!((concerns("WatchTable: Schedule"), concerns("WatchTable:Patient")), (true, true));
        assert!(!concerns("UiEventType: PatientSelected"));
    }

    #[test]
    fn a_deep_report_is_not_followed_to_its_end() {
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        assert!(!concerns_everything(&HeaderMap::new(), deep.as_bytes()));
    }

    #[test]
    fn a_report_for_another_node_is_short() {
        let most = 10 << 20;
        assert_eq!((max_body("/ehr_events/5", most), max_body("/patients", most)), (MAX_REPORT, most));
        assert_eq!(max_body("/ehr_events/5", 9), 9);
    }

    #[test]
    fn the_path_contains_the_id_of_the_source() {
        assert_eq!((source_of("/ehr_events/5"), source_of("/ehr_events/5/Appointment/7")), (Some(5), Some(5)));
        assert_eq!((source_of("/ehr_events/"), source_of("/ehr_events/x"), source_of("/other/5")), (None, None, None));
    }
}

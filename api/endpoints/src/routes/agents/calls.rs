//! Tool calls as requests of intents, and the responses of intents as results of tools.

use actix_web::{
    dev::ServiceRequest,
    http::{
        Method, StatusCode, Uri,
        header::{
            ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, IF_NONE_MATCH, TRANSFER_ENCODING, USER_AGENT,
        },
    },
    web::Bytes,
};
use chrono_tz::Tz;
use engine::{commands::DERIVED_KEY, records::demographics::name};
use framework::{
    access::{idempotency, keys::ApiKey},
    http::{context::TOOL, version_header},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Map;
use sha2::{Digest, Sha256};

use super::tools::{ACTION, KEY, LOCATION, ServedTool, ToolRoute, VERSION, omit_patients};
use crate::prelude::*;

/// User-Agent of the requests of intents, because platforms often send the default one of their library.
const AGENT: HeaderValue = HeaderValue::from_static("practice-sync-mcp");
/// For the patient if the arguments, the tokens or the permissions are wrong. `problems` are for the model.
const WRONG_CALL: &str = "One moment please, I need to check one of the details.";
/// For the patient if the service is busy.
const BUSY: &str = "I cannot reach the practice's system at the moment; please wait a little.";

/// The characters that are encoded in a query.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

type Arguments = Map<String, Value>;

/// A request of an intent.
pub(super) struct IntentRequest {
    tool: &'static str,
    method: Method,
    uri: Uri,
    body: Bytes,
}

/// The location of a call: its own, or that of the key.
pub(super) fn place_of(places: &[OpenLocation], arguments: &mut Arguments) -> Result<OpenLocation, String> {
    let given = arguments.remove(LOCATION).filter(|id| !id.is_null());
    let named = |wrong: &str| {
        let names: Vec<String> =
            places.iter().take(20).map(|it| format!("{} ({})", it.setup.id, it.setup.name)).collect();
        format!("{LOCATION} {wrong}: send one of {}.", names.join(", "))
    };
    match (given, places) {
        (_, []) => Err("The API key has no open location.".to_owned()),
        (None, [only]) => Ok(only.clone()),
        (None, _) => Err(named("is missing")),
        (Some(id), _) => {
            let id = id.as_u64().or_else(|| id.as_str()?.trim().parse().ok());
            let found = places.iter().find(|it| Some(u64::from(it.setup.id.0)) == id);
            found.cloned().ok_or_else(|| named("is no location of this API key"))
        }
    }
}

impl IntentRequest {
    /// Converts the arguments of a call. The intent itself checks them.
    pub(super) fn new(
        tool: &ServedTool,
        mut arguments: Arguments,
        key: &ApiKey,
        place: &OpenLocation,
    ) -> Result<IntentRequest, String> {
        let target = tool_route(tool, &mut arguments)?;
        let route = target.route;
        arguments.remove(KEY);
        let mut query = format!("subdomain={}", utf8_percent_encode(&place.institution.subdomain, ENCODED));
        if target.at_location {
            query.push_str(&format!("&{LOCATION}={}", place.setup.id));
        }
        let body = if route.method == Method::GET {
            for (name, value) in &arguments {
                let text = match value {
                    Value::Null => continue,
                    Value::String(text) => text.clone(),
                    Value::Bool(_) | Value::Number(_) => value.to_string(),
                    Value::Array(_) | Value::Object(_) => return Err(format!("{name} must be a text.")),
                };
                let [name, text] = [name, &text].map(|part| utf8_percent_encode(part, ENCODED));
                query.push_str(&format!("&{name}={text}"));
            }
            Bytes::new()
        } else {
            if target.takes(KEY) {
                let derived = derived_key(key.id(), tool.tool.name, &arguments);
                arguments.insert(KEY.to_owned(), Value::String(derived));
            }
            Bytes::from(Value::Object(arguments).to_string())
        };
        let uri: Result<Uri, _> = format!("{}?{query}", route.path).parse();
        let uri = uri.map_err(|_| "The arguments are too long.".to_owned())?;
        Ok(IntentRequest { tool: tool.tool.name, method: route.method.clone(), uri, body })
    }

    /// Turns the request of the message into this one. Returns the body.
    pub(super) fn redirect(self, request: &mut ServiceRequest) -> Bytes {
        let IntentRequest { tool, method, uri, body } = self;
        redirect(request, method, uri);
        let headers = request.headers_mut();
        for name in [ACCEPT, CONTENT_LENGTH, IF_NONE_MATCH, TRANSFER_ENCODING, idempotency::KEY] {
            headers.remove(name);
        }
        let set: [(HeaderName, HeaderValue); 5] = [
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (CONTENT_LENGTH, HeaderValue::from(body.len())),
            (USER_AGENT, AGENT),
            (version_header::VERSION, HeaderValue::from_static(VERSION.name())),
            (TOOL, HeaderValue::from_static(tool)),
        ];
        for (name, value) in set {
            headers.insert(name, value);
        }
        body
    }
}

/// Changes the method and the target of a request, as middleware does.
pub(super) fn redirect(request: &mut ServiceRequest, method: Method, uri: Uri) {
    request.match_info_mut().get_mut().update(&uri);
    let head = request.head_mut();
    (head.method, head.uri) = (method, uri);
}

/// Returns the route that `action` selects.
fn tool_route<'t>(tool: &'t ServedTool, arguments: &mut Arguments) -> Result<&'t ToolRoute, String> {
    if let [only] = tool.routes.as_slice() {
        return Ok(only);
    }
    let given = arguments.remove(ACTION);
    let found = tool.routes.iter().find(|it| given.as_ref().is_some_and(|given| given == it.action));
    found.ok_or_else(|| {
        let actions: Vec<&str> = tool.routes.iter().map(|it| it.action).collect();
        format!("{ACTION} must be {}.", actions.join(" or "))
    })
}

/// Derives the idempotency key of a call, so that a repeated call is the same request. A booking is identified by its
/// tokens and by the names and dates of birth of its patients.
fn derived_key(key_id: String, tool: &str, arguments: &Arguments) -> String {
    let text =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    let mut parts = vec![key_id, tool.to_owned()];
    let whole = Value::Object(arguments.clone());
    let bookings = whole.get("bookings").and_then(Value::as_array);
    let is_booking = whole.get("patient").is_some() || bookings.is_some();
    if is_booking {
        for one in bookings.map_or(std::slice::from_ref(&whole), Vec::as_slice) {
            let patient = &one["patient"];
            let names = ["first_name", "last_name"].map(|part| name::fold(&text(patient, part)));
            parts.push(text(one, "slot_token"));
            parts.extend(names);
            let born = text(patient, "date_of_birth");
            // A model may repeat a date in another form.
            parts.push(birth_date(Date::MAX).text(&born).map_or(born, |date| date.to_string()));
        }
    } else {
        let names = ["booking_ref", "visit_token", "slot_token", "reason"];
        parts.extend(names.map(|name| text(&whole, name)));
    }
    let mut hash = Sha256::new();
    for part in &parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    format!("{DERIVED_KEY}{}", hex::encode(hash.finalize()))
}

/// Converts the response of an intent into the result of the tool. Most clients show a model no headers, so the facts
/// contain the seconds to wait.
pub(super) fn result(status: StatusCode, answer: Value, retry_after: Option<u64>, today: Date, zone: Tz) -> Value {
    let Value::Object(mut answer) = answer else {
        let facts = json!({"reason": Failure::InternalError});
        return tool_result(BUSY, facts, true, today, zone);
    };
    let message = answer.remove("message");
    let message = message.as_ref().and_then(Value::as_str).unwrap_or_default();
    answer.remove("ok");
    if status.is_success() {
        let mut facts = Value::Object(answer);
        omit_patients(&mut facts);
        return tool_result(message, facts, false, today, zone);
    }
    let speech = match status.as_u16() {
        400 | 403 | 404 | 408 | 410 | 413 | 415 => WRONG_CALL,
        429 | 500 => BUSY,
        503 if answer.get("reason") != Some(&json!(Failure::ScheduleOfNameNotRead)) => BUSY,
        // Only names of fields have underscores.
        _ if message.contains('_') => WRONG_CALL,
        _ => message,
    };
    for name in ["code", "data"] {
        answer.remove(name);
    }
    let problems = answer.remove("error").unwrap_or_else(|| json!([message]));
    answer.insert("problems".to_owned(), problems);
    if let Some(seconds) = retry_after {
        answer.insert("retry_after_seconds".to_owned(), json!(seconds));
    }
    tool_result(speech, Value::Object(answer), true, today, zone)
}

/// Returns the result for a call that no intent receives.
pub(super) fn refusal(problem: &str, today: Date, zone: Tz) -> Value {
    let facts = json!({"reason": Failure::InvalidRequest, "problems": [problem]});
    tool_result(WRONG_CALL, facts, true, today, zone)
}

fn tool_result(speech: &str, facts: Value, is_error: bool, today: Date, zone: Tz) -> Value {
    let structured = json!({"speech": speech, "today": today.to_string(), "timezone": zone.name(), "facts": facts});
    let text = structured.to_string();
    json!({"content": [{"type": "text", "text": text}], "structuredContent": structured, "isError": is_error})
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn derived(key_id: &str, tool: &str, arguments: Value) -> String {
        let Value::Object(arguments) = arguments else { panic!("{arguments}") };
        derived_key(key_id.to_owned(), tool, &arguments)
    }

    fn booking(token: &str, first_name: &str, born: &str) -> Value {
        json!({"slot_token": token, "patient": {"first_name": first_name, "last_name": "Meier", "date_of_birth": born}})
    }

    #[test]
    fn a_derived_key_follows_from_slot_and_patient() {
        let first = derived("a", "book", booking("slt_1", "Zoë", "1990-02-03"));
        let mut again = booking("slt_1", " zoe ", "1990-02-03");
        again["note"] = json!("prefers mornings");
        again["patient"]["date_of_birth"] = json!("February 3 1990");
        again["patient"]["phone_number"] = json!("+1 555 010 9999");
        assert_eq!(derived("a", "book", again), first);
        for other in [
            derived("b", "book", booking("slt_1", "Zoë", "1990-02-03")),
            derived("a", "book", booking("slt_2", "Zoë", "1990-02-03")),
            derived("a", "book", booking("slt_1", "Mia", "1990-02-03")),
            derived("a", "book", booking("slt_1", "Zoë", "1990-02-04")),
            derived(
                "a",
                "book",
                json!({"bookings": [booking("slt_1", "Zoë", "1990-02-03"), booking("slt_2", "Mia", "2019-02-03")]}),
            ),
        ] {
            assert_ne!(other, first);
        }
        assert!(first.starts_with(DERIVED_KEY) && !first.contains("slt_1"));
    }

    #[test]
    fn a_move_to_another_time_has_another_key() {
        let moved = |token: &str| derived("a", "change_visit", json!({"booking_ref": "bkg_1", "slot_token": token}));
        assert_eq!(moved("slt_1"), moved("slt_1"));
        assert_ne!(moved("slt_1"), moved("slt_2"));
    }

    #[test]
    fn a_result_separates_the_sentence_from_the_facts() {
        let zone = Tz::America__New_York;
        let done = json!({"ok": true, "message": "Booked.", "replay": false});
        let answer = result(StatusCode::OK, done, None, Date(20_000), zone);
        let structured = json!({"speech": "Booked.", "today": Date(20_000).to_string(), "timezone": "America/New_York",
            "facts": {"replay": false}});
        assert_eq!((&answer["structuredContent"], &answer["isError"]), (&structured, &json!(false)));
        let text: Value = serde_json::from_str(answer["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, structured);

        let refused = json!({"ok": false, "message": "limit must be a number.", "code": false, "reason": "invalid_request",
            "error": ["limit must be a number."], "data": null, "description": null});
        let answer = result(StatusCode::BAD_REQUEST, refused, None, Date(20_000), zone);
        let facts = &answer["structuredContent"]["facts"];
        assert_eq!((&answer["isError"], &facts["reason"]), (&json!(true), &json!("invalid_request")));
        assert_eq!(facts["problems"], json!(["limit must be a number."]));
        assert_eq!(answer["structuredContent"]["speech"], json!(WRONG_CALL));
        assert_eq!((facts.get("ok"), facts.get("error")), (None, None));
    }

    #[test]
    fn names_of_fields_and_tokens_are_not_read_to_the_patient() {
        let speech = |status: u16, message: &str| {
            let refused = json!({"ok": false, "message": message, "reason": "any", "error": [message]});
            let answer = result(StatusCode::from_u16(status).unwrap(), refused, None, Date(20_000), Tz::UTC);
            assert_eq!(answer["structuredContent"]["facts"]["problems"], json!([message]));
            answer["structuredContent"]["speech"].clone()
        };
        for (status, message) in [
            (404, "Unknown visit; please find the visit again."),
            (410, "The visit token has expired; please find the visit again."),
            (422, "The practice needs more to register the patient: date_of_birth, phone_number."),
            (422, "slot_token was offered for another appointment type."),
        ] {
            assert_eq!(speech(status, message), json!(WRONG_CALL), "{message}");
        }
        for message in ["Please call the practice.", "That day can no longer be booked; please choose a later day."] {
            assert_eq!(speech(422, message), json!(message));
        }
    }
}

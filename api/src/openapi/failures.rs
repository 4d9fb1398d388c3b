//! The failures of an endpoint, by status.

use actix_web::http::StatusCode;
use serde_json::{Map, Value, json};

use super::schemas::Schemas;
use crate::{
    http::{
        endpoint::Access,
        errors::ApiError,
        rate_limit::{Per, RateLimitState},
    },
    routes::route::Route,
    values::reasons::Reason,
};

/// Returns every failure status with its meaning and a sample error.
fn all() -> Vec<(u16, &'static str, ApiError)> {
    let message = |text: &str| text.to_owned();
    vec![
        (400, "The request is invalid; all problems are listed.", ApiError::bad("location_id is missing.")),
        (401, "The API key or the bearer token is not accepted.", ApiError::Token.because(Reason::TokenExpired)),
        (
            403,
            "The key cannot reach this institution, location or endpoint, or no application is named in `User-Agent`.",
            ApiError::Forbidden.because(Reason::SubdomainOutOfReach),
        ),
        (
            404,
            "The record does not exist for this key, or the version is missing or does not have this endpoint.",
            ApiError::location_not_found(7),
        ),
        (408, "The body did not arrive in time.", ApiError::Timeout),
        (
            409,
            "The request conflicts with an earlier one.",
            ApiError::Conflict(message("The Idempotency-Key was used with another request.")),
        ),
        (
            410,
            "The offer has expired.",
            ApiError::Conflict(message("The offer of this slot has expired; please search for slots again.")),
        ),
        (413, "The body is too large.", ApiError::TooLarge { limit: 1_048_576 }),
        (
            415,
            "The body is not JSON, or is encoded.",
            ApiError::MediaType(message("The body must be JSON, sent with Content-Type: application/json.")),
        ),
        (
            422,
            "The request is valid, but refused.",
            ApiError::Refused(message("The practice's health record system cannot do this.")),
        ),
        (
            429,
            "Too many requests for this API key, or too many from this address with a wrong key, token or code.",
            ApiError::RateLimit {
                retry_after: 1,
                limit: RateLimitState { per: Per::Endpoint, limit: 10, remaining: 0, reset: 1 },
            },
        ),
        (
            500,
            "A server error. After a failed create, read the record back before sending it again.",
            ApiError::Internal,
        ),
        (
            503,
            "The service is busy, or its storage is full, failed or damaged. Retry after `Retry-After`.",
            ApiError::Unavailable { retry_after: 5 },
        ),
    ]
}

fn statuses(route: &Route) -> Vec<u16> {
    let mut statuses = vec![400, 401, 403, 404, 429, 500, 503];
    if route.has_body() {
        statuses.extend([408, 413, 415]);
    }
    if route.takes_key() {
        statuses.push(409);
    }
    match route.access {
        // Only the key is read from such a request.
        Access::ApiKey => statuses.retain(|status| *status != 400),
        Access::Code => statuses.retain(|status| *status != 401),
        Access::Token | Access::Anyone => {}
    }
    statuses.extend(route.failures);
    statuses.sort_unstable();
    statuses.dedup();
    statuses
}

pub(super) fn responses(route: &Route, schemas: &mut Schemas) -> Map<String, Value> {
    let mut responses = Map::new();
    for status in statuses(route) {
        let own = route.failure_view.filter(|_| route.failures.contains(&status));
        let response = match own {
            None => json!({"$ref": format!("#/components/responses/{}", name(status))}),
            Some(form) => {
                let reason = schemas.view(form);
                let mut response = component(status);
                let example = refusal(route, status);
                response["content"]["application/json"] =
                    json!({"schema": {"anyOf": [reason, envelope()]}, "example": example});
                response
            }
        };
        responses.insert(status.to_string(), response);
    }
    let reason = schemas.view(|views| views.subschema_for::<Reason>());
    schemas.named("Failure", schema(&reason));
    responses
}

/// Returns a refusal of the booking intent with the most common reason of the status.
fn refusal(route: &Route, status: u16) -> Value {
    let of_booking = ["/intent/booking/status", "/intent/booking/cancel"].contains(&route.path);
    let (reason, message) = match status {
        404 if of_booking => (Reason::BookingNotFound, "There is no booking with the reference bkg_6f1c9a."),
        404 => (Reason::SlotNotFound, "Unknown slot; please search for slots again."),
        410 => (Reason::SlotExpired, "The offer of this slot has expired; please search for slots again."),
        422 => (
            Reason::PatientFieldsRequired,
            "The practice needs more to register the patient: date_of_birth, phone_number.",
        ),
        503 => (
            Reason::ScheduleNotRead,
            "The schedule of Main Street has not been read yet, so its free slots are not known. Please try again in a minute.",
        ),
        _ if of_booking => (Reason::BookingNotOpen, "The booking has ended or can no longer be changed."),
        _ => (
            Reason::SlotTaken,
            "Unfortunately this time is no longer available, please go back and choose another time.",
        ),
    };
    let description = Some(reason.advice()).filter(|advice| !advice.is_empty());
    let mut refusal = json!({
        "ok": false, "reason": reason, "message": message,
        "code": false, "description": description, "error": [message], "data": null,
    });
    match reason {
        Reason::SlotTaken => {
            refusal["alternatives"] = json!([{
                "slot_token": "slt_4f1c9a", "start_iso": "2026-12-01T15:00:00Z", "start_local": "Tue, Dec 1 2026, 10:00 AM EST",
                "duration_minutes": 30, "provider": "Dr. Anna Ash", "provider_id": 1, "operatory_id": 1,
                "location": {"location_id": 1, "name": "Main Street", "address": "1 Main Street, Springfield, NY 10001"},
                "expires_at": "2026-11-20T15:00:00.000Z",
            }])
        }
        Reason::PatientFieldsRequired => refusal["missing_fields"] = json!(["date_of_birth", "phone_number"]),
        _ => {}
    }
    refusal
}

pub(super) fn components() -> Map<String, Value> {
    all().iter().map(|(status, ..)| (name(*status), component(*status))).collect()
}

/// Returns the name of a status, such as `TooManyRequests`.
fn name(status: u16) -> String {
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or_default();
    reason.split([' ', '-']).collect()
}

fn component(status: u16) -> Value {
    let known = all().into_iter().find(|(known, ..)| *known == status);
    let (_, meaning, error) = known.expect("every failure status of a route is listed above");
    let mut headers = json!({"X-Request-Id": request_id(), "X-Ignored-Parameters": ignored()});
    if [429, 503].contains(&status) {
        headers["Retry-After"] =
            json!({"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}});
    }
    if status == 429 {
        rate_headers(&mut headers);
    }
    let (reason, advice) = (error.reason(), error.advice());
    let description = Some(advice).filter(|advice| !advice.is_empty());
    let example = json!({
        "code": false, "reason": reason, "description": description, "error": error.messages(), "data": null,
    });
    json!({
        "description": meaning,
        "headers": headers,
        "content": {"application/json": {"schema": envelope(), "example": example}},
    })
}

/// Adds the headers of the bucket with the fewest remaining calls. Callers without a limit do not receive them.
pub(super) fn rate_headers(headers: &mut Value) {
    for (name, meaning) in [
        ("RateLimit-Limit", "Calls a full bucket holds."),
        ("RateLimit-Remaining", "Calls left in it."),
        ("RateLimit-Reset", "Seconds until it is full again."),
    ] {
        headers[name] = json!({"description": meaning, "schema": {"type": "integer", "minimum": 0}});
    }
}

pub(super) const REQUEST_ID: &str = "Id of the request, for support. The value sent by the caller if it has up to 128 letters, digits and `-_.:`; \
otherwise a new one.";

/// Describes a header of every response.
pub(super) fn request_id() -> Value {
    json!({"description": REQUEST_ID, "schema": {"type": "string"}})
}

pub(super) fn ignored() -> Value {
    let about = "Parameters and fields that were ignored, separated by commas; characters other than ASCII are percent-encoded.";
    json!({"description": about, "schema": {"type": "string"}})
}

fn envelope() -> Value {
    json!({"$ref": "#/components/schemas/Failure"})
}

fn schema(reason: &Value) -> Value {
    json!({
        "type": "object",
        "description": "The envelope of all failures.",
        "required": ["code", "reason", "description", "error", "data"],
        "properties": {
            "code": {"type": "boolean", "const": false, "description": "False: the request was not carried out."},
            "reason": reason,
            "description": {"type": ["string", "null"],
                "description": "Cause and fix, where one message has several causes; also names ignored parameters and fields."},
            "error": {"type": "array", "minItems": 1, "items": {"type": "string"}, "description": "One message per problem."},
            "data": {"type": "null", "description": "Always null: a failure has no record."},
        },
    })
}

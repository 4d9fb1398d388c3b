//! The failures of an endpoint, by status.

use actix_web::http::StatusCode;
use framework::http::{
    endpoint::Access,
    rate_limit::{Exceeded, Per, RateLimitState},
};
use serde_json::Map;

use super::schemas::Schemas;
use crate::{prelude::*, routes::route::Route};

/// Every failure status with its meaning and a typical failure.
const STATUSES: [(u16, &str, Failure); 13] = [
    (400, "The request is invalid; all problems are listed.", Failure::InvalidRequest),
    (401, "The API key or the bearer token is not accepted.", Failure::TokenExpired),
    (
        403,
        "The key cannot reach this institution, location or endpoint, or no application is named in `User-Agent`.",
        Failure::SubdomainOutOfReach,
    ),
    (
        404,
        "The record does not exist for this key, or the version is missing or does not have this endpoint.",
        Failure::LocationNotFound,
    ),
    (408, "The body did not arrive in time.", Failure::RequestTimeout),
    (409, "The request conflicts with an earlier one.", Failure::Conflict),
    (410, "The offer has expired.", Failure::Conflict),
    (413, "The body is too large.", Failure::BodyTooLarge),
    (415, "The body is not JSON, or is encoded.", Failure::UnsupportedMediaType),
    (422, "The request is valid, but refused.", Failure::Refused),
    (
        429,
        "Too many requests for this API key, or too many from this address with a wrong key, token or code.",
        Failure::RateLimited,
    ),
    (
        500,
        "A server error. After a failed create, read the record back before sending it again.",
        Failure::InternalError,
    ),
    (
        503,
        "The service is busy, or its storage is full, failed or damaged. Retry after `Retry-After`.",
        Failure::Unavailable,
    ),
];

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
        let response = match route.failure_view {
            None => json!({"$ref": format!("#/components/responses/{}", name(status))}),
            Some(form) => {
                let mut response = component(status);
                let content = &mut response["content"]["application/json"];
                content["schema"] = schemas.view(form);
                let example = &mut content["example"];
                if route.failures.contains(&status) {
                    *example = refusal(route, status);
                } else {
                    example["message"] = example["error"][0].clone();
                    example["ok"] = false.into();
                }
                response
            }
        };
        responses.insert(status.to_string(), response);
    }
    let reason = schemas.view(|views| views.subschema_for::<Failure>());
    schemas.named("Failure", schema(&reason));
    responses
}

/// Returns a refusal of the booking intent with the most common reason of the status.
fn refusal(route: &Route, status: u16) -> Value {
    let of_booking = ["/intent/booking/status", "/intent/booking/cancel", "/intent/booking/confirm"];
    let of_booking = of_booking.contains(&route.path);
    let reschedules = route.path == "/intent/booking/reschedule";
    let failure = match status {
        404 if of_booking || reschedules => Failure::BookingNotFound,
        404 => Failure::SlotNotFound,
        410 if of_booking => Failure::VisitTokenExpired,
        410 => Failure::OfferExpired,
        422 if of_booking || reschedules => Failure::ChangeTooLate,
        422 => Failure::BookingFieldsRequired,
        503 => Failure::ScheduleOfNameNotRead,
        _ if of_booking => Failure::BookingNotOpen,
        _ => Failure::OfferTaken,
    };
    let message = match failure {
        Failure::BookingNotOpen => "The booking has ended or can no longer be changed.".to_owned(),
        _ => failure.example(),
    };
    let description = Some(failure.advice()).filter(|advice| !advice.is_empty());
    let mut refusal = json!({
        "ok": false, "reason": failure, "message": message,
        "code": false, "description": description, "error": [message], "data": null,
    });
    match failure {
        Failure::OfferTaken => {
            refusal["alternatives"] = json!([{
                "slot_token": "slt_4f1c9a", "start_iso": "2026-12-01T15:00:00Z", "start_local": "Tue, Dec 1 2026, 10:00 AM EST",
                "duration_minutes": 30, "provider": "Dr. Anna Ash", "provider_id": 1, "operatory_id": 1,
                "location": {"location_id": 1, "name": "Main Street", "address": "1 Main Street, Springfield, NY 10001"},
                "expires_at": "2026-11-20T15:00:00.000Z",
            }])
        }
        Failure::BookingFieldsRequired => refusal["missing_fields"] = json!(["date_of_birth", "phone_number"]),
        _ => {}
    }
    refusal
}

pub(super) fn components() -> Map<String, Value> {
    STATUSES.iter().map(|(status, ..)| (name(*status), component(*status))).collect()
}

/// Returns the name of a status, such as `TooManyRequests`.
fn name(status: u16) -> String {
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or_default();
    reason.split([' ', '-']).collect()
}

fn component(status: u16) -> Value {
    let known = STATUSES.into_iter().find(|(known, ..)| *known == status);
    let (_, meaning, failure) = known.expect("every failure status of a route is listed above");
    let mut headers = json!({"X-Request-Id": request_id(), "X-Ignored-Parameters": ignored()});
    if [429, 503].contains(&status) {
        headers["Retry-After"] =
            json!({"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}});
    }
    if status == 429 {
        rate_headers(&mut headers);
    }
    let message = if status == 410 { Failure::OfferExpired.example() } else { failure.example() };
    let limited = rate_limited();
    let advice = if status == 429 { limited.advice() } else { failure.advice() };
    let description = Some(advice).filter(|advice| !advice.is_empty());
    let example = json!({
        "code": false, "reason": failure, "description": description, "error": [message], "data": null,
    });
    json!({
        "description": meaning,
        "headers": headers,
        "content": {"application/json": {"schema": envelope(), "example": example}},
    })
}

fn rate_limited() -> ApiError {
    let limit_state = RateLimitState { per: Per::Endpoint, limit: 10, remaining: 0, reset: 1 };
    Exceeded { limit_state, retry_after: 1 }.into()
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

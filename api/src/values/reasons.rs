//! Reasons of failures: stable words for programs, next to the message for people. One list for the whole API.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// Declares the list, with cause and fix where the message of the failure lacks them.
macro_rules! reasons {
    ($($name:ident $word:literal $advice:literal,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Reason { $($name,)* }

        impl Reason {
            pub(crate) const ALL: &[Reason] = &[$(Reason::$name,)*];

            pub(crate) fn word(self) -> &'static str {
                match self { $(Reason::$name => $word,)* }
            }

            /// Returns cause and fix; empty if the message is sufficient.
            pub(crate) fn advice(self) -> &'static str {
                match self { $(Reason::$name => $advice,)* }
            }
        }
    };
}

#[rustfmt::skip]
reasons! {
    // 400
    InvalidRequest "invalid_request" "",
    InvalidJson "invalid_json" "",
    CursorExpired "cursor_expired" "",
    UploadNotSupported "upload_not_supported" "",
    OperatoryRequired "operatory_required" "The location has `map_by_operatory`: send the operatory of the slot.",
    OutsideWorkingHours "outside_working_hours"
        "The provider has no working hours in this operatory that cover the whole time from start to end. GET /available_slots lists the free slots.",
    AppointmentTypeNotAccepted "appointment_type_not_accepted"
        "The working hours at that time accept only other appointment types. Call GET /available_slots with the appointment_type_id of the booking.",
    AppointmentPast "appointment_past" "",
    AppointmentCancelled "appointment_cancelled" "",
    AppointmentFailed "appointment_failed" "Book another time.",
    AppointmentNotOpen "appointment_not_open" "",
    AppointmentNotSynced "appointment_not_synced"
        "The health record system does not have the appointment yet. Try again once its `foreign_id` is set; POST /intent/booking/cancel cancels a booking before that.",
    UnavailableNotSupported "unavailable_not_supported" "Blocks of unavailable time must be created in the health record system.",
    NotSupportedByEhr "not_supported_by_ehr"
        "The location's health record system does not support this. GET /locations/{id}/capabilities lists what it supports.",
    HourOfEhr "hour_of_ehr" "",
    TooManyHours "too_many_hours" "",
    NotUsable "not_usable" "It is no longer in use, or it comes from the health record system and must be changed there.",
    PatientOfOtherEhr "patient_of_other_ehr"
        "The patient belongs to a location with another health record system. Register the patient at this location first.",
    PatientNotConverted "patient_not_converted"
        "In the health record system the patient is new until the first visit. Try again after the practice has converted the patient.",
    DuplicatePatient "duplicate_patient"
        "Use the patient named in the message, or send `return_existing_if_match`: true to get that patient.",
    WriteNotFailed "write_not_failed" "",
    WriteOnItsWay "write_on_its_way" "",
    WriteWasPutBack "write_was_put_back" "",
    WriteOfPatientFirst "write_of_patient_first" "",
    NoDeletionsStopped "no_deletions_stopped" "",
    // 401
    InvalidCredentials "invalid_credentials"
        "`Authorization` must hold the API key as it is, without `Bearer`. A bearer token is not accepted here.",
    TokenMissing "token_missing"
        "The Authorization header is missing, empty or repeated. Exchange the key at POST /authenticates and send the token as Bearer.",
    TokenMalformed "token_malformed" "The header must read `Authorization: Bearer <token>`, with the token of POST /authenticates.",
    ApiKeyInsteadOfToken "api_key_instead_of_token"
        "This is not a bearer token. Exchange the key at POST /authenticates and send the token as Bearer.",
    TokenExpired "token_expired" "The bearer token has expired. Get a new one from POST /authenticates.",
    TokenInvalid "token_invalid" "The bearer token was altered or was not issued by this service. Get a new one from POST /authenticates.",
    KeyRevoked "key_revoked" "The API key of this token is no longer valid. Authenticate with another key.",
    OperatorTokenMissing "operator_token_missing"
        "Operators send `Authorization: Bearer <token>` with a token of `practice-sync operators add`; API keys open nothing here.",
    OperatorTokenUnknown "operator_token_unknown"
        "The token is not one of an operator, or was revoked. API keys, and tokens of POST /authenticates, open nothing here.",
    // 403
    SubdomainMissing "subdomain_missing" "Send `subdomain` in the query, not in the body.",
    SubdomainOutOfReach "subdomain_out_of_reach"
        "This API key reaches no institution of this subdomain. Subdomains are in lower case; sandbox keys do not reach production practices, and production keys do not reach sandbox practices.",
    GrantMissing "grant_missing" "",
    RoleMissing "role_missing" "",
    LocationPending "location_pending" "The location is not active yet; it refuses all calls until the practice is set up.",
    OutOfReach "out_of_reach" "The request concerns locations or records that this API key does not reach.",
    UserAgentRefused "user_agent_refused" "Error 1010: the first product in User-Agent is a library, or there is none.",
    MessagesNotSupported "messages_not_supported" "No health record system takes messages through this API.",
    OriginRefused "origin_refused" "Only the browser extension may connect.",
    Forbidden "forbidden" "",
    // 404
    NotFound "not_found" "",
    LocationNotFound "location_not_found"
        "Unknown, closed, or out of this API key's reach. Send the id of a location, not of an institution: GET /locations lists them.",
    VersionMissing "version_missing" "Send the header `Svc-Api-Version`, such as `Svc-Api-Version: v3.0.0`.",
    VersionUnknown "version_unknown" "`Svc-Api-Version` must be one of v3.0.0, v20240412, v3.1.0, v2.2.2, v2.",
    VersionWithoutEndpoint "version_without_endpoint" "",
    UnknownPath "unknown_path" "Unknown path. GET /docs lists all paths.",
    TrailingSlash "trailing_slash" "Paths have no trailing slash.",
    SlotNotFound "slot_not_found" "",
    BookingNotFound "booking_not_found" "",
    // 405 to 415
    MethodNotAllowed "method_not_allowed" "",
    RequestTimeout "request_timeout" "",
    BodyTooLarge "body_too_large" "",
    UnsupportedMediaType "unsupported_media_type" "",
    // 409, 410
    Conflict "conflict" "",
    IdempotencyConflict "idempotency_conflict" "Send the request that the key was first used for, or choose a new key.",
    SlotTaken "slot_taken" "Another appointment is booked at that time. Search for free slots again.",
    BookingFailed "booking_failed" "",
    BookingNotOpen "booking_not_open" "",
    SlotExpired "slot_expired" "",
    // 422
    Refused "refused" "",
    OfEhr "of_ehr" "Its providers and operatories are made and changed in the health record system.",
    NotSimulated "not_simulated" "",
    PatientNotSynced "patient_not_synced"
        "Wait until the patient's `foreign_id` is set; GET /write_requests shows the state of the write.",
    PatientFieldsRequired "patient_fields_required" "",
    NewPatientNotSupported "new_patient_not_supported" "",
    NotBookableOnline "not_bookable_online" "",
    // 429
    RateLimited "rate_limited" "Wait for the number of seconds in `Retry-After`.",
    TooMany "too_many" "",
    // 500, 503
    InternalError "internal_error" "After a failed create read the record back before sending it again.",
    ScheduleNotRead "schedule_not_read" "",
    LocationUnavailable "location_unavailable" "Try again after the number of seconds in `Retry-After`.",
    AuditUnavailable "audit_unavailable" "Nothing is changed or shown until the operator has repaired the disk of the audit trail. Try again later.",
    Unavailable "unavailable" "Try again after the number of seconds in `Retry-After`.",
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl JsonSchema for Reason {
    fn schema_name() -> Cow<'static, str> {
        "FailureReason".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<&str> = Reason::ALL.iter().map(|reason| reason.word()).collect();
        json_schema!({
            "type": "string",
            "enum": words,
            "description": "A machine-readable reason of the failure. New values may be added; existing values keep their meaning.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_unique_single_words() {
        let mut words: Vec<&str> = Reason::ALL.iter().map(|reason| reason.word()).collect();
        assert!(words.iter().all(|word| word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')));
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), Reason::ALL.len());
    }

    #[test]
    fn advice_consists_of_full_sentences() {
        for advice in Reason::ALL.iter().map(|reason| reason.advice()).filter(|advice| !advice.is_empty()) {
            assert!(advice.ends_with('.'), "{advice}");
        }
    }
}

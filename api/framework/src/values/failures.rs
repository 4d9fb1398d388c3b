//! Failures of the API: one row each, with its status, message and reason.

use std::{borrow::Cow, fmt::Display};

use actix_web::http::StatusCode;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

struct Row {
    /// Stable word for programs. Several failures may share it.
    reason: &'static str,
    /// Cause and fix for people, empty if the message is sufficient.
    advice: &'static str,
    status: u16,
    /// Message with `{}` for each value.
    message: &'static str,
    /// Default of `Retry-After` in seconds, if any.
    retry_after: &'static [u64],
    /// Value of the message in the OpenAPI documents.
    example: &'static str,
    /// Failure that the booking intent reports instead, if any (specification 7.4).
    in_booking: &'static [Failure],
}

/// Declares the table: per reason its advice, and per failure the status and the message. `retry` sets the seconds to
/// wait, `example` a value of the message, and `as` the failure that the booking intent reports.
macro_rules! failures {
    ($($reason:literal $advice:tt {
        $($name:ident $status:literal $message:tt
            $(retry $retry:literal)? $(example $example:literal)? $(as $booking:ident)?,)+
    })+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Failure { $($($name,)+)+ }

        impl Failure {
            pub const ALL: &[Failure] = &[$($(Failure::$name,)+)+];
        }

        const ROWS: &[Row] = &[$($(Row {
            reason: $reason,
            advice: $advice,
            status: $status,
            message: $message,
            retry_after: &[$($retry)?],
            example: concat!($($example)?),
            in_booking: &[$(Failure::$booking)?],
        },)+)+];
    };
}

const NO_ACCESS: &str = "You don't have access to perform this action.";
const NO_ROUTE: &str = "Resource not found";
const TAKEN: &str = "Unfortunately this time is no longer available, please go back and choose another time.";
const WRONG: &str = "Something went wrong. Please try again or contact our support team.";
const BUSY: &str = "Gateway Time-out";
const WAIT: &str = "Try again after the number of seconds in `Retry-After`.";

#[rustfmt::skip]
failures! {
    // 400
    "invalid_request" "" {
        InvalidRequest 400 "{}" example "location_id is missing.",
        BodyTooDeep 400 "The body is nested deeper than {} levels at byte {}.",
        TooManyToSort 400 "More than {} records cannot be sorted by id: narrow start and end.",
        MalformedHttp 400 "The request is not valid HTTP/1.1.",
        HeadTooLarge 431 "The head of the request is too large or has too many headers.",
    }
    "invalid_json" "" { InvalidJson 400 "{}", }
    "cursor_expired" "" {
        CursorExpired 400 "The cursor is too old: leave it empty to start again.",
        SinceExpired 400 "since is too old: changes are stored for 30 days. Export the records again, or call without since for the current position and then list them.",
        SinceOfOtherEhr 400 "since is a position in the changes of another health record system than the location has now. Export the records again, or call without since for the current position and then list them.",
    }
    "upload_not_supported" "" { UploadNotSupported 400 "EMR does not support uploading documents.", }
    "operatory_required" "The location has `map_by_operatory`: send the operatory of the slot." {
        OperatoryRequired 400 "operatory_id is missing: this location books by operatory.",
    }
    "outside_working_hours"
    "The provider has no working hours in this operatory that cover the whole time from start to end. GET /available_slots lists the free slots." {
        OutsideWorkingHours 400 TAKEN as OfferTaken,
        OutsideWorkingHoursV2 400 "Time slot is not during working hours, please choose another time",
    }
    "appointment_type_not_accepted"
    "The working hours at that time accept only other appointment types. Call GET /available_slots with the appointment_type_id of the booking." {
        AppointmentTypeNotAccepted 400 TAKEN as OfferTaken,
        AppointmentTypeNotConfigured 400 "Provided appointment_type_id was not found to be configured for the requested slot",
    }
    "appointment_past" "" {
        AppointmentPast 400 "The appointment has started or ended and can no longer be changed." as BookingPast,
    }
    "appointment_cancelled" "" {
        AppointmentCancelled 400 "The appointment is cancelled and can no longer be changed." as BookingCancelled,
    }
    "appointment_failed" "Book another time." {
        AppointmentFailed 400 "The appointment could not be written to the health record system and cannot be changed." as BookingNotWritten,
    }
    "appointment_not_open" "" {
        AppointmentOfNoPatient 400 "The appointment has no patient; change it in the health record system." as BookingReplaced,
        AppointmentNotOpen 400 "The appointment has ended, was cancelled or failed, and can no longer be changed." as BookingNotOpen,
    }
    "appointment_not_synced"
    "The health record system does not have the appointment yet. Try again once its `foreign_id` is set; POST /intent/booking/cancel cancels a booking before that." {
        AppointmentNotSynced 400 "Cannot update appointment because it is not synced with the PMS and/or a live client",
    }
    "unavailable_not_supported" "Blocks of unavailable time must be created in the health record system." {
        UnavailableNotSupported 400 "Missing parameter appt[patient_id] with unavailable: true",
    }
    "not_supported_by_ehr" "The location's health record system does not support this. GET /locations/{id}/capabilities lists what it supports." {
        NotSupportedByEhr 400 "EMR does not support this operation.",
        AlertNotEnabled 400 "EMR does not support enabling a disabled alert; create a new one.",
        LogsNotSupported 422 "EMR does not support communication logs.",
    }
    "hour_of_ehr" "" { HourOfEhr 400 "The working hours come from the health record system: change them there.", }
    "too_many_hours" "" { TooManyHours 400 "The location has {} working hours already; remove some first.", }
    "not_usable" "It is no longer in use, or it comes from the health record system and must be changed there." {
        NotUsable 400 "{} with id {} cannot be used or changed through the API",
        TypeOfEhr 400 "{} with id {} comes from the health record system and must be changed there",
    }
    "patient_of_other_ehr" "The patient belongs to a location with another health record system. Register the patient at this location first." {
        PatientOfOtherEhr 400 "Cannot create an appointment where the patient belongs to a location from a different EHR",
    }
    "patient_not_converted" "In the health record system the patient is new until the first visit. Try again after the practice has converted the patient." {
        PatientNotConverted 400 "Cannot create an appointment where the patient attribute new_patient=true",
    }
    "duplicate_patient" "Use the patient named in the message, or send `return_existing_if_match`: true to get that patient." {
        DuplicatePatient 400 "A patient with that information already exists -id={}",
    }
    "write_not_failed" "" { WriteNotFailed 400 "The write has not failed, or was retried or dropped already.", }
    "write_on_its_way" "" { WriteOnItsWay 400 "The write is being sent or may have been written: it cannot be dropped.", }
    "write_was_put_back" "" { WriteWasPutBack 400 "The refused change was reverted: request it again.", }
    "write_of_patient_first" "" { WriteOfPatientFirst 400 "The write of its patient failed: retry that write first.", }
    // 401
    "invalid_credentials" "`Authorization` must hold the API key as it is, without `Bearer`. A bearer token is not accepted here." {
        InvalidCredentials 401 "Invalid Credentials",
    }
    "token_missing" "The Authorization header is missing, empty or repeated. Exchange the key at POST /authenticates and send the token as Bearer." {
        TokenMissing 401 NO_ACCESS,
    }
    "token_malformed" "The header must read `Authorization: Bearer <token>`, with the token of POST /authenticates." {
        TokenMalformed 401 NO_ACCESS,
    }
    "api_key_instead_of_token" "This is not a bearer token. Exchange the key at POST /authenticates and send the token as Bearer." {
        ApiKeyInsteadOfToken 401 NO_ACCESS,
    }
    "event_secret_invalid" "Send the secret of the source's `events` in the configuration, or a signature of the body with it, in the header configured there." {
        EventSecretInvalid 401 NO_ACCESS,
    }
    "token_expired" "The bearer token has expired. Get a new one from POST /authenticates." { TokenExpired 401 NO_ACCESS, }
    "token_invalid" "The bearer token was altered or was not issued by this service. Get a new one from POST /authenticates." {
        TokenInvalid 401 NO_ACCESS,
    }
    "key_revoked" "The API key of this token is no longer valid. Authenticate with another key." { KeyRevoked 401 NO_ACCESS, }
    "operator_token_missing"
    "Operators send `Authorization: Bearer <token>` with a token of `practice-sync operators add`; API keys open nothing here." {
        OperatorTokenMissing 401 NO_ACCESS,
    }
    "operator_token_unknown"
    "The token is not one of an operator, or was revoked. API keys, and tokens of POST /authenticates, open nothing here." {
        OperatorTokenUnknown 401 NO_ACCESS,
    }
    // 403
    "subdomain_missing" "Send `subdomain` in the query, not in the body." { SubdomainMissing 403 NO_ACCESS, }
    "subdomain_out_of_reach"
    "This API key reaches no institution of this subdomain. Subdomains are in lower case; sandbox keys do not reach production practices, and production keys do not reach sandbox practices." {
        SubdomainOutOfReach 403 NO_ACCESS,
    }
    "grant_missing" "" { GrantMissing 403 NO_ACCESS, }
    "role_missing" "" { RoleMissing 403 NO_ACCESS, }
    "location_pending" "The location is not active yet; it refuses all calls until the practice is set up." { LocationPending 403 NO_ACCESS, }
    "out_of_reach" "The request concerns locations or records that this API key does not reach." { OutOfReach 403 NO_ACCESS, }
    "user_agent_refused" "Error 1010: the first product in User-Agent is a library, or there is none." {
        UserAgentRefused 403 "Send a User-Agent header that names the calling application.",
    }
    "messages_not_supported" "No health record system takes messages through this API." { MessagesNotSupported 403 NO_ACCESS, }
    "origin_refused" "Only the browser extension may connect." { OriginRefused 403 NO_ACCESS, }
    "forbidden" "" { Forbidden 403 NO_ACCESS, }
    // 404
    "not_found" "" {
        NotFound 404 "{} not found",
        NotAtLocation 404 "{} not found in location {}",
        // A finished appointment leaves the location's calendar after some time.
        AppointmentNotFound 404 "Appointment not found" as BookingNotOpen,
        HourNotFound 404 "Working Hour not found",
        WriteNotFound 404 "Write Request not found",
        ReferenceNotAtLocation 400 "{} not found in location {}",
    }
    "location_not_found"
    "Unknown, closed, or out of this API key's reach. Send the id of a location, not of an institution: GET /locations lists them." {
        LocationNotFound 404 "Location with id {} not found" example "7",
    }
    "version_missing" "Send the header `Svc-Api-Version`, such as `Svc-Api-Version: v3.0.0`." { VersionMissing 404 NO_ROUTE, }
    "version_unknown" "`Svc-Api-Version` must be one of v3.0.0, v20240412, v3.1.0, v2.2.2, v2." { VersionUnknown 404 NO_ROUTE, }
    "version_without_endpoint" "" { VersionWithoutEndpoint 404 NO_ROUTE, }
    "unknown_path" "Unknown path. GET /docs lists all paths." { UnknownPath 404 NO_ROUTE, }
    "trailing_slash" "Paths have no trailing slash." { TrailingSlash 404 NO_ROUTE, }
    "slot_not_found" "" { SlotNotFound 404 "Unknown slot; please search for slots again.", }
    "booking_not_found" "" {
        BookingNotFound 404 "There is no booking with the reference {}." example "bkg_6f1c9a",
        VisitNotFound 404 "Unknown visit; please find the visit again.",
    }
    // 405 to 415
    "method_not_allowed" "" { MethodNotAllowed 405 "The method is not allowed here; allowed: {}", }
    "request_timeout" "" { RequestTimeout 408 "The request was not received in time.", }
    "body_too_large" "" { BodyTooLarge 413 "The body is larger than {} bytes." example "1048576", }
    "unsupported_media_type" "" {
        UnsupportedMediaType 415 "{}" example "The body must be JSON, sent with Content-Type: application/json.",
    }
    // 409, 410
    "conflict" "" {
        Conflict 409 "{}" example "The Idempotency-Key was used with another request.",
        ProviderHasHours 409 "The provider has working hours at location {}: remove them first.",
        NumberTaken 409 "{} with id {} was created with the same transaction_id and other data.",
    }
    "idempotency_conflict" "Send the request that the key was first used for, or choose a new key." {
        IdempotencyConflict 409 "The idempotency_key is recorded against different request data." as IdempotencyConflict,
        KeyReused 409 "The Idempotency-Key was used for a request with other data.",
    }
    "slot_taken" "Another appointment is booked at that time. Search for free slots again." {
        SlotTaken 400 TAKEN as OfferTaken,
        SlotVacating 400 TAKEN as OfferVacating,
        OfferTaken 409 TAKEN,
        OfferVacating 409 "Unfortunately this time is not available yet: what was booked there was cancelled or moved, and the time is being freed in the practice's system. Please try again later, or go back and choose another time.",
    }
    "rules_changed" "The practice changed its booking rules after this slot was offered. Search for free slots again." {
        RulesChanged 409 "{}" example "The practice is closed at that time; please choose another time." as RulesChanged,
    }
    "no_deletions_stopped" "" { NoDeletionsStopped 409 "No deletions of this resource were stopped at the location.", }
    "booking_failed" "" { BookingFailed 409 "The practice's system refused the booking; there is nothing to cancel.", }
    "booking_not_open" "" {
        BookingPast 409 "The appointment has started or ended, so the booking can no longer be changed.",
        BookingCancelled 409 "The booking is already cancelled.",
        BookingNotWritten 409 "The booking could not be entered into the practice's system.",
        BookingReplaced 409 "The practice has replaced the appointment, so only the practice can change it.",
        BookingNotOpen 409 "The booking has ended, was cancelled or failed, so it can no longer be changed.",
    }
    "slot_expired" "" {
        SlotExpired 400 TAKEN as OfferExpired,
        OfferExpired 410 "The offer of this slot has expired; please search for slots again.",
    }
    "visit_token_expired" "" { VisitTokenExpired 410 "The visit token has expired; please find the visit again.", }
    // 422
    "refused" "" {
        Refused 422 "{}" example "The practice's health record system cannot do this.",
        ChangeTooLarge 422 "The request changes too many records at once; split it into several requests.",
    }
    "of_ehr" "Its providers and operatories are made and changed in the health record system." {
        OfEhr 422 "This location has a health record system.",
    }
    "not_simulated" "" { NotSimulated 422 "{}", }
    "patient_not_synced" "Wait until the patient's `foreign_id` is set; GET /write_requests shows the state of the write." {
        PatientNotSynced 422 "The patient is not in the health record system yet; try again later.",
        AlertOfUnsyncedPatient 400 "Data source must exist",
        EntryOfUnsyncedPatient 400 WRONG,
    }
    "patient_fields_required" "" {
        PatientFieldsRequired 422 "The practice requires more patient data: {}" as BookingFieldsRequired,
        BookingFieldsRequired 422 "The practice needs more to register the patient: {}." example "date_of_birth, phone_number",
    }
    "new_patient_not_supported" "" {
        NewPatientNotSupported 422 "The practice cannot accept brand-new patients through the API." as BookingOfNewPatient,
        BookingOfNewPatient 422 "The practice cannot accept new patients this way; please call the practice.",
    }
    "patient_twice" "Book the visits of one patient at different times." {
        PatientTwice 422 "An earlier booking of the request is for the same patient at the same time.",
    }
    "not_bookable_online" "" {
        NotBookableOnline 422 "Only the practice can book appointments of this type." as BookingOfOfflineType,
        BookingOfOfflineType 422 "Only the practice can book appointments of this type; please call the practice.",
    }
    "not_bookable" "A booking rule of the practice refuses the visit: `rule` names it, and `instead` what to offer." {
        NotBookable 422 "{}" example "That day can no longer be booked; please choose a later day." as NotBookable,
    }
    "change_too_late" "" {
        ChangeTooLate 422 "The visit can no longer be changed this way: the practice needs {} of notice. Please call the practice." example "24 hours" as ChangeTooLate,
    }
    // 429
    "rate_limited" "Wait for the number of seconds in `Retry-After`." {
        RateLimited 429 "You've exceeded our rate limit. Please wait and retry.",
    }
    "too_many" "" {
        TooMany 429 "{}",
        TooManyHolds 429 "All {} holds of the location are in use; one will expire soon.",
        TooManyHoldsOfKey 429 "This key already holds {} slots at the location, the maximum: book or release some of them.",
    }
    // 500, 503
    "internal_error" "After a failed create read the record back before sending it again." { InternalError 500 WRONG, }
    "schedule_not_read" "" {
        ScheduleNotRead 503 "The practice's schedule has not been read yet, so its free slots are not known. Please try again in a minute." retry 30,
        ScheduleOfNameNotRead 503 "The schedule of {} has not been read yet, so its free slots are not known. Please try again in a minute." retry 30 example "Main Street",
    }
    "location_unavailable" WAIT {
        LocationMoved 503 "The location has just moved to another node of the service; nothing was changed. Please try again." retry 1,
        AdapterPreparing 503 "The location's adapter is being prepared." retry 5,
        AdapterRefused 503 "The location's adapter cannot be used until the operator has fixed it." retry 30,
        DataSourceChanged 503 "The location's data source was changed in the configuration; the location is not served until the operator has changed it back." retry 30,
        OutcomeUnknown 503 "It is unknown whether the request was stored. Read the record before sending the request again, or repeat it with the same idempotency key." retry 30,
        StoreAway 503 "The server's database cannot be reached; nothing was stored. Please try again soon." retry 5,
        StoreFull 503 "The server's storage is full or has failed; writes are refused. Please try again later." retry 30,
        StoreDamaged 503 "Stored records are damaged; the request fails until the operator has restored them." retry 30,
    }
    "audit_unavailable" "Nothing is changed or shown until the operator has repaired the disk of the audit trail. Try again later." {
        AuditUnavailable 503 "The server's audit trail cannot be written. Please try again later." retry 30,
    }
    "unavailable" WAIT {
        Unavailable 503 BUSY retry 1,
        QueueFull 503 BUSY retry 30,
        ResponsesFull 503 "Too many bytes of responses are waiting for clients to read them (`max_response_bytes`). Read responses completely, and try again soon." retry 5,
    }
}

impl Failure {
    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Returns the word for programs.
    pub fn reason(self) -> &'static str {
        self.row().reason
    }

    /// Returns cause and fix; empty if the message is sufficient.
    pub fn advice(self) -> &'static str {
        self.row().advice
    }

    pub fn status(self) -> StatusCode {
        StatusCode::from_u16(self.row().status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Returns the default of `Retry-After` in seconds.
    pub fn retry_after(self) -> Option<u64> {
        self.row().retry_after.first().copied()
    }

    /// Returns the failure that the booking intent reports instead. Returns `None` if it reports the common one.
    pub fn in_booking(self) -> Option<Failure> {
        self.row().in_booking.first().copied()
    }

    /// Returns the message with its values.
    pub fn message(self, values: &[&dyn Display]) -> String {
        let mut pieces = self.row().message.split("{}");
        debug_assert_eq!(pieces.clone().count(), values.len() + 1, "{self:?}");
        let first = pieces.next().unwrap_or_default().to_owned();
        values.iter().zip(pieces).fold(first, |text, (value, piece)| format!("{text}{value}{piece}"))
    }

    /// Returns the message of the OpenAPI documents.
    pub fn example(self) -> String {
        self.row().message.replace("{}", self.row().example)
    }
}

impl Serialize for Failure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.reason())
    }
}

impl JsonSchema for Failure {
    fn schema_name() -> Cow<'static, str> {
        "FailureReason".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut reasons: Vec<&str> = Failure::ALL.iter().map(|failure| failure.reason()).collect();
        reasons.dedup();
        json_schema!({
            "type": "string",
            "enum": reasons,
            "description": "A machine-readable reason of the failure. New values may be added; existing values keep their meaning.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_a_word_with_one_block_of_rows() {
        let mut reasons: Vec<&str> = ROWS.iter().map(|row| row.reason).collect();
        reasons.dedup();
        assert!(reasons.iter().all(|reason| reason.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')));
        let blocks = reasons.len();
        reasons.sort_unstable();
        reasons.dedup();
        assert_eq!(reasons.len(), blocks);
    }

    #[test]
    fn advice_consists_of_full_sentences() {
        for advice in ROWS.iter().map(|row| row.advice).filter(|advice| !advice.is_empty()) {
            assert!(advice.ends_with('.'), "{advice}");
        }
    }

    #[test]
    fn each_status_is_one_of_a_failure() {
        assert!(ROWS.iter().all(|row| (400..600).contains(&row.status)));
    }
}

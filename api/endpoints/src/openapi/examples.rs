//! Examples for the documents. The names listed here have fixed examples, so that all documents show the same practice.
//! Other request fields use the example of their kind.

use serde_json::{Value, json};

use framework::values::kinds::Shape;

/// Example texts by name of the parameter or field.
#[rustfmt::skip]
const TEXTS: &[(&str, &str)] = &[
    ("subdomain", "acme-dental"), ("start_cursor", "AAAAAAAAAAAAAAAAAAAAAQ"),
    ("end_cursor", "AAAAAAAAAAAAAAAAAAAABQ"), ("foreign_id", "1042"), ("foreign_ids", "1042"),
    ("search_name", "Room"), ("search_term", "penicillin"), ("timezone", "America/New_York"),
    ("adapter", "sandbox"), ("version", "configured"), ("begin_time", "09:00"),
    ("end_time", "2026-12-01T15:00:00.000Z"), ("npi", "1234567893"), ("specialty_code", "1223G0001X"),
    ("descriptor_type", "Visit type"), ("parent_type", "Institution"), ("referrer", "website"),
    ("first_name", "Pat"), ("middle_name", "J."), ("last_name", "Lee"), ("name", "Main Street Dental"),
    ("date_of_birth", "1990-04-12"), ("gender", "Female"), ("race", "not stated"), ("ssn", "000-00-0000"),
    ("email", "pat.lee@example.com"), ("phone_number", "+1 (555) 010-9999"),
    ("cell_phone_number", "+1 (555) 010-9999"), ("home_phone_number", "+1 (555) 010-9999"),
    ("work_phone_number", "+1 (555) 010-9999"), ("work_phone_extension", "12"),
    ("custom_contact_number", "+1 (555) 010-9999"), ("preferred_language", "en"), ("insurance_name", "Delta"),
    ("street_address", "1 Main Street"), ("address2", "Suite 2"), ("address_line_1", "1 Main Street"),
    ("address_line_2", "Suite 2"), ("line_1", "1 Main Street"), ("line_2", "Suite 2"), ("city", "Springfield"),
    ("state", "NY"), ("region", "NY"), ("zip_code", "10001"), ("postal_code", "10001"), ("country", "US"),
    ("country_code", "US"), ("note", "Please call before."), ("notes", "Please call before."),
    ("filename", "referral.pdf"), ("payer_id", "12345"), ("group_num", "G-100"), ("employer_name", "Acme Inc."),
    ("subscriber_num", "S-100"), ("effective_date", "2026-01-01"), ("expiration_date", "2026-12-31"),
    ("amount", "125.50"), ("currency", "USD"), ("transaction_id", "tx-1042"), ("date_of_service", "2026-12-01"),
    ("earliest", "09:00"), ("latest", "17:00"), ("slot_token", "slt_<of a slot from /intent/booking/search>"),
    ("idempotency_key", "b9b1c7f2-2f3c-4a5e-8f0e-1f4f5a7c9d10"),
    ("visit_token", "vis_<from /intent/booking/find>"), ("from_iso", "2026-12-01T14:30:00.000Z"),
    ("to_iso", "2026-12-03T14:30:00.000Z"),
    ("booking_ref", "bkg_<from /intent/booking/book>"), ("reason", "The patient is ill."),
    ("target_url", "https://hooks.example.com/practice"), ("resource_type", "Appointment"),
    ("event", "appointment_insertion"), ("event_name", "appointment_insertion.complete"), ("record_id", "42"),
    ("until", "2026-12-02T00:00:00Z"), ("code", "K7QM-2XRD"), ("created_at", "2026-11-20T14:30:00.000Z"),
    ("updated_at", "2026-11-20T14:30:00.000Z"), ("last_sync_time", "2026-11-20T14:40:00.000Z"),
    ("expires_at", "2026-11-20T15:00:00.000Z"), ("held_until", "2026-11-20T14:35:00.000Z"),
    ("specialty", "General dentistry"), ("sync_source_type", "Emr"), ("sync_source_name", "Main Street"),
    ("type", "cloud"), ("booking_status", "confirmed"),
    ("token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJkZW1vIn0.c2lnbmF0dXJl"), ("secret_key", "whsec_6f1c9a"),
    ("message", "The appointment is booked."), ("foreign_id_type", "nex"), ("tz", "America/New_York"),
    ("timezone_offset", "-05:00"), ("start_iso", "2026-12-01T14:30:00.000Z"),
    ("start_local", "Tue, Dec 1 2026, 9:30 AM EST"), ("start_time_with_tz", "2026-12-01T09:30:00.000-05:00"),
    ("end_time_with_tz", "2026-12-01T10:00:00.000-05:00"), ("created_at_with_tz", "2026-11-20T09:30:00.000-05:00"),
    ("time", "2026-12-01T09:30:00.000-05:00"), ("next_available_date", "2026-12-03"),
    ("schedule_as_of", "2026-11-20T14:29:40.000Z"), ("today", "2026-11-20"),
    ("provider_name", "Dr. Anna Ash"), ("display_name", "Dr. Ash"),
];

fn usual(name: &str) -> Option<&'static str> {
    TEXTS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Returns the example of a parameter or of a request field.
pub(super) fn example(path: &str, shape: &Shape) -> Value {
    let text = shape.schema["type"] == "string" && shape.schema.get("enum").is_none();
    match usual(path.rsplit('.').next().unwrap_or_default()) {
        Some(usual) if text && !shape.chosen => json!(usual),
        _ => shape.example.clone(),
    }
}

/// Flags that are false for most records, and in examples.
#[rustfmt::skip]
const MOSTLY_FALSE: &[&str] = &[
    "cancelled", "checked_out", "unavailable", "patient_missed", "inactive", "disabled", "non_patient", "replay",
    "paused", "has_previous_page", "is_guardian", "is_past_patient", "unsubscribe_sms", "ehr_unsubscribe_sms",
    "ehr_unsubscribe_emails", "is_newer",
];

/// Fields that most records do not have. They are null in examples if the schema admits null.
#[rustfmt::skip]
pub(super) const MOSTLY_NULL: &[&str] = &[
    "cancelled_at", "checked_out_at", "checkin_at", "deleted_at", "failure_reason", "disabled_at", "confirmed_at",
    "patient_confirmed_at", "alternatives", "missing_fields", "index", "bookings", "groups",
];

/// Returns the example of a response field.
pub(super) fn value(name: &str, kind: &str, format: Option<&str>) -> Value {
    match (kind, format) {
        ("boolean", _) => json!(!MOSTLY_FALSE.contains(&name)),
        ("integer", _) => json!(1),
        ("number", _) => json!(40.5),
        ("string", Some("date-time")) => {
            json!(usual(name).filter(|text| text.contains('T')).unwrap_or("2026-12-01T14:30:00.000Z"))
        }
        ("string", Some("date")) => json!("2026-12-01"),
        ("string", Some("uuid")) => json!("3d8f2c1e-6f0b-4f6e-9f53-0a3a5f6f8b11"),
        ("string", _) => json!(usual(name).unwrap_or("text")),
        _ => Value::Null,
    }
}

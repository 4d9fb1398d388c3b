//! POST /intent/booking/book

use engine::{BookRequest, PatientDetails, records::PatientAddress};

use super::{
    IntentAnswer, booked,
    failure::Failure,
    offers::{like, offers, open},
};
use crate::{
    body::{self, Fields},
    bounds::{MAX_EMAIL, MAX_IDEMPOTENCY_KEY, MAX_NAME, MAX_NOTE, MAX_PHONE, MAX_TEXT, MAX_TOKEN},
    errors::ApiError,
    query::{Parsed, date, one_of, text},
    scope::{Call, Input},
};

struct Asked {
    slot_token: String,
    idempotency_key: String,
    patient: PatientDetails,
    note: Option<String>,
}

pub async fn create(mut call: Call) -> IntentAnswer {
    let (tenant, at, asked) = call.in_places(Asked::read)?;
    let (place, offer) = open(&call, &tenant, at.as_ref(), &asked.slot_token)?;
    let wanted = like(&offer);
    let request = BookRequest {
        offer,
        idempotency_key: asked.idempotency_key,
        patient: asked.patient,
        note: asked.note,
        created_by: call.key.name.clone(),
    };
    let answer = call.api.engine.book(request).await;
    let made = answer.map_err(|refused| Failure::refused(refused, |slots| offers(&call, &place, wanted, slots)))?;
    let booking = made.appointment.booking.clone().ok_or(ApiError::Internal)?;
    booked(&call, &place, &made.appointment, &booking, Some(made.replay))
}

impl Asked {
    fn read(input: &mut Input) -> Option<Asked> {
        let b = &mut input.body;
        let slot_token = b.required("slot_token", body::filled(text(MAX_TOKEN)));
        let idempotency_key = b.required("idempotency_key", body::filled(text(MAX_IDEMPOTENCY_KEY)));
        let given = b.required("patient", body::object);
        let patient = given.map(|()| patient(b));
        let note = filled_text(b, "note", MAX_NOTE);
        Some(Asked { slot_token: slot_token?, idempotency_key: idempotency_key?, patient: patient?, note })
    }
}

/// Which of these are needed depends on the practice; what is missing is the engine's to say (`patient_fields_required`).
fn patient(b: &mut Fields) -> PatientDetails {
    let genders = [("Male", "Male"), ("Female", "Female"), ("Other", "Other")];
    PatientDetails {
        first_name: filled_text(b, "patient.first_name", MAX_NAME).unwrap_or_default(),
        middle_name: filled_text(b, "patient.middle_name", MAX_NAME),
        last_name: filled_text(b, "patient.last_name", MAX_NAME).unwrap_or_default(),
        date_of_birth: unless_empty(b, "patient.date_of_birth", date),
        phone_number: unless_empty(b, "patient.phone_number", phone),
        email: unless_empty(b, "patient.email", email),
        gender: unless_empty(b, "patient.gender", one_of(&genders)).map(str::to_owned),
        address: b.optional("patient.address", body::object).map(|()| address(b)),
    }
}

fn address(b: &mut Fields) -> PatientAddress {
    let mut line = |name: &str| filled_text(b, &format!("patient.address.{name}"), MAX_TEXT);
    PatientAddress {
        line_1: line("line_1"),
        line_2: line("line_2"),
        city: line("city"),
        region: line("region"),
        postal_code: line("postal_code"),
        country: line("country"),
    }
}

fn filled_text(b: &mut Fields, path: &str, max: usize) -> Option<String> {
    unless_empty(b, path, text(max))
}

/// An empty string says as little as a field that is not there.
fn unless_empty<T>(b: &mut Fields, path: &str, kind: impl Fn(&str) -> Parsed<T>) -> Option<T> {
    b.optional(path, body::string(|text| if text.is_empty() { Ok(None) } else { kind(text).map(Some) })).flatten()
}

fn phone(given: &str) -> Parsed<String> {
    let given = text(MAX_PHONE)(given)?;
    let digits = given.bytes().filter(u8::is_ascii_digit).count();
    let allowed = given.chars().all(|c| c.is_ascii_digit() || " +-().x#*".contains(c));
    if allowed && (7..=20).contains(&digits) { Ok(given) } else { Err("must be a phone number".into()) }
}

/// Specification 4.4: a local part without `@` or whitespace, then `@`, then a domain.
fn email(given: &str) -> Parsed<String> {
    let given = text(MAX_EMAIL)(given)?;
    let label = |label: &str| !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-');
    let valid = given.rsplit_once('@').is_some_and(|(local, domain)| {
        let local_valid = !local.is_empty() && !local.contains('@') && !local.contains(char::is_whitespace);
        local_valid && domain.contains('.') && domain.split('.').all(label)
    });
    if valid { Ok(given) } else { Err("must be an email address".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emails_and_phone_numbers() {
        for right in ["a@b.co", "a.b+c@d-e.example", "ü@b.example"] {
            assert!(email(right).is_ok(), "{right}");
        }
        for wrong in ["a", "@b.co", "a@b", "a b@c.de", "a@@b.co", "a@b..co", "a@b.co ", "a@.co"] {
            assert!(email(wrong).is_err(), "{wrong}");
        }
        for right in ["+1 (555) 010-9999", "5550109", "555.010.9999 x12"] {
            assert!(phone(right).is_ok(), "{right}");
        }
        for wrong in ["555", "call me", "5550109; drop", "0".repeat(41).as_str()] {
            assert!(phone(wrong).is_err(), "{wrong}");
        }
    }
}

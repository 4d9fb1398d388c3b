//! POST /intent/booking/book

use engine::{PatientDetails, commands::BookSlot, records::values::Address};
use framework::values::{
    kinds::{
        email, gender, phone,
        shared::{family_name, given_name, slot_token},
        times::birth_date,
    },
    limits::MAX_IDEMPOTENCY_KEY,
};
use location::decision::Refusal;

use super::{
    BookingAnswer, BookingResponse, booked,
    failure::BookingFailure,
    freshness::{IntentCall, fresh_within, freshen},
    offers::{like, offers, open, recall},
};
use crate::prelude::*;

#[input]
pub struct BookingInput {
    #[body(filled(slot_token()))]
    slot_token: String,
    /// Idempotency key chosen by the caller, one per booking attempt.
    #[body(filled(text(MAX_IDEMPOTENCY_KEY)))]
    idempotency_key: String,
    #[read(BookedPatient::from_input(input))]
    patient: BookedPatient,
    #[body(note(), nonempty)]
    note: Option<String>,
    #[body(fresh_within())]
    fresh_within: Option<i64>,
}

/// The engine decides which fields are required, and reports missing ones (`patient_fields_required`).
#[input(object("patient", "The patient."), builds = PatientDetails)]
struct BookedPatient {
    #[body(given_name(), nonempty, or = String::new())]
    first_name: String,
    /// Middle name.
    #[body(person_name(MAX_NAME), nonempty)]
    middle_name: Option<String>,
    #[body(family_name(), nonempty, or = String::new())]
    last_name: String,
    #[body(birth_date(input.today), nonempty)]
    date_of_birth: Option<Date>,
    #[body(phone(), nonempty)]
    phone_number: Option<String>,
    #[body(email(), nonempty)]
    email: Option<String>,
    #[body(gender().map(str::to_owned), nonempty)]
    gender: Option<String>,
    #[read(input.body.optional("patient.address", object("The address.")).map(|()| BookedAddress::from_input(input).0))]
    address: Option<Address>,
}

#[input(builds = Address)]
struct BookedAddress {
    /// Street and number.
    #[body(text(MAX_TEXT), name = "patient.address.line_1", nonempty)]
    line1: Option<String>,
    /// Second line of the street address.
    #[body(text(MAX_TEXT), name = "patient.address.line_2", nonempty)]
    line2: Option<String>,
    /// City.
    #[body(text(MAX_TEXT), name = "patient.address.city", nonempty)]
    city: Option<String>,
    /// State or region.
    #[body(text(MAX_TEXT), name = "patient.address.region", nonempty)]
    region: Option<String>,
    /// Postal code.
    #[body(text(MAX_TEXT), name = "patient.address.postal_code", nonempty)]
    postal_code: Option<String>,
    /// Country.
    #[body(text(MAX_TEXT), name = "patient.address.country", nonempty)]
    country: Option<String>,
}

pub async fn create(
    mut call: ApiCall,
    InLocations(tenant, at, asked): InLocations<BookingInput>,
) -> BookingAnswer<BookingResponse<'static>> {
    let opened = open(&call, &tenant, at.as_ref(), &asked.slot_token);
    let vouched = opened.is_ok();
    // A retry finds its booking even if the secret of its token was lost.
    let (location, offer) = opened.or_else(|_| recall(&call, &tenant, at.as_ref(), &asked.slot_token))?;
    if vouched {
        freshen(&mut call, &location, IntentCall::Book, asked.fresh_within).await;
    }
    let wanted = like(&offer);
    let request = BookSlot {
        offer,
        idempotency_key: asked.idempotency_key,
        patient: asked.patient.0,
        note: asked.note,
        created_by: call.key.name.clone(),
    };
    let answer = call.api.engine.book(request).await;
    let made = answer.map_err(|refused| match refused {
        EngineError::Refused(Refusal::SlotExpired) if !vouched => BookingFailure::slot_not_found(),
        refused => BookingFailure::refused(refused, |slots| offers(&call, &location, wanted, slots)),
    })?;
    made.warnings.iter().for_each(|warning| call.warn(warning));
    // The trail records a new booking as a creation, and a replay as a read.
    match made.replay {
        true => call.audit("read", "booking", made.appointment.id),
        false => call.audit("create", "appointment", made.appointment.id),
    }
    booked(&call, &location, &made.appointment, Some(made.replay))
}

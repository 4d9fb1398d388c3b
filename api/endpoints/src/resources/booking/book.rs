//! POST /intent/booking/book

use engine::{EngineError, PatientDetails, commands::BookSlot, records::values::Address};
use framework::{
    access::{
        arguments::{FromInput, InLocations},
        call::ApiCall,
        input::Input,
    },
    http::{errors::ApiError, fields::Fields},
    values::{
        kinds::{
            email, filled, gender, object, person_name, phone,
            shared::{family_name, given_name, note, slot_token},
            text,
            times::birth_date,
        },
        limits::{MAX_IDEMPOTENCY_KEY, MAX_NAME, MAX_TEXT},
    },
};
use location::{decision::Refusal, zone::Date};

use super::{
    BookingAnswer, BookingResponse, booked,
    failure::BookingFailure,
    offers::{like, offers, open, recall},
};

pub struct BookingInput {
    slot_token: String,
    idempotency_key: String,
    patient: PatientDetails,
    note: Option<String>,
}

impl FromInput for BookingInput {
    fn from_input(input: &mut Input) -> BookingInput {
        let b = &mut input.body;
        let slot_token = b.required("slot_token", filled(slot_token()));
        let idempotency_key = b.required(
            "idempotency_key",
            filled(text(MAX_IDEMPOTENCY_KEY)).about("Idempotency key chosen by the caller, one per booking attempt."),
        );
        b.required("patient", object("The patient."));
        let patient = patient(b, input.today);
        let note = b.optional_nonempty("note", note());
        BookingInput { slot_token, idempotency_key, patient, note }
    }
}

pub async fn create(
    mut call: ApiCall,
    InLocations(tenant, at, asked): InLocations<BookingInput>,
) -> BookingAnswer<BookingResponse<'static>> {
    let opened = open(&call, &tenant, at.as_ref(), &asked.slot_token);
    let vouched = opened.is_ok();
    // A retry finds its booking even if the secret of its token was lost.
    let (location, offer) = opened.or_else(|_| recall(&call, &tenant, at.as_ref(), &asked.slot_token))?;
    let wanted = like(&offer);
    let request = BookSlot {
        offer,
        idempotency_key: asked.idempotency_key,
        patient: asked.patient,
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
    let booking = made.appointment.booking.clone().ok_or_else(ApiError::internal)?;
    booked(&call, &location, &made.appointment, &booking, Some(made.replay))
}

/// Reads the patient. The engine decides which fields are required, and reports missing ones
/// (`patient_fields_required`).
fn patient(b: &mut Fields, today: Date) -> PatientDetails {
    PatientDetails {
        first_name: b.optional_nonempty("patient.first_name", given_name()).unwrap_or_default(),
        middle_name: b.optional_nonempty("patient.middle_name", person_name(MAX_NAME).about("Middle name.")),
        last_name: b.optional_nonempty("patient.last_name", family_name()).unwrap_or_default(),
        date_of_birth: b.optional_nonempty("patient.date_of_birth", birth_date(today)),
        phone_number: b.optional_nonempty("patient.phone_number", phone()),
        email: b.optional_nonempty("patient.email", email()),
        gender: b.optional_nonempty("patient.gender", gender()).map(str::to_owned),
        address: b.optional("patient.address", object("The address.")).map(|()| address(b)),
    }
}

fn address(b: &mut Fields) -> Address {
    let mut line = |name: &str, about: &'static str| {
        b.optional_nonempty(&format!("patient.address.{name}"), text(MAX_TEXT).about(about))
    };
    Address {
        line1: line("line_1", "Street and number."),
        line2: line("line_2", "Second line of the street address."),
        city: line("city", "City."),
        region: line("region", "State or region."),
        postal_code: line("postal_code", "Postal code."),
        country: line("country", "Country."),
    }
}

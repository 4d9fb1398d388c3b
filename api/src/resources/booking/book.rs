//! POST /intent/booking/book

use engine::{EngineError, PatientDetails, commands::BookSlot, records::values::Address};
use location::{decision::Refusal, zone::Date};

use super::{
    BookingAnswer, BookingResponse, booked,
    failure::Failure,
    offers::{like, offers, open, recall},
};
use crate::{
    access::{
        arguments::{FromInput, InLocations},
        call::Call,
        input::Input,
    },
    http::{body::Fields, errors::ApiError},
    values::{
        kinds::{email, filled, gender, object, person_name, phone, text, times::birth_date},
        limits::{MAX_IDEMPOTENCY_KEY, MAX_NAME, MAX_NOTE, MAX_TEXT, MAX_TOKEN},
    },
};

pub(crate) struct BookingInput {
    slot_token: String,
    idempotency_key: String,
    patient: PatientDetails,
    note: Option<String>,
}

impl FromInput for BookingInput {
    fn from_input(input: &mut Input) -> Option<BookingInput> {
        let b = &mut input.body;
        let slot_token = b.required("slot_token", filled(text(MAX_TOKEN)));
        let idempotency_key = b.required("idempotency_key", filled(text(MAX_IDEMPOTENCY_KEY)));
        let given = b.required("patient", object());
        let patient = given.map(|()| patient(b, input.today));
        let note = filled_text(b, "note", MAX_NOTE);
        Some(BookingInput { slot_token: slot_token?, idempotency_key: idempotency_key?, patient: patient?, note })
    }
}

pub(crate) async fn create(
    mut call: Call,
    InLocations(tenant, at, asked): InLocations<BookingInput>,
) -> BookingAnswer<BookingResponse<'static>> {
    let opened = open(&call, &tenant, at.as_ref(), &asked.slot_token);
    let vouched = opened.is_ok();
    // A retry finds its booking also when the secret that sealed its token is gone.
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
        EngineError::Refused(Refusal::SlotExpired) if !vouched => Failure::slot_not_found(),
        refused => Failure::refused(refused, |slots| offers(&call, &location, wanted, slots)),
    })?;
    made.warnings.iter().for_each(|warning| call.warn(warning));
    if !made.replay {
        call.audit("create", "appointment", made.appointment.id);
    }
    let booking = made.appointment.booking.clone().ok_or(ApiError::Internal)?;
    booked(&call, &location, &made.appointment, &booking, Some(made.replay))
}

/// Which of these are needed depends on the practice; what is missing is the engine's to say (`patient_fields_required`).
fn patient(b: &mut Fields, today: Date) -> PatientDetails {
    PatientDetails {
        first_name: b.unless_empty("patient.first_name", person_name(MAX_NAME)).unwrap_or_default(),
        middle_name: b.unless_empty("patient.middle_name", person_name(MAX_NAME)),
        last_name: b.unless_empty("patient.last_name", person_name(MAX_NAME)).unwrap_or_default(),
        date_of_birth: b.unless_empty("patient.date_of_birth", birth_date(today)),
        phone_number: b.unless_empty("patient.phone_number", phone()),
        email: b.unless_empty("patient.email", email()),
        gender: b.unless_empty("patient.gender", gender()).map(str::to_owned),
        address: b.optional("patient.address", object()).map(|()| address(b)),
    }
}

fn address(b: &mut Fields) -> Address {
    let mut line = |name: &str| filled_text(b, &format!("patient.address.{name}"), MAX_TEXT);
    Address {
        line1: line("line_1"),
        line2: line("line_2"),
        city: line("city"),
        region: line("region"),
        postal_code: line("postal_code"),
        country: line("country"),
    }
}

fn filled_text(b: &mut Fields, path: &str, max: usize) -> Option<String> {
    b.unless_empty(path, text(max))
}

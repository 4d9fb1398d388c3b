//! Booking by intent (specification 4.8): search gives slot tokens, hold keeps one for a while, book uses it, status and cancel
//! follow the booking.

pub(crate) mod book;
pub(crate) mod cancel;
mod failure;
pub(crate) mod hold;
mod offer_view;
mod offers;
pub(crate) mod search;
pub(crate) mod status;

use engine::records::{Appointment, Booking, Writeback, record::Record};
use location::ids::LocationId;
use schemars::JsonSchema;
use serde::Serialize;

pub(crate) use self::failure::BookingRefusal;

use self::failure::{BookingAnswer, Failure};
use super::providers::Names;
use crate::{
    access::{
        call::Call,
        tenancy::{OpenLocation, Tenant},
    },
    http::errors::ApiError,
    values::{
        kinds::{Kind, text},
        limits::MAX_NAME,
        times,
        words::Word,
    },
    views::locations::{BookingLocation, booking_location},
};

/// A booking and the state of its write-back to the practice's system.
#[derive(Serialize, JsonSchema)]
struct BookingView<'a> {
    /// Reference of the booking, for its status and cancellation: `bkg_...`.
    booking_ref: &'a str,
    /// `confirmed` or `cancelled`, as this service has it.
    booking_status: &'static str,
    /// State of writing the appointment to the health record system. It stays `pending` if the location has no health record system.
    ehr_writeback: Word<Writeback>,
    /// Id of the appointment that was booked.
    appointment_id: u64,
    /// Start in the location's time zone, for people: `Tue, Dec 1 2026, 9:30 AM EST`.
    start_local: String,
    /// Start as an ISO 8601 instant in UTC. It changes if the appointment is moved.
    start_iso: String,
    /// Length in minutes.
    duration_minutes: i64,
    /// Display name of the provider, or else the full name; null if the appointment names no provider.
    provider: Option<String>,
    /// The location of the appointment.
    location: BookingLocation<'a>,
    /// Name of the patient, as the client gave it.
    patient: PatientName<'a>,
    /// Id of the patient of the appointment; null if it names none.
    patient_id: Option<u32>,
    /// Whether the patient was known: by date of birth, first and last name, and phone or e-mail. If not, the patient was created
    /// with the booking. Null for bookings that are older than this field.
    patient_matched: Option<bool>,
    /// Why the health record system refused the appointment; null unless it was refused.
    failure_reason: Option<&'a str>,
}

/// The name of the patient of a booking.
#[derive(Serialize, JsonSchema)]
struct PatientName<'a> {
    /// Given name.
    first_name: &'a str,
    /// Family name.
    last_name: &'a str,
}

/// The answer to every successful booking call.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BookingResponse<'a> {
    /// Always true: the request was carried out.
    ok: bool,
    /// Whether an earlier request with the same `idempotency_key` made the booking. Only in the answer of
    /// `POST /intent/booking/book`.
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<bool>,
    /// One sentence about the state of the booking that may be read to the patient.
    message: String,
    /// The booking.
    booking: BookingView<'a>,
    /// A warning, such as the names of ignored parameters and fields; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
}

fn booked(
    call: &Call,
    location: &OpenLocation,
    it: &Record<Appointment>,
    booking: &Booking,
    replay: Option<bool>,
) -> BookingAnswer<BookingResponse<'static>> {
    booking_answer(call, location, it, (booking, false), replay)
}

/// `freeing`: it is cancelled here, and the practice's system does not know yet.
fn booking_answer(
    call: &Call,
    location: &OpenLocation,
    it: &Record<Appointment>,
    (booking, freeing): (&Booking, bool),
    replay: Option<bool>,
) -> BookingAnswer<BookingResponse<'static>> {
    let tenant = Tenant { institution: location.institution.clone() };
    let provider = it.placement.provider.map(|id| Names::new(call, &tenant).of(id.0)).transpose()?.flatten();
    let start = it.placement.span.start;
    let booking = BookingView {
        booking_ref: &booking.booking_ref,
        booking_status: if it.cancelled { "cancelled" } else { "confirmed" },
        ehr_writeback: Word(booking.writeback),
        appointment_id: it.id,
        start_local: times::for_people(start, location.setup.zone),
        start_iso: times::utc(start),
        duration_minutes: it.placement.span.length() / location::time::MINUTE,
        provider,
        location: booking_location(&location.setup),
        patient: PatientName { first_name: &booking.patient_first_name, last_name: &booking.patient_last_name },
        patient_id: it.patient_id,
        patient_matched: booking.patient_matched,
        failure_reason: booking.failure_reason.as_deref(),
    };
    let message = message(&booking, location.setup.source.is_some(), freeing);
    Ok(call.plain(BookingResponse { ok: true, replay, message, booking, description: call.description() }))
}

/// One sentence that is safe to read to the caller.
fn message(booking: &BookingView<'_>, integrated: bool, freeing: bool) -> String {
    let with = booking.provider.as_ref().map_or_else(String::new, |name| format!(" with {name}"));
    let visit = format!("The appointment{with} on {} at {}", booking.start_local, booking.location.name);
    match (booking.booking_status, booking.ehr_writeback.0) {
        ("cancelled", _) if freeing => {
            format!("{visit} is cancelled; its time stays booked until the practice's system has cancelled it.")
        }
        ("cancelled", _) => format!("{visit} is cancelled."),
        (_, Writeback::Confirmed) => format!("{visit} is booked and confirmed by the practice's system."),
        (_, Writeback::Pending) if integrated => {
            format!("{visit} is booked and is being sent to the practice's system.")
        }
        (_, Writeback::Pending) => format!("{visit} is booked."),
        (_, Writeback::Failed) => {
            format!("{visit} could not be entered into the practice's system, so please choose another time.")
        }
    }
}

/// A booking of the caller's; those of other tenants do not exist.
fn find(
    call: &Call,
    tenant: &Tenant,
    booking_ref: &str,
) -> Result<(OpenLocation, Record<Appointment>, Booking), Failure> {
    let found = call.api.engine.booking(booking_ref).map_err(ApiError::from)?;
    let own = found.filter(|it| it.institution_id == tenant.institution.id.0);
    let own = own.and_then(|mut it| it.booking.take().map(|booking| (it, booking)));
    let (appointment, booking) = own.ok_or_else(|| Failure::booking_not_found(booking_ref))?;
    let location = call.location(tenant, LocationId(appointment.location())).map_err(|error| match error {
        error if error.is_not_found() => Failure::booking_not_found(booking_ref),
        other => other.into(),
    })?;
    Ok((location, appointment, booking))
}

fn booking_ref() -> Kind<String> {
    let about = "The reference of the booking, from POST /intent/booking/book.";
    text(MAX_NAME).about(about).example_of("bkg_6f1c9a")
}

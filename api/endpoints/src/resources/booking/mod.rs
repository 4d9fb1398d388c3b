//! Booking by intent (specification 4.8): search returns slot tokens, hold reserves a slot for a while, book uses the
//! token, status and cancel follow the booking. Explain returns the reasons why times cannot be booked.

pub mod book;
pub mod cancel;
pub mod explain;
mod failure;
pub mod hold;
mod offer_view;
mod offers;
pub mod reasons;
pub mod search;
pub mod status;

use engine::records::{Appointment, Booking, Writeback};
use framework::values::times;
use location::{event::is_avoidable_at_another_time, ids::ProviderId};

use self::failure::{BookingAnswer, BookingFailure};
use crate::{
    prelude::*,
    views::locations::{BookingLocation, booking_location},
};

pub(crate) use self::failure::BookingRefusal;

/// A booking and the state of its write-back to the practice's system.
#[derive(Serialize, JsonSchema)]
struct BookingView<'a> {
    /// Reference of the booking, for its status and cancellation: `bkg_...`.
    booking_ref: &'a str,
    /// Status of the booking in this service: `confirmed` or `cancelled`.
    booking_status: &'static str,
    /// State of the last write of the appointment to the health record system: its insert, or its last move, change or
    /// cancellation. It stays `pending` if the location has no health record system.
    ehr_writeback: Word<Writeback>,
    /// State of the write of the cancellation to the health record system; null if no cancellation was requested. It
    /// stays `pending` if the location has no health record system.
    cancellation_writeback: Option<Word<Writeback>>,
    /// Id of the appointment that was booked.
    appointment_id: u64,
    /// Human-readable start time in the location's time zone: `Tue, Dec 1 2026, 9:30 AM EST`.
    start_local: String,
    /// Start time as an ISO 8601 instant in UTC. It changes if the appointment is moved.
    start_iso: String,
    /// Length in minutes.
    duration_minutes: i64,
    /// Display name of the provider, or the full name if there is none; null if the appointment has no provider.
    provider: Option<String>,
    /// The location of the appointment.
    location: BookingLocation<'a>,
    /// Name of the patient, as the client gave it.
    patient: PatientName<'a>,
    /// Id of the patient of the appointment; null if it has none.
    patient_id: Option<u32>,
    /// `true` if the patient matched an existing one by date of birth, first and last name, and phone or e-mail. If
    /// false, the patient was created with the booking. Null for bookings that are older than this field.
    patient_matched: Option<bool>,
    /// Reason for which the health record system refused the appointment or its last change; null unless it was
    /// refused.
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

/// The response to every successful booking call.
#[derive(Serialize, JsonSchema)]
pub struct BookingResponse<'a> {
    /// Always true: the request was carried out.
    ok: bool,
    /// `true` if an earlier request with the same `idempotency_key` created the booking. Only in the response of `POST
    /// /intent/booking/book`.
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
    call: &ApiCall,
    location: &OpenLocation,
    it: &Record<Appointment>,
    replay: Option<bool>,
) -> BookingAnswer<BookingResponse<'static>> {
    let booking = it.booking.as_ref().ok_or_else(ApiError::internal)?;
    let name = |id: ProviderId| call.api.engine.provider_name(location.institution.id, id.0);
    let provider = it.placement.provider.map(name).transpose().map_err(ApiError::from)?.flatten();
    let start = it.placement.span.start;
    let insert = (booking.writeback, booking.failure_reason.as_deref());
    let (last, failure_reason) = it.last_write().unwrap_or(insert);
    let view = BookingView {
        booking_ref: &booking.booking_ref,
        booking_status: if it.cancelled { "cancelled" } else { "confirmed" },
        ehr_writeback: Word(last),
        cancellation_writeback: booking.cancellation.map(Word),
        appointment_id: it.id,
        start_local: times::for_people(start, location.setup.zone),
        start_iso: times::utc(start),
        duration_minutes: it.placement.span.length() / location::time::MINUTE,
        provider,
        location: booking_location(&location.setup),
        patient: PatientName { first_name: &booking.patient_first_name, last_name: &booking.patient_last_name },
        patient_id: it.patient_id,
        patient_matched: booking.patient_matched,
        failure_reason,
    };
    let message = message(&view, booking, location.setup.source.is_some());
    Ok(call.plain(BookingResponse { ok: true, replay, message, booking: view, description: call.description() }))
}

/// Returns one sentence that can be read to the caller.
fn message(view: &BookingView<'_>, booking: &Booking, integrated: bool) -> String {
    let with = view.provider.as_ref().map_or_else(String::new, |name| format!(" with {name}"));
    let ending = match view.booking_status {
        "cancelled" => cancelled(booking.cancellation, integrated),
        _ => open(booking, (view.ehr_writeback.0, view.failure_reason), integrated),
    };
    format!("The appointment{with} on {} at {} {ending}", view.start_local, view.location.name)
}

fn cancelled(cancellation: Option<Writeback>, integrated: bool) -> &'static str {
    match cancellation {
        Some(Writeback::Pending) if integrated => {
            "is cancelled; its time stays booked until the practice's system has cancelled it."
        }
        _ => "is cancelled.",
    }
}

/// Returns the end of the sentence for an open booking: the state of its insert, then of its last write.
fn open(booking: &Booking, (last, reason): (Writeback, Option<&str>), integrated: bool) -> &'static str {
    match (booking.writeback, last) {
        (Writeback::Pending, _) if integrated => "is booked and is being sent to the practice's system.",
        (Writeback::Pending, _) => "is booked.",
        (Writeback::Failed, _) if reason.is_some_and(is_avoidable_at_another_time) => {
            "could not be entered into the practice's system, so please choose another time."
        }
        (Writeback::Failed, _) => "could not be entered into the practice's system, so please call the practice.",
        (Writeback::Confirmed, Writeback::Confirmed) => "is booked and confirmed by the practice's system.",
        (Writeback::Confirmed, Writeback::Pending) => {
            "is booked; its last change is being sent to the practice's system."
        }
        (Writeback::Confirmed, Writeback::Failed) if booking.cancellation == Some(Writeback::Failed) => {
            "is still booked: the practice's system did not cancel it, so please call the practice."
        }
        (Writeback::Confirmed, Writeback::Failed) => {
            "is booked; the practice's system did not accept its last change, so please call the practice."
        }
    }
}

/// Finds a booking of the caller; those of other tenants do not exist.
fn find(
    call: &ApiCall,
    tenant: &Tenant,
    booking_ref: &str,
) -> Result<(OpenLocation, Record<Appointment>), BookingFailure> {
    let found = call.api.engine.booking(booking_ref).map_err(ApiError::from)?;
    let own = found.filter(|it| it.institution_id == tenant.institution.id.0 && it.booking.is_some());
    let appointment = own.ok_or_else(|| BookingFailure::booking_not_found(booking_ref))?;
    let location = call.location(tenant, LocationId(appointment.location())).map_err(|error| match error {
        error if error.is_not_found() => BookingFailure::booking_not_found(booking_ref),
        other => other.into(),
    })?;
    Ok((location, appointment))
}

fn booking_ref() -> Kind<String> {
    let about = "The reference of the booking, from POST /intent/booking/book.";
    text(MAX_NAME).about(about).example_of("bkg_6f1c9a")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn booking(writeback: Writeback, cancellation: Option<Writeback>) -> Booking {
        let stored = json!({
            "booking_ref": "bkg_1", "writeback": writeback, "failure_reason": null, "cancellation": cancellation,
            "patient_first_name": "Mia", "patient_last_name": "Meier", "created_by": "client",
        });
        serde_json::from_value(stored).unwrap()
    }

    #[test]
    fn a_failed_booking_recommends_another_time_only_if_the_time_is_the_reason() {
        let failed = |reason| open(&booking(Writeback::Failed, None), (Writeback::Failed, Some(reason)), true);
        for reason in ["the slot was taken in the EHR", "not in the EHR before its deadline"] {
            assert!(failed(reason).ends_with("please choose another time."), "{reason}");
        }
        for reason in ["the practice takes no new patients", "the EHR needs a field that is not given"] {
            assert!(failed(reason).ends_with("please call the practice."), "{reason}");
        }
    }

    #[test]
    fn a_sentence_claims_confirmation_only_if_the_last_write_is_confirmed() {
        let states = [Writeback::Pending, Writeback::Confirmed, Writeback::Failed];
        for (insert, last) in states.into_iter().flat_map(|insert| states.map(|last| (insert, last))) {
            let both = insert == Writeback::Confirmed && last == Writeback::Confirmed;
            let ending = open(&booking(insert, None), (last, None), true);
            assert_eq!(ending.contains("confirmed by"), both, "{insert:?} {last:?}: {ending}");
        }
        assert!(cancelled(Some(Writeback::Pending), true).contains("stays booked until"));
        assert_eq!(cancelled(Some(Writeback::Confirmed), true), "is cancelled.");
        assert_eq!(cancelled(Some(Writeback::Pending), false), "is cancelled.");
        let refused = booking(Writeback::Confirmed, Some(Writeback::Failed));
        assert!(open(&refused, (Writeback::Failed, Some("refused")), true).contains("did not cancel it"));
    }
}

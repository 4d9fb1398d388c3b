//! Booking by intent (specification 4.8): search returns slot tokens, hold reserves a slot for a while, book uses the
//! token, status follows the booking. Explain returns the reasons why times cannot be booked. Confirm, reschedule and
//! cancel change a visit, which find returns to its patient. Practice returns the facts that callers ask for first.

pub mod book;
pub mod cancel;
pub mod confirm;
pub mod explain;
mod failure;
pub mod find;
pub(crate) mod freshness;
pub mod hold;
mod offer_view;
mod offers;
pub mod practice;
pub mod reasons;
pub mod reschedule;
pub mod search;
pub mod status;
mod visits;

use engine::records::{Booking, Reschedule};
use location::event::is_avoidable_at_another_time;

use self::failure::{BookingAnswer, BookingFailure};
use crate::{
    prelude::*,
    views::locations::{BookingLocation, booking_location},
};

pub(crate) use self::failure::BookingRefusal;

/// A booking and the state of its write-back to the practice's system.
#[view]
struct BookingView<'a> {
    /// Reference of the booking, for its status and its changes: `bkg_...`. Null for a visit that the practice booked
    /// itself.
    booking_ref: Option<&'a str>,
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
    start_local: String,
    /// Start time as an ISO 8601 instant in UTC. It changes if the appointment is moved.
    start_iso: String,
    duration_minutes: i64,
    /// Display name of the provider, or the full name if there is none; null if the appointment has no provider.
    provider: Option<String>,
    /// The location of the appointment.
    location: BookingLocation<'a>,
    /// Name of the patient, as the client gave it. Null for a visit that the practice booked itself.
    patient: Option<PatientName<'a>>,
    /// Id of the patient of the appointment; null if it has none.
    patient_id: Option<u32>,
    /// `true` if the patient matched an existing one by date of birth, first and last name, and phone or e-mail. If
    /// false, the patient was created with the booking. Null for bookings that are older than this field.
    patient_matched: Option<bool>,
    /// Reason for which the health record system refused the appointment or its last change; null unless it was
    /// refused.
    failure_reason: Option<&'a str>,
    /// Time at which the patient confirmed the visit with `POST /intent/booking/confirm`, in UTC; absent if the patient
    /// has not.
    patient_confirmed_at: Omittable<At>,
    /// The last change of the time with `POST /intent/booking/reschedule`; absent if there was none.
    reschedule: Omittable<RescheduleView<'a>>,
}

/// A change of the time of a visit.
#[view(value = Reschedule)]
struct RescheduleView<'a> {
    /// `pending` until the health record system has moved the visit; until then, the old and the new time are taken.
    /// `failed` if it refused: the visit stays at `from_iso`, and the new time is free again.
    status: Word<Writeback>,
    /// Start of the visit before the change, as an ISO 8601 instant in UTC.
    #[view(with = times::utc(entry.from))]
    from_iso: String,
    /// The requested start, as an ISO 8601 instant in UTC.
    #[view(with = times::utc(entry.to))]
    to_iso: String,
    /// Reason for which the health record system refused the change; null unless it was refused.
    failure_reason: Option<&'a str>,
}

/// The name of the patient of a booking.
#[view]
struct PatientName<'a> {
    first_name: &'a str,
    last_name: &'a str,
}

/// The response to every successful call about one booking, `POST /intent/booking/book` excepted.
#[view]
pub struct BookingResponse<'a> {
    ok: bool,
    /// `true` if an earlier request with the same `idempotency_key` had the same effect. Only in responses to requests
    /// with a key.
    replay: Omittable<bool>,
    /// One sentence about the state of the booking that may be read to the patient.
    message: String,
    /// The booking.
    booking: BookingView<'a>,
    /// Time up to which the changes of the practice's staff were known, in UTC. Only in the responses with `replay`.
    schedule_as_of: Omittable<At>,
    /// A warning, such as the names of ignored parameters and fields; absent if there is none.
    description: Omittable<&'a str>,
}

fn booked(
    call: &ApiCall,
    location: &OpenLocation,
    it: &Record<Appointment>,
    replay: Option<bool>,
) -> BookingAnswer<BookingResponse<'static>> {
    let (view, message) = described_booking(call, location, it)?;
    Ok(respond(call, location, replay, message, view))
}

/// Returns the view of a booking with the sentence about its state.
fn described_booking<'a>(
    call: &ApiCall,
    location: &'a OpenLocation,
    it: &'a Record<Appointment>,
) -> Result<(BookingView<'a>, String), BookingFailure> {
    let view = booking_view(call, location, it)?;
    let message = message(&view, it.booking.as_ref(), location.setup.source.is_some());
    Ok((view, message))
}

fn respond(
    call: &ApiCall,
    location: &OpenLocation,
    replay: Option<bool>,
    message: String,
    booking: BookingView<'_>,
) -> Plain<BookingResponse<'static>> {
    let schedule_as_of = replay.and_then(|_| freshness::schedule_as_of(call, location));
    let description = call.description();
    call.plain(BookingResponse { ok: true, replay, message, booking, schedule_as_of, description })
}

/// Returns the view of a booking, or of a visit that the practice booked itself.
fn booking_view<'a>(
    call: &ApiCall,
    location: &'a OpenLocation,
    it: &'a Record<Appointment>,
) -> Result<BookingView<'a>, BookingFailure> {
    let booking = it.booking.as_ref();
    let name = |id: ProviderId| call.api.engine.provider_name(location.institution.id, id.0);
    let provider = it.placement.provider.map(name).transpose().map_err(ApiError::from)?.flatten();
    let start = it.placement.span.start;
    // The EHR has a visit that no client has written.
    let (last, failure_reason) = it.last_write().unwrap_or((Writeback::Confirmed, None));
    let cancellation = match booking {
        Some(booking) => booking.cancellation,
        None => it.write.as_ref().filter(|_| it.cancelled).map(|_| last),
    };
    Ok(BookingView {
        booking_ref: booking.map(|booking| booking.booking_ref.as_str()),
        booking_status: if it.cancelled { "cancelled" } else { "confirmed" },
        ehr_writeback: Word(last),
        cancellation_writeback: cancellation.map(Word),
        appointment_id: it.id,
        start_local: times::for_people(start, location.setup.zone),
        start_iso: times::utc(start),
        duration_minutes: it.placement.span.length() / location::time::MINUTE,
        provider,
        location: booking_location(&location.setup),
        patient: booking.map(|booking| PatientName {
            first_name: &booking.patient_first_name,
            last_name: &booking.patient_last_name,
        }),
        patient_id: it.patient_id,
        patient_matched: booking.and_then(|booking| booking.patient_matched),
        failure_reason,
        patient_confirmed_at: it.patient_confirmed_here.map(At),
        reschedule: it.reschedule.as_ref().map(RescheduleView::from_value),
    })
}

/// Returns one sentence that can be read to the caller.
fn message(view: &BookingView<'_>, booking: Option<&Booking>, integrated: bool) -> String {
    let with = with_provider(view.provider.as_deref());
    let last = (view.ehr_writeback.0, view.failure_reason);
    let ending = match (view.booking_status, booking) {
        ("cancelled", _) => cancelled(view.cancellation_writeback.map(|state| state.0), integrated),
        (_, Some(booking)) => open(booking, last, integrated),
        (_, None) => in_ehr(last.0, None),
    };
    format!("The appointment{with} on {} at {} {ending}", view.start_local, view.location.name)
}

/// Returns the part of a sentence that names the provider, or an empty text.
fn with_provider(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!(" with {name}"))
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
        (Writeback::Confirmed, last) => in_ehr(last, booking.cancellation),
    }
}

/// Returns the end of the sentence for an open visit that the EHR has, by the state of its last write.
fn in_ehr(last: Writeback, cancellation: Option<Writeback>) -> &'static str {
    match last {
        Writeback::Confirmed => "is booked and confirmed by the practice's system.",
        Writeback::Pending => "is booked; its last change is being sent to the practice's system.",
        Writeback::Failed if cancellation == Some(Writeback::Failed) => {
            "is still booked: the practice's system did not cancel it, so please call the practice."
        }
        Writeback::Failed => {
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
    let missing = || BookingFailure::booking_not_found(booking_ref);
    let appointment = own.ok_or_else(missing)?;
    let location = call.location(tenant, LocationId(appointment.location()));
    let location = location.map_err(|error| error.if_not_found(missing))?;
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

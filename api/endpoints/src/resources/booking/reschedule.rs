//! POST /intent/booking/reschedule (our addition): moves a visit to the slot of a token.

use engine::{
    commands::{DERIVED_KEY, RescheduleVisit},
    records::Reschedule,
};
use framework::values::limits::MAX_IDEMPOTENCY_KEY;

use super::{
    BookingAnswer, BookingResponse, BookingView, booking_view,
    failure::BookingFailure,
    offers::{like, offers, open, recall},
    respond,
    visits::{NamedVisit, read_again},
    with_provider,
};
use crate::prelude::*;

#[input]
pub struct NewReschedule {
    visit: NamedVisit,
    #[body(filled(slot_token()))]
    slot_token: String,
    /// Idempotency key chosen by the caller, one per change.
    #[body(filled(text(MAX_IDEMPOTENCY_KEY)))]
    idempotency_key: String,
    /// The reason, sent to the practice's system with the change.
    #[body(text(MAX_TEXT), nonempty)]
    reason: Option<String>,
}

pub async fn create(
    mut call: ApiCall,
    InTenant(tenant, requested): InTenant<NewReschedule>,
) -> BookingAnswer<BookingResponse<'static>> {
    let (location, appointment) = requested.visit.find(&call, &tenant)?;
    let opened = open(&call, &tenant, None, &requested.slot_token);
    let vouched = opened.is_ok();
    // A retry finds its change even if the secret of its token was lost.
    let (place, offer) = opened.or_else(|_| recall(&call, &tenant, None, &requested.slot_token))?;
    if place.setup.id != location.setup.id {
        let (here, there) = (&location.setup.name, &place.setup.name);
        let why = format!("The visit is at {here} and the slot at {there}: search for slots at {here}.");
        return Err(ApiError::refused(why).into());
    }
    let (wanted, start) = (like(&offer), offer.span.start);
    let is_derived = requested.idempotency_key.starts_with(DERIVED_KEY);
    let request = RescheduleVisit {
        appointment: AppointmentId(appointment.id),
        offer,
        idempotency_key: requested.idempotency_key,
        reason: requested.reason,
    };
    let moved = call.api.engine.send(location.setup.id, request).await;
    let moved = moved.map_err(|refused| match refused {
        EngineError::Refused(Refusal::SlotExpired) if !vouched => BookingFailure::from(Failure::SlotNotFound),
        refused => BookingFailure::refused(refused, |slots| offers(&call, &location, wanted, slots)),
    })?;
    moved.warnings.iter().for_each(|warning| call.warn(warning));
    // The trail records a change, and a replay as a read.
    match moved.replay {
        true => call.audit("read", "booking", appointment.id),
        false => call.audit("reschedule", "appointment", appointment.id),
    }
    let appointment = read_again(&call, appointment.id)?;
    // An agent that moves a visit back to an earlier time repeats a call. It needs a new token.
    let is_outdated = appointment.reschedule.as_ref().is_some_and(|change| change.to != start);
    if moved.replay && is_derived && vouched && is_outdated {
        return Err(Failure::OfferExpired.into());
    }
    let view = booking_view(&call, &location, &appointment)?;
    let from = appointment.reschedule.as_ref().map(|change| times::for_people(change.from, location.setup.zone));
    let in_ehr = appointment.booking.as_ref().is_none_or(|booking| booking.writeback == Writeback::Confirmed);
    let message = message(&view, appointment.reschedule.as_ref(), from.as_deref().unwrap_or_default(), in_ehr);
    Ok(respond(&call, &location, Some(moved.replay), message, view))
}

/// Returns one sentence that can be read to the patient.
fn message(view: &BookingView<'_>, change: Option<&Reschedule>, from: &str, in_ehr: bool) -> String {
    let (start, place, with) = (&view.start_local, view.location.name, with_provider(view.provider.as_deref()));
    match change.map(|change| change.status).filter(|_| view.booking_status != "cancelled") {
        None if view.booking_status == "cancelled" => {
            format!("The appointment{with} on {start} at {place} is cancelled.")
        }
        None => format!("The appointment{with} stays on {start} at {place}."),
        Some(Writeback::Confirmed) => format!("The appointment{with} is moved to {start} at {place}."),
        Some(Writeback::Pending) if in_ehr => format!(
            "The appointment{with} is being moved to {start} at {place}; it stays booked on {from}, too, until the \
             practice's system has moved it."
        ),
        Some(Writeback::Pending) => {
            format!("The appointment{with} is moved to {start} at {place} and is being sent to the practice's system.")
        }
        Some(Writeback::Failed) => format!(
            "The appointment{with} stays on {start} at {place}: the practice's system did not move it, so please \
             choose another time or call the practice."
        ),
    }
}

//! POST /intent/booking/book

use engine::commands::{BookSlot, BookSlots, DERIVED_KEY, Offer, SlotBooking};
use framework::values::limits::{MAX_IDEMPOTENCY_KEY, PARTY_SIZES};

use super::{
    BookingAnswer, BookingView, described_booking,
    failure::BookingFailure,
    freshness::{IntentCall, NeededSchedule, NeedsSchedule, fresh_within, schedule_as_of},
    offers::{like, offers, open, recall},
};
use crate::prelude::*;

/// The booking, or the bookings of a group.
#[view]
pub struct BookResponse<'a> {
    ok: bool,
    /// `true` if an earlier request with the same `idempotency_key` created the booking or the group.
    replay: bool,
    /// One sentence about the state of each booking that may be read to the patient.
    message: String,
    /// The booking. Absent if the request has `bookings`.
    booking: Omittable<BookingView<'a>>,
    /// The bookings of a group, in the order of the request. Only if the request has `bookings`.
    bookings: Omittable<Vec<BookingView<'a>>>,
    /// Time up to which the changes of the practice's staff were known, in UTC; null if its appointments are not read.
    schedule_as_of: Option<At>,
    /// A warning, such as the names of ignored parameters and fields; absent if there is none.
    description: Omittable<&'a str>,
}

#[input(check = BookingInput::check)]
pub struct BookingInput {
    #[read(input.body.required_without("bookings", "slot_token", filled(slot_token())))]
    slot_token: Option<String>,
    /// Idempotency key chosen by the caller, one per booking attempt.
    #[body(filled(text(MAX_IDEMPOTENCY_KEY)))]
    idempotency_key: String,
    #[read(patient_without_bookings(input))]
    patient: Option<BookedPatient>,
    #[body(note(), nonempty)]
    note: Option<String>,
    #[read(bookings(input))]
    bookings: Option<Vec<GroupBooking>>,
    #[body(fresh_within())]
    fresh_within: Option<i64>,
}

impl BookingInput {
    fn check(&self, input: &mut Input) {
        let Some(bookings) = &self.bookings else { return };
        if self.note.is_some() {
            input.body.problem("note must be absent if bookings is given: each of bookings has its own.");
        }
        // Bookings with problems are left out.
        let counts = input.body.problem_count() == 0;
        if counts && !PARTY_SIZES.contains(&(bookings.len() as i64)) {
            let (least, most) = (*PARTY_SIZES.start(), *PARTY_SIZES.end());
            input.body.problem(format!("bookings must have between {least} and {most} entries."));
        }
    }
}

/// One booking of a group.
#[input]
struct GroupBooking {
    #[body(filled(slot_token()))]
    slot_token: String,
    #[read(required_patient(input))]
    patient: BookedPatient,
    #[body(note(), nonempty)]
    note: Option<String>,
}

fn patient_without_bookings(input: &mut Input) -> Option<BookedPatient> {
    let patient = input.body.required_without("bookings", "patient", object("The patient."));
    patient.map(|()| BookedPatient::from_input(input))
}

fn required_patient(input: &mut Input) -> BookedPatient {
    input.body.required("patient", object("The patient."));
    BookedPatient::from_input(input)
}

/// Reads the bookings of a group. The input has the body of each booking while its fields are read.
fn bookings(input: &mut Input) -> Option<Vec<GroupBooking>> {
    let about = "Two to eight bookings at one location instead of `slot_token` and `patient`: all are made, or none.";
    let mut body = std::mem::take(&mut input.body);
    let bookings = body.optional_objects("bookings", about, *PARTY_SIZES.end() as usize, |one| {
        std::mem::swap(&mut input.body, one);
        let booking = GroupBooking::from_input(input);
        std::mem::swap(&mut input.body, one);
        booking
    });
    input.body = body;
    bookings
}

/// The engine decides which fields are required, and reports missing ones (`patient_fields_required`).
#[input(builds = PatientDetails)]
struct BookedPatient {
    #[body(given_name(), name = "patient.first_name", nonempty, or = String::new())]
    first_name: String,
    /// Middle name.
    #[body(person_name(MAX_NAME), name = "patient.middle_name", nonempty)]
    middle_name: Option<String>,
    #[body(family_name(), name = "patient.last_name", nonempty, or = String::new())]
    last_name: String,
    #[body(birth_date(input.today), name = "patient.date_of_birth", nonempty)]
    date_of_birth: Option<Date>,
    #[body(phone(), name = "patient.phone_number", nonempty)]
    phone_number: Option<String>,
    #[body(email(), name = "patient.email", nonempty)]
    email: Option<String>,
    #[body(gender().map(str::to_owned), name = "patient.gender", nonempty)]
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

impl NeedsSchedule for InLocations<BookingInput> {
    fn schedule(&self, call: &ApiCall) -> Option<NeededSchedule> {
        let InLocations(tenant, at, BookingInput { slot_token, bookings, fresh_within, .. }) = self;
        let of_group = bookings.iter().flatten().map(|booking| &booking.slot_token);
        let opened = slot_token.iter().chain(of_group).map(|token| open(call, tenant, at.as_ref(), token).ok());
        // A token of an earlier secret can only be that of a retry, which is answered without a schedule.
        let opened: Vec<(OpenLocation, Offer)> = opened.collect::<Option<_>>()?;
        let (location, _) = opened.into_iter().next()?;
        Some(NeededSchedule { location, intent: IntentCall::Book, fresh_within: *fresh_within })
    }
}

pub async fn create(
    mut call: ApiCall,
    InLocations(tenant, at, asked): InLocations<BookingInput>,
) -> BookingAnswer<BookResponse<'static>> {
    let BookingInput { slot_token, idempotency_key, patient, note, bookings, .. } = asked;
    if let Some(bookings) = bookings {
        return create_group(call, &tenant, at.as_ref(), idempotency_key, bookings).await;
    }
    // Without bookings, both are required.
    let (slot_token, patient) = slot_token.zip(patient).ok_or_else(ApiError::internal)?;
    let opened = open(&call, &tenant, at.as_ref(), &slot_token);
    let vouched = opened.is_ok();
    // A retry finds its booking even if the secret of its token was lost.
    let (location, offer) = opened.or_else(|_| recall(&call, &tenant, at.as_ref(), &slot_token))?;
    let wanted = like(&offer);
    let created_by = call.key.name.clone();
    let is_derived = idempotency_key.starts_with(DERIVED_KEY);
    let request = BookSlot { offer, idempotency_key, patient: patient.0, note, created_by };
    let answer = call.api.engine.book(request).await;
    let made = answer.map_err(|refused| match refused {
        EngineError::Refused(Refusal::SlotExpired) if !vouched => BookingFailure::from(Failure::SlotNotFound),
        refused => BookingFailure::refused(refused, |slots| offers(&call, &location, wanted, slots)),
    })?;
    made.warnings.iter().for_each(|warning| call.warn(warning));
    audit(&call, &made.appointment, made.replay);
    // An agent that books a time again after a cancellation repeats a call. It needs a new token.
    if made.replay && is_derived && made.appointment.cancelled {
        return Err(Failure::OfferExpired.into());
    }
    let (booking, message) = described_booking(&call, &location, &made.appointment)?;
    let (booking, schedule_as_of) = (Some(booking), schedule_as_of(&call, &location));
    let (replay, description) = (made.replay, call.description());
    Ok(call.plain(BookResponse { ok: true, replay, message, booking, bookings: None, schedule_as_of, description }))
}

/// Books several slots of one location as one decision: all or none.
async fn create_group(
    mut call: ApiCall,
    tenant: &Tenant,
    at: Option<&OpenLocation>,
    idempotency_key: String,
    bookings: Vec<GroupBooking>,
) -> BookingAnswer<BookResponse<'static>> {
    let mut location: Option<OpenLocation> = None;
    let (mut requested, mut properties) = (Vec::new(), Vec::new());
    for (index, GroupBooking { slot_token, patient, note }) in bookings.into_iter().enumerate() {
        let opened = open(&call, tenant, at, &slot_token);
        let vouched = opened.is_ok();
        let opened = opened.or_else(|_| recall(&call, tenant, at, &slot_token));
        let (here, offer) = opened.map_err(|failure| failure.of_member(index))?;
        let first = location.get_or_insert(here);
        if first.setup.id != offer.location {
            return Err(other_location(index).into());
        }
        properties.push((like(&offer), vouched));
        requested.push(SlotBooking { offer, patient: patient.0, note });
    }
    let location = location.ok_or_else(ApiError::internal)?;
    let created_by = call.key.name.clone();
    let request = BookSlots { bookings: requested, idempotency_key, created_by };
    let answer = call.api.engine.send(location.setup.id, request).await;
    let made = answer.map_err(|refused| match refused {
        EngineError::Refused(Refusal::Member { index, refusal }) => match properties.get(index) {
            Some((_, false)) if *refusal == Refusal::SlotExpired => {
                BookingFailure::from(Failure::SlotNotFound).of_member(index)
            }
            Some((wanted, _)) => {
                BookingFailure::member_refused(index, *refusal, |slots| offers(&call, &location, *wanted, slots))
            }
            None => ApiError::internal().into(),
        },
        refused => BookingFailure::refused(refused, |_| Ok(Vec::new())),
    })?;
    made.warnings.iter().for_each(|warning| call.warn(warning));
    let (mut views, mut messages) = (Vec::new(), Vec::new());
    for appointment in &made.appointments {
        audit(&call, appointment, made.replay);
        let (view, message) = described_booking(&call, &location, appointment)?;
        views.push(view);
        messages.push(message);
    }
    let (message, description) = (messages.join(" "), call.description());
    let (bookings, schedule_as_of) = (Some(views), schedule_as_of(&call, &location));
    let replay = made.replay;
    Ok(call.plain(BookResponse { ok: true, replay, message, booking: None, bookings, schedule_as_of, description }))
}

/// Adds a booking to the trail: a new one as a creation, a replay as a read.
fn audit(call: &ApiCall, appointment: &Record<Appointment>, replay: bool) {
    match replay {
        true => call.audit("read", "booking", appointment.id),
        false => call.audit("create", "appointment", appointment.id),
    }
}

fn other_location(index: usize) -> ApiError {
    ApiError::bad(format!(
        "bookings[{index}].slot_token is for another location than bookings[0].slot_token: send one request for each \
         location."
    ))
}

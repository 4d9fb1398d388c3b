//! Failures of the booking intent: `ok` false and a `reason` (specification 7.4) in the envelope of all errors (7.1).

use actix_web::{
    HttpResponse, ResponseError,
    http::{StatusCode, header::RETRY_AFTER},
};
use engine::EngineError;
use location::{
    calendar::Holder,
    decision::{NotOpenReason, Refusal},
    slots::Fit,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::offer_view::OfferView;
use crate::{
    access::respond::Plain,
    http::errors::{ApiError, Fails, RETRY_READ, described},
    values::{kinds::echo, reasons::Reason},
};

/// The result of a handler of the booking intent.
pub(crate) type BookingAnswer<V> = Result<Plain<V>, BookingFailure>;

#[derive(Debug)]
pub(crate) enum BookingFailure {
    Reason(Box<BookingRefusal>),
    /// A failure that is common to all endpoints.
    Other(ApiError),
}

/// A refused booking call, in the envelope of all failures.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BookingRefusal {
    /// Always false: the request was not carried out.
    ok: bool,
    /// Machine-readable reason for the refusal.
    reason: Reason,
    /// Reason for the refusal, as a sentence.
    message: String,
    /// Other slots near the requested time, with tokens to book them; may be empty. Only with the reason `slot_taken`.
    #[serde(skip_serializing_if = "Option::is_none")]
    alternatives: Option<Vec<OfferView>>,
    /// Names of the patient fields that the practice needs. Only with the reason `patient_fields_required`.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing_fields: Option<Vec<String>>,
    /// Always false: the request was not carried out.
    code: bool,
    /// Cause and fix, if the message does not contain them; also names ignored parameters and fields.
    description: Option<String>,
    /// The same sentence as `message`.
    error: [String; 1],
    /// Always null: a failure has no record.
    data: Option<()>,
}

impl BookingFailure {
    fn new(reason: Reason, message: impl Into<String>) -> BookingFailure {
        BookingFailure::Reason(Box::new(BookingRefusal::new(reason, message.into())))
    }

    pub(crate) fn slot_not_found() -> BookingFailure {
        BookingFailure::new(Reason::SlotNotFound, "Unknown slot; please search for slots again.")
    }

    /// Before the first complete read of a practice its free times are unknown.
    pub(crate) fn not_read(name: &str) -> BookingFailure {
        let why = format!("The schedule of {name} has not been read yet, so its free slots are not known.");
        BookingFailure::new(Reason::ScheduleNotRead, format!("{why} Please try again in a minute."))
    }

    pub(crate) fn booking_not_found(booking_ref: &str) -> BookingFailure {
        BookingFailure::new(
            Reason::BookingNotFound,
            format!("There is no booking with the reference {}.", echo(booking_ref)),
        )
    }

    pub(crate) fn booking_failed() -> BookingFailure {
        let why = "The practice's system refused the booking; there is nothing to cancel.";
        BookingFailure::new(Reason::BookingFailed, why)
    }

    /// Converts a refusal of the engine. `alternatives` converts the engine's slots into offers.
    pub(crate) fn refused(
        refused: EngineError,
        alternatives: impl FnOnce(&[location::slots::Slot]) -> Result<Vec<OfferView>, ApiError>,
    ) -> BookingFailure {
        let refusal = match refused {
            EngineError::Refused(refusal) => refusal,
            other => return BookingFailure::Other(other.into()),
        };
        match refusal {
            Refusal::SlotExpired => BookingFailure::new(
                Reason::SlotExpired,
                "The offer of this slot has expired; please search for slots again.",
            ),
            Refusal::SlotTaken { fit, alternatives: slots } => match alternatives(&slots) {
                Ok(offers) => BookingFailure::Reason(Box::new(BookingRefusal {
                    alternatives: Some(offers),
                    ..BookingRefusal::new(Reason::SlotTaken, slot_taken(&fit).into())
                })),
                Err(error) => BookingFailure::Other(error),
            },
            Refusal::IdempotencyConflict => BookingFailure::new(
                Reason::IdempotencyConflict,
                "The idempotency_key is recorded against different request data.",
            ),
            Refusal::PatientFieldsRequired { missing } => {
                let message = format!("The practice needs more to register the patient: {}.", missing.join(", "));
                let reason = BookingRefusal::new(Reason::PatientFieldsRequired, message);
                BookingFailure::Reason(Box::new(BookingRefusal { missing_fields: Some(missing), ..reason }))
            }
            Refusal::NewPatientNotSupported => BookingFailure::new(
                Reason::NewPatientNotSupported,
                "The practice cannot accept new patients this way; please call the practice.",
            ),
            Refusal::TypeNotOnline => BookingFailure::new(
                Reason::NotBookableOnline,
                "Only the practice can book appointments of this type; please call the practice.",
            ),
            Refusal::AppointmentNotOpen(over) => BookingFailure::new(Reason::BookingNotOpen, closed(over)),
            // A finished appointment leaves the location's calendar after some time.
            Refusal::AppointmentNotFound => {
                BookingFailure::new(Reason::BookingNotOpen, closed(NotOpenReason::Forgotten))
            }
            other => BookingFailure::Other(other.into()),
        }
    }
}

/// Returns the reason why a booking can no longer be changed.
fn closed(over: NotOpenReason) -> &'static str {
    match over {
        NotOpenReason::Past => "The appointment has started or ended, so the booking can no longer be changed.",
        NotOpenReason::Cancelled => "The booking is already cancelled.",
        NotOpenReason::Failed => "The booking could not be entered into the practice's system.",
        NotOpenReason::NotOfAPatient => {
            "The practice has replaced the appointment, so only the practice can change it."
        }
        NotOpenReason::Forgotten => "The booking has ended, was cancelled or failed, so it can no longer be changed.",
    }
}

/// Explains a taken slot. A cancelled or moved appointment occupies its time until the practice's system is updated.
fn slot_taken(fit: &Fit) -> &'static str {
    match fit {
        Fit::Busy(Holder::Vacating(_)) => {
            "Unfortunately this time is not available yet: what was booked there was cancelled or moved, and the time is being freed in the \
             practice's system. Please try again later, or go back and choose another time."
        }
        _ => "Unfortunately this time is no longer available, please go back and choose another time.",
    }
}

impl BookingRefusal {
    fn answer(&self, status: StatusCode) -> HttpResponse {
        let mut response = HttpResponse::build(status);
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.insert_header((RETRY_AFTER, RETRY_READ.to_string()));
        }
        response.json(self)
    }

    fn advice(&self) -> &'static str {
        match &self.alternatives {
            Some(offers) if !offers.is_empty() => {
                "The time is taken. Book one of `alternatives` with its `slot_token`, or search for free slots again."
            }
            _ => self.reason.advice(),
        }
    }

    fn new(reason: Reason, message: String) -> BookingRefusal {
        let error = [message.clone()];
        BookingRefusal {
            ok: false,
            reason,
            message,
            alternatives: None,
            missing_fields: None,
            code: false,
            description: None,
            error,
            data: None,
        }
    }
}

impl Fails for BookingFailure {
    fn answer(self, notices: Option<&str>) -> HttpResponse {
        let status = self.status_code();
        match self {
            BookingFailure::Reason(mut refusal) => {
                refusal.description = described(refusal.advice(), notices);
                refusal.answer(status)
            }
            BookingFailure::Other(error) => error.answer(notices),
        }
    }
}

impl From<ApiError> for BookingFailure {
    fn from(error: ApiError) -> BookingFailure {
        BookingFailure::Other(error)
    }
}

impl std::fmt::Display for BookingFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BookingFailure::Reason(reason) => f.write_str(reason.reason.word()),
            BookingFailure::Other(error) => error.fmt(f),
        }
    }
}

impl ResponseError for BookingFailure {
    fn status_code(&self) -> StatusCode {
        match self {
            BookingFailure::Reason(reason) => match reason.reason {
                Reason::SlotTaken | Reason::IdempotencyConflict | Reason::BookingFailed | Reason::BookingNotOpen => {
                    StatusCode::CONFLICT
                }
                Reason::SlotExpired => StatusCode::GONE,
                Reason::PatientFieldsRequired | Reason::NewPatientNotSupported | Reason::NotBookableOnline => {
                    StatusCode::UNPROCESSABLE_ENTITY
                }
                Reason::ScheduleNotRead => StatusCode::SERVICE_UNAVAILABLE,
                _ => StatusCode::NOT_FOUND,
            },
            BookingFailure::Other(error) => error.status_code(),
        }
    }

    fn error_response(&self) -> HttpResponse {
        match self {
            BookingFailure::Reason(refusal) => refusal.answer(self.status_code()),
            BookingFailure::Other(error) => error.error_response(),
        }
    }
}

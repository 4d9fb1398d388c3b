//! Failures of the booking intent: `ok` false and a `reason` (specification 7.4), inside the envelope of all errors (7.1).

use actix_web::{
    HttpResponse, ResponseError,
    http::{StatusCode, header::RETRY_AFTER},
};
use engine::Refused;
use location::decision::{Over, Refusal};
use schemars::JsonSchema;
use serde::Serialize;

use super::offers::OfferView;
use crate::{
    errors::{ApiError, RETRY_READ},
    kinds::echo,
};

#[derive(Debug)]
pub enum Failure {
    Reason(Box<Reason>),
    /// Anything any endpoint may answer.
    Other(ApiError),
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Reason {
    ok: bool,
    reason: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    alternatives: Option<Vec<OfferView>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing_fields: Option<Vec<String>>,
    code: bool,
    description: Option<()>,
    error: [String; 1],
    data: Option<()>,
}

impl Failure {
    fn of(reason: &'static str, message: impl Into<String>) -> Failure {
        Failure::Reason(Box::new(Reason::of(reason, message.into())))
    }

    pub fn slot_not_found() -> Failure {
        Failure::of("slot_not_found", "That time is not known; please search for open times again.")
    }

    /// Before the first read of a practice is complete nobody knows its free times.
    pub fn not_read(name: &str) -> Failure {
        let why = format!("The schedule of {name} has not been read yet, so its open times are not known.");
        Failure::of("schedule_not_read", format!("{why} Please try again in a minute."))
    }

    pub fn booking_not_found(booking_ref: &str) -> Failure {
        Failure::of("booking_not_found", format!("There is no booking with the reference {}.", echo(booking_ref)))
    }

    pub fn booking_failed() -> Failure {
        let why = "The booking could not be entered into the practice's system; there is nothing to cancel.";
        Failure::of("booking_failed", why)
    }

    /// `alternatives` turns the engine's slots into offers.
    pub fn refused(
        refused: Refused,
        alternatives: impl FnOnce(&[location::slots::Slot]) -> Result<Vec<OfferView>, ApiError>,
    ) -> Failure {
        let refusal = match refused {
            Refused::Rule(refusal) => refusal,
            other => return Failure::Other(other.into()),
        };
        match refusal {
            Refusal::SlotExpired => {
                Failure::of("slot_expired", "The offer of that time has lapsed; please search for open times again.")
            }
            Refusal::SlotTaken { alternatives: slots, .. } => match alternatives(&slots) {
                Ok(offers) => {
                    let message =
                        "Unfortunately this time is no longer available, please go back and choose another time.";
                    Failure::Reason(Box::new(Reason {
                        alternatives: Some(offers),
                        ..Reason::of("slot_taken", message.into())
                    }))
                }
                Err(error) => Failure::Other(error),
            },
            Refusal::IdempotencyConflict => {
                Failure::of("idempotency_conflict", "The idempotency_key is recorded against different request data.")
            }
            Refusal::PatientFieldsRequired { missing } => {
                let message = format!("The practice needs more to register the patient: {}.", missing.join(", "));
                let reason = Reason::of("patient_fields_required", message);
                Failure::Reason(Box::new(Reason { missing_fields: Some(missing), ..reason }))
            }
            Refusal::NewPatientNotSupported => Failure::of(
                "new_patient_not_supported",
                "The practice cannot accept brand-new patients this way; please call the practice.",
            ),
            Refusal::TypeNotOnline => Failure::of(
                "not_bookable_online",
                "The practice books appointments of this type by itself only; please call the practice.",
            ),
            Refusal::AppointmentNotOpen(over) => Failure::of("booking_not_open", closed(over)),
            // What is over is forgotten in time.
            Refusal::AppointmentNotFound => Failure::of("booking_not_open", closed(Over::Forgotten)),
            other => Failure::Other(other.into()),
        }
    }
}

/// Why a booking cannot be changed any more.
fn closed(over: Over) -> &'static str {
    match over {
        Over::Past => "The appointment has begun or is over, so the booking cannot be changed any more.",
        Over::Cancelled => "The booking is cancelled already.",
        Over::Failed => "The booking could not be entered into the practice's system.",
        Over::NotOfAPatient => "The practice made something else of the appointment, so it is changed there only.",
        Over::Forgotten => "The booking is over, cancelled or failed, so it cannot be changed any more.",
    }
}

impl Reason {
    fn of(reason: &'static str, message: String) -> Reason {
        let error = [message.clone()];
        Reason {
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

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Failure {
        Failure::Other(error)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Reason(reason) => f.write_str(reason.reason),
            Failure::Other(error) => error.fmt(f),
        }
    }
}

impl ResponseError for Failure {
    fn status_code(&self) -> StatusCode {
        match self {
            Failure::Reason(reason) => match reason.reason {
                "slot_taken" | "idempotency_conflict" | "booking_failed" | "booking_not_open" => StatusCode::CONFLICT,
                "slot_expired" => StatusCode::GONE,
                "patient_fields_required" | "new_patient_not_supported" | "not_bookable_online" => {
                    StatusCode::UNPROCESSABLE_ENTITY
                }
                "schedule_not_read" => StatusCode::SERVICE_UNAVAILABLE,
                _ => StatusCode::NOT_FOUND,
            },
            Failure::Other(error) => error.status_code(),
        }
    }

    fn error_response(&self) -> HttpResponse {
        match self {
            Failure::Reason(reason) => {
                let mut response = HttpResponse::build(self.status_code());
                if self.status_code() == StatusCode::SERVICE_UNAVAILABLE {
                    response.insert_header((RETRY_AFTER, RETRY_READ.to_string()));
                }
                response.json(reason)
            }
            Failure::Other(error) => error.error_response(),
        }
    }
}

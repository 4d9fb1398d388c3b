//! Failures of the booking intent: `ok` false and a `reason` (specification 7.4) in the envelope of all errors (7.1).

use std::fmt::{self, Display};

use actix_web::{
    HttpResponse, ResponseError,
    http::{StatusCode, header::RETRY_AFTER},
};
use framework::{
    http::errors::{Fails, described, failure_of},
    values::{
        kinds::echo,
        rule_texts::{notice_in_words, refused_by},
    },
};

use super::offer_view::OfferView;
use crate::prelude::*;

/// The result of a handler of the booking intent.
pub(crate) type BookingAnswer<V> = Result<Plain<V>, BookingFailure>;

#[derive(Debug)]
pub enum BookingFailure {
    Refused(Box<BookingRefusal>),
    /// A failure that is common to all endpoints.
    Other(ApiError),
}

/// A refused booking call, in the envelope of all failures.
#[view]
#[derive(Debug)]
pub struct BookingRefusal {
    /// Always false: the request was not carried out.
    ok: bool,
    /// Machine-readable reason for the refusal.
    reason: Failure,
    /// Reason for the refusal, as a sentence. Several problems are joined.
    message: String,
    /// Index of the refused booking, from 0. Only if the request has `bookings`.
    index: Omittable<usize>,
    /// Other slots near the requested time, with tokens to book them; may be empty. Only with the reasons `slot_taken`
    /// and `rules_changed`.
    alternatives: Omittable<Vec<OfferView>>,
    /// The booking rule that refuses the visit: `too_soon`, `after_cutoff`, `beyond_horizon`, `buffer`, `daily_cap`,
    /// `closed`, `not_aligned` or `patient_not_eligible`; more may be added. Only with the reasons `not_bookable` and
    /// `rules_changed`.
    rule: Omittable<&'static str>,
    /// The way out that the practice wants clients to offer: `call`, `request`, or `type:` and the id of an appointment
    /// type. Only with the reason `not_bookable`, and only if the practice names one.
    instead: Omittable<String>,
    /// Names of the patient fields that the practice needs. Only with the reason `patient_fields_required`.
    missing_fields: Omittable<Vec<String>>,
    /// Always false: the request was not carried out.
    code: bool,
    /// Cause and fix, if the message does not contain them; also names ignored parameters and fields.
    description: Option<String>,
    /// One message per problem.
    error: Vec<String>,
    /// Always null: a failure has no record.
    data: Option<()>,
}

impl BookingFailure {
    fn new(failure: Failure, values: &[&dyn Display]) -> BookingFailure {
        BookingFailure::Refused(Box::new(BookingRefusal::new(failure, values)))
    }

    /// Before the first complete read of a practice its free times are unknown.
    pub(crate) fn not_read(name: &str) -> BookingFailure {
        BookingFailure::new(Failure::ScheduleOfNameNotRead, &[&name])
    }

    pub fn booking_not_found(booking_ref: &str) -> BookingFailure {
        BookingFailure::new(Failure::BookingNotFound, &[&echo(booking_ref)])
    }

    /// Converts a refusal of the engine. `alternatives` converts the engine's slots into offers.
    pub fn refused(
        refused: EngineError,
        alternatives: impl FnOnce(&[Slot]) -> Result<Vec<OfferView>, ApiError>,
    ) -> BookingFailure {
        let EngineError::Refused(refusal) = refused else { return BookingFailure::Other(refused.into()) };
        let Some(failure) = failure_of(&refusal).in_booking() else { return BookingFailure::Other(refusal.into()) };
        BookingFailure::of_refusal(failure, refusal, alternatives)
    }

    /// Converts the refusal of one booking of a group.
    pub fn member_refused(
        index: usize,
        refusal: Refusal,
        alternatives: impl FnOnce(&[Slot]) -> Result<Vec<OfferView>, ApiError>,
    ) -> BookingFailure {
        let failure = failure_of(&refusal);
        let failure = failure.in_booking().unwrap_or(failure);
        BookingFailure::of_refusal(failure, refusal, alternatives).of_member(index)
    }

    /// Names the booking of a group that the failure concerns.
    pub fn of_member(self, index: usize) -> BookingFailure {
        match self {
            BookingFailure::Refused(mut refusal) => {
                refusal.index = Some(index);
                BookingFailure::Refused(refusal)
            }
            BookingFailure::Other(error) => BookingFailure::Other(error.of_member(index)),
        }
    }

    fn of_refusal(
        failure: Failure,
        refusal: Refusal,
        alternatives: impl FnOnce(&[Slot]) -> Result<Vec<OfferView>, ApiError>,
    ) -> BookingFailure {
        let with = |values: &[&dyn Display]| BookingRefusal::new(failure, values);
        let made = match refusal {
            Refusal::SlotTaken { alternatives: slots, .. } => {
                alternatives(&slots).map(|offers| BookingRefusal { alternatives: Some(offers), ..with(&[]) })
            }
            Refusal::NotBookable { rule, instead } => Ok(BookingRefusal {
                rule: Some(rule.word()),
                instead: instead.map(|instead| instead.to_string()),
                ..with(&[&refused_by(rule)])
            }),
            Refusal::RulesChanged { rule, alternatives: slots } => {
                let refusal = with(&[&refused_by(rule)]);
                let offers = alternatives(&slots);
                offers.map(|it| BookingRefusal { alternatives: Some(it), rule: Some(rule.word()), ..refusal })
            }
            Refusal::ChangeTooLate { notice } => Ok(with(&[&notice_in_words(notice)])),
            Refusal::PatientFieldsRequired { missing } => {
                let refusal = with(&[&missing.join(", ")]);
                Ok(BookingRefusal { missing_fields: Some(missing), ..refusal })
            }
            _ => Ok(with(&[])),
        };
        made.map_or_else(BookingFailure::Other, |refusal| BookingFailure::Refused(Box::new(refusal)))
    }
}

impl BookingRefusal {
    fn new(failure: Failure, values: &[&dyn Display]) -> BookingRefusal {
        let message = failure.message(values);
        let error = vec![message.clone()];
        BookingRefusal {
            ok: false,
            reason: failure,
            message,
            index: None,
            alternatives: None,
            rule: None,
            instead: None,
            missing_fields: None,
            code: false,
            description: None,
            error,
            data: None,
        }
    }

    fn answer(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.reason.status());
        if let Some(seconds) = self.reason.retry_after() {
            response.insert_header((RETRY_AFTER, seconds.to_string()));
        }
        response.json(self)
    }

    fn advice(&self) -> &'static str {
        match &self.alternatives {
            Some(offers) if !offers.is_empty() && self.rule.is_some() => {
                "The practice changed its booking rules. Book one of `alternatives` with its `slot_token`, or search for \
                 free slots again."
            }
            Some(offers) if !offers.is_empty() => {
                "The time is taken. Book one of `alternatives` with its `slot_token`, or search for free slots again."
            }
            _ => self.reason.advice(),
        }
    }
}

impl Fails for BookingFailure {
    fn answer(self, notices: Option<&str>) -> HttpResponse {
        match self {
            BookingFailure::Refused(mut refusal) => {
                refusal.description = described(refusal.advice(), notices);
                refusal.answer()
            }
            BookingFailure::Other(error) => error.of_intent(true).answer(notices),
        }
    }
}

impl From<Failure> for BookingFailure {
    fn from(failure: Failure) -> BookingFailure {
        BookingFailure::new(failure, &[])
    }
}

impl From<ApiError> for BookingFailure {
    fn from(error: ApiError) -> BookingFailure {
        BookingFailure::Other(error)
    }
}

impl Display for BookingFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BookingFailure::Refused(refusal) => f.write_str(refusal.reason.reason()),
            BookingFailure::Other(error) => error.fmt(f),
        }
    }
}

impl ResponseError for BookingFailure {
    fn status_code(&self) -> StatusCode {
        match self {
            BookingFailure::Refused(refusal) => refusal.reason.status(),
            BookingFailure::Other(error) => error.status_code(),
        }
    }

    fn error_response(&self) -> HttpResponse {
        match self {
            BookingFailure::Refused(refusal) => refusal.answer(),
            BookingFailure::Other(error) => error.clone().of_intent(true).error_response(),
        }
    }
}

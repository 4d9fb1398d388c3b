//! Error responses and the single mapping from errors to HTTP.

use std::fmt::Display;

use actix_web::{
    HttpResponse, ResponseError,
    http::{StatusCode, header},
};
use engine::{
    EngineError, PreconditionError,
    lists::{ListError, MAX_SORTED},
};
use location::{Holder, LocationId, Refusal, Resource, SECOND, decision::NotOpenReason, slots::Fit};
use serde::Serialize;

use crate::{
    http::rate_limit::Exceeded,
    values::{
        failures::Failure,
        rule_texts::{notice_in_words, refused_by},
    },
};

/// Result of a handler.
pub type HttpResult = Result<HttpResponse, ApiError>;

/// The envelope of a failure (specification 2.1).
#[derive(Serialize)]
pub struct FailureEnvelope<'a> {
    code: bool,
    reason: Failure,
    description: Option<&'a str>,
    error: &'a [String],
    data: (),
}

impl<'a> FailureEnvelope<'a> {
    pub fn new(error: &'a [String], reason: Failure, description: Option<&'a str>) -> FailureEnvelope<'a> {
        FailureEnvelope { code: false, reason, description, error, data: () }
    }
}

/// A failure of an intent, whose responses all have `ok` and `message`.
#[derive(Serialize)]
struct IntentFailure<'a> {
    ok: bool,
    message: String,
    #[serde(flatten)]
    envelope: FailureEnvelope<'a>,
}

/// Failure of a request, with the values of this request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .messages.join(" "))]
pub struct ApiError {
    failure: Failure,
    /// One message per problem.
    messages: Vec<String>,
    /// Replaces the advice of the failure.
    advice: Option<String>,
    /// Seconds to wait.
    retry_after: Option<u64>,
    /// Value of `Allow`.
    allowed: Option<String>,
    /// The response has the fields of an intent.
    of_intent: bool,
}

/// Error of a handler. The response includes the notices of the request, such as ignored parameters.
pub trait Fails {
    fn answer(self, notices: Option<&str>) -> HttpResponse;
}

/// Returns `true` for the decoded paths of intents, whose failures have `ok` and `message`.
pub fn is_intent(path: &str) -> bool {
    path.starts_with("/intent/")
}

/// Joins advice and notices into the description.
pub fn described(advice: &str, notices: Option<&str>) -> Option<String> {
    let sentences: Vec<&str> = [Some(advice), notices].into_iter().flatten().filter(|text| !text.is_empty()).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

impl From<Failure> for ApiError {
    fn from(failure: Failure) -> ApiError {
        ApiError::new(failure, &[])
    }
}

impl ApiError {
    /// Creates an error from the values of the failure's message.
    pub fn new(failure: Failure, values: &[&dyn Display]) -> ApiError {
        ApiError::with_messages(failure, vec![failure.message(values)])
    }

    fn with_messages(failure: Failure, messages: Vec<String>) -> ApiError {
        let retry_after = failure.retry_after();
        ApiError { failure, messages, advice: None, retry_after, allowed: None, of_intent: false }
    }

    /// Replaces the advice with a specific one.
    pub fn explained(mut self, advice: impl Into<String>) -> ApiError {
        self.advice = Some(advice.into());
        self
    }

    /// Adds the fields of an intent to the response.
    pub fn of_intent(self, of_intent: bool) -> ApiError {
        ApiError { of_intent, ..self }
    }

    /// Names the booking of a group that the error concerns.
    pub fn of_member(self, index: usize) -> ApiError {
        let advice = format!("The refusal concerns bookings[{index}]. {}", self.advice());
        self.explained(advice.trim_end())
    }

    pub(crate) fn with_retry_after(mut self, seconds: u64) -> ApiError {
        self.retry_after = Some(seconds);
        self
    }

    /// Combines errors. The first determines status and reason; the messages of all are reported.
    pub fn all(errors: impl IntoIterator<Item = ApiError>) -> ApiError {
        let mut errors = errors.into_iter();
        let mut first = errors.next().unwrap_or_else(ApiError::internal);
        first.messages.extend(errors.flat_map(|error| error.messages));
        first
    }

    pub fn bad(problem: impl Into<String>) -> ApiError {
        ApiError::invalid(vec![problem.into()])
    }

    pub fn invalid(problems: Vec<String>) -> ApiError {
        ApiError::with_messages(Failure::InvalidRequest, problems)
    }

    pub fn not_found(record: impl Display) -> ApiError {
        ApiError::new(Failure::NotFound, &[&record])
    }

    /// Reports a record that exists at another location than the query names.
    pub fn not_at_location(record: impl Display, location: LocationId) -> ApiError {
        ApiError::new(Failure::NotAtLocation, &[&record, &location])
    }

    pub fn location_not_found(id: impl Display) -> ApiError {
        ApiError::new(Failure::LocationNotFound, &[&id])
    }

    pub fn conflict(problem: impl Display) -> ApiError {
        ApiError::new(Failure::Conflict, &[&problem])
    }

    /// Refuses a valid request.
    pub fn refused(why: impl Display) -> ApiError {
        ApiError::new(Failure::Refused, &[&why])
    }

    pub fn too_many(message: impl Display, retry_after: u64) -> ApiError {
        ApiError::new(Failure::TooMany, &[&message]).with_retry_after(retry_after)
    }

    pub fn unavailable(retry_after: u64) -> ApiError {
        ApiError::from(Failure::Unavailable).with_retry_after(retry_after)
    }

    pub fn internal() -> ApiError {
        Failure::InternalError.into()
    }

    pub fn grant_missing(grant: &str) -> ApiError {
        let why = format!("The API key lacks the grant `{grant}`; ask the operator of the service for it.");
        ApiError::from(Failure::GrantMissing).explained(why)
    }

    pub fn role_missing(role: &str) -> ApiError {
        let why = format!("This needs an operator's token with the role `{role}`, at the operators' listener.");
        ApiError::from(Failure::RoleMissing).explained(why)
    }

    pub fn method_not_allowed(allowed: String) -> ApiError {
        ApiError { allowed: Some(allowed.clone()), ..ApiError::new(Failure::MethodNotAllowed, &[&allowed]) }
    }

    pub fn failure(&self) -> Failure {
        self.failure
    }

    pub fn is_not_found(&self) -> bool {
        self.status_code() == StatusCode::NOT_FOUND
    }

    /// Replaces the error of a record that was not found.
    pub fn if_not_found<E: From<ApiError>>(self, other: impl FnOnce() -> E) -> E {
        if self.is_not_found() { other() } else { self.into() }
    }

    pub fn messages(&self) -> &[String] {
        &self.messages
    }

    /// Returns cause and fix for a human reader, empty if the message suffices.
    pub fn advice(&self) -> &str {
        self.advice.as_deref().unwrap_or(self.failure.advice())
    }

    pub fn retry_after(&self) -> Option<u64> {
        self.retry_after.map(|seconds| seconds.max(1))
    }

    /// Starts a response with the status and the headers that it requires.
    pub fn start_response(&self) -> actix_web::HttpResponseBuilder {
        let mut response = HttpResponse::build(self.status_code());
        if let Some(seconds) = self.retry_after() {
            response.insert_header((header::RETRY_AFTER, seconds.to_string()));
        }
        if let Some(allowed) = &self.allowed {
            response.insert_header((header::ALLOW, allowed.as_str()));
        }
        match self.failure {
            // The rest of the request remains unread, so the connection cannot be reused.
            Failure::BodyTooLarge | Failure::RequestTimeout => drop(response.force_close()),
            Failure::InvalidCredentials => {}
            _ if self.status_code() == StatusCode::UNAUTHORIZED => {
                response.insert_header((header::WWW_AUTHENTICATE, "Bearer"));
            }
            _ => {}
        }
        response
    }
}

impl Fails for ApiError {
    fn answer(self, notices: Option<&str>) -> HttpResponse {
        let description = described(self.advice(), notices);
        let envelope = FailureEnvelope::new(&self.messages, self.failure, description.as_deref());
        match self.of_intent {
            true => self.start_response().json(IntentFailure { ok: false, message: self.to_string(), envelope }),
            false => self.start_response().json(envelope),
        }
    }
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        self.failure.status()
    }

    fn error_response(&self) -> HttpResponse {
        self.clone().answer(None)
    }
}

impl From<Exceeded> for ApiError {
    fn from(Exceeded { limit_state, retry_after }: Exceeded) -> ApiError {
        let why = format!("At most {limit_state}; the bucket refills continuously. Call again in {retry_after} s.");
        ApiError::from(Failure::RateLimited).with_retry_after(retry_after).explained(why)
    }
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> ApiError {
        let failure = match error {
            EngineError::Refused(refusal) => return refusal.into(),
            EngineError::Precondition(unmet) => return unmet.into(),
            EngineError::TooManyToSort => return ApiError::new(Failure::TooManyToSort, &[&MAX_SORTED]),
            EngineError::Busy { retry_after } => return ApiError::unavailable(retry_after.into()),
            // It was there when the call came in, and has left the configuration since: asked again, it is not found.
            EngineError::UnknownLocation => Failure::Unavailable,
            EngineError::Internal => Failure::InternalError,
            EngineError::Expired => Failure::CursorExpired,
            EngineError::Moved => Failure::LocationMoved,
            EngineError::AdapterPreparing => Failure::AdapterPreparing,
            EngineError::AdapterRefused => Failure::AdapterRefused,
            EngineError::OtherSource(_) => Failure::DataSourceChanged,
            EngineError::NotRead => Failure::ScheduleNotRead,
            EngineError::OutcomeUnknown => Failure::OutcomeUnknown,
            EngineError::TooLarge => Failure::ChangeTooLarge,
            EngineError::StoreAway => Failure::StoreAway,
            EngineError::StoreFull => Failure::StoreFull,
            EngineError::Damaged => Failure::StoreDamaged,
        };
        failure.into()
    }
}

impl From<ListError> for ApiError {
    fn from(error: ListError) -> ApiError {
        EngineError::from(error).into()
    }
}

/// Default mapping of refusals. The booking intent has separate messages for some (specification 7.4).
impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> ApiError {
        let failure = failure_of(&refusal);
        match refusal {
            Refusal::Member { index, refusal } => ApiError::from(*refusal).of_member(index),
            Refusal::PatientFieldsRequired { missing } => ApiError::new(failure, &[&missing.join(", ")]),
            Refusal::NotBookable { rule, .. } | Refusal::RulesChanged { rule, .. } => {
                ApiError::new(failure, &[&refused_by(rule)])
            }
            Refusal::OfferOfOtherType { appointment_type } => ApiError::refused(format!(
                "slot_token was offered for another appointment type and another length than those of the visit: send \
                 one from a search with appointment_type_id {appointment_type}."
            )),
            Refusal::ChangeTooLate { notice } => ApiError::new(failure, &[&notice_in_words(notice)]),
            Refusal::TooManyHours { limit } => ApiError::new(failure, &[&limit]),
            Refusal::TooManyHolds { limit, free_in, .. } => {
                ApiError::new(failure, &[&limit]).with_retry_after(free_in.div_euclid(SECOND).unsigned_abs() + 1)
            }
            _ => failure.into(),
        }
    }
}

/// Maps each refusal to its failure, the same for all endpoints.
pub fn failure_of(refusal: &Refusal) -> Failure {
    match refusal {
        Refusal::SlotExpired => Failure::SlotExpired,
        Refusal::SlotTaken { fit: Fit::OutsideHours, .. } => Failure::OutsideWorkingHours,
        Refusal::SlotTaken { fit: Fit::TypeNotAccepted, .. } => Failure::AppointmentTypeNotAccepted,
        // A cancelled or moved appointment occupies its time until the practice's system is updated.
        Refusal::SlotTaken { fit: Fit::Busy(Holder::Vacating(_)), .. } => Failure::SlotVacating,
        Refusal::SlotTaken { fit: Fit::Free | Fit::Busy(_), .. } => Failure::SlotTaken,
        Refusal::NotBookable { .. } => Failure::NotBookable,
        Refusal::RulesChanged { .. } => Failure::RulesChanged,
        Refusal::OfferOfOtherType { .. } => Failure::Refused,
        Refusal::ChangeTooLate { .. } => Failure::ChangeTooLate,
        Refusal::Member { refusal, .. } => failure_of(refusal),
        Refusal::PatientTwice => Failure::PatientTwice,
        Refusal::IdempotencyConflict => Failure::IdempotencyConflict,
        Refusal::PatientFieldsRequired { .. } => Failure::PatientFieldsRequired,
        Refusal::NewPatientNotSupported => Failure::NewPatientNotSupported,
        Refusal::OperatoryRequired => Failure::OperatoryRequired,
        Refusal::AppointmentNotFound => Failure::AppointmentNotFound,
        Refusal::HourNotFound => Failure::HourNotFound,
        Refusal::WriteNotFound => Failure::WriteNotFound,
        Refusal::TypeNotOnline => Failure::NotBookableOnline,
        Refusal::AppointmentNotOpen(over) => match over {
            NotOpenReason::Past => Failure::AppointmentPast,
            NotOpenReason::Cancelled => Failure::AppointmentCancelled,
            NotOpenReason::Failed => Failure::AppointmentFailed,
            NotOpenReason::NotOfAPatient => Failure::AppointmentOfNoPatient,
            NotOpenReason::Forgotten => Failure::AppointmentNotOpen,
        },
        Refusal::AppointmentNotSynced => Failure::AppointmentNotSynced,
        Refusal::NotSupportedByEhr => Failure::NotSupportedByEhr,
        Refusal::NoDeletionsStopped => Failure::NoDeletionsStopped,
        Refusal::WriteNotFailed => Failure::WriteNotFailed,
        Refusal::WriteOnItsWay => Failure::WriteOnItsWay,
        Refusal::WriteWasPutBack => Failure::WriteWasPutBack,
        Refusal::WriteOfPatientFirst => Failure::WriteOfPatientFirst,
        Refusal::HourOfEhr => Failure::HourOfEhr,
        Refusal::TooManyHours { .. } => Failure::TooManyHours,
        Refusal::TooManyHolds { of_key: true, .. } => Failure::TooManyHoldsOfKey,
        Refusal::TooManyHolds { .. } => Failure::TooManyHolds,
        Refusal::QueueFull { .. } => Failure::QueueFull,
    }
}

/// Default mapping of failed preconditions. Handlers with specified messages map those first.
impl From<PreconditionError> for ApiError {
    fn from(unmet: PreconditionError) -> ApiError {
        match unmet {
            PreconditionError::NotFound { resource, id } => {
                ApiError::not_found(format!("{} with id {id}", name_of(resource)))
            }
            PreconditionError::NotUsable { resource: resource @ Resource::AppointmentTypes, id } => {
                ApiError::new(Failure::TypeOfEhr, &[&name_of(resource), &id])
            }
            PreconditionError::NotUsable { resource, id } => {
                ApiError::new(Failure::NotUsable, &[&name_of(resource), &id])
            }
            PreconditionError::OfEhr => Failure::OfEhr.into(),
            PreconditionError::StillWorks { location } => ApiError::new(Failure::ProviderHasHours, &[&location]),
            PreconditionError::PatientOfOtherLocation { id } => ApiError::not_found(format!("Patient with id {id}"))
                .explained(
                    "The patient was registered at another location and is not in the health record system yet: the \
                     first appointment must be at that location.",
                ),
            PreconditionError::PatientOfOtherEhr { .. } => Failure::PatientOfOtherEhr.into(),
            PreconditionError::PatientNotSynced => Failure::PatientNotSynced.into(),
            PreconditionError::PatientNotConverted => Failure::PatientNotConverted.into(),
            PreconditionError::DuplicatePatient { id } => ApiError::new(Failure::DuplicatePatient, &[&id]),
            PreconditionError::KeyReused => Failure::KeyReused.into(),
            PreconditionError::NumberTaken { resource, id } => {
                ApiError::new(Failure::NumberTaken, &[&name_of(resource), &id])
            }
            PreconditionError::InvalidValue(problem) => ApiError::bad(problem),
            PreconditionError::InvalidAnswers(problems) => ApiError::invalid(problems),
            PreconditionError::Several(all) => ApiError::all(all.into_iter().map(ApiError::from)),
        }
    }
}

/// Formats an engine message as a sentence, with a capital and one full stop.
pub fn sentence(text: &str) -> String {
    let mut letters = text.trim_end_matches('.').chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

pub fn name_of(resource: Resource) -> &'static str {
    engine::records::rules(resource).name
}

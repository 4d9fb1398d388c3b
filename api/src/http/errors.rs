//! Everything that is answered with an error, and the one map from errors to HTTP.

use std::borrow::Cow;

use actix_web::{
    HttpResponse, ResponseError,
    http::{StatusCode, header},
};
use engine::{EngineError, Unmet, lists::MAX_SORTED};
use location::{
    decision::{Over, Refusal},
    ids::LocationId,
    pull::Resource,
    slots::Fit,
    time::SECOND,
};

use crate::{
    http::{
        envelope::Envelope,
        rate_limit::{Exceeded, RateLimitState},
    },
    values::{limits::MAX_DEPTH, reasons::Reason},
};

/// What a handler answers.
pub type HttpResult = Result<HttpResponse, ApiError>;

/// Messages are the specification's words where it has some (7.3). Each failure has a reason, one word; where one message has several
/// causes it is told by `because`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// All problems of a request.
    #[error("{}", .0.join(" "))]
    BadRequest(Vec<String>),
    /// The API key itself was not accepted.
    #[error("Invalid Credentials")]
    Credentials,
    /// The bearer token was not accepted: missing, altered, expired, or its key revoked.
    #[error("You don't have access to perform this action.")]
    Token,
    #[error("You don't have access to perform this action.")]
    Forbidden,
    /// A library's default User-Agent (specification 5.8).
    #[error("Send a User-Agent header that names the calling application.")]
    UserAgent,
    #[error("Resource not found")]
    NoSuchRoute,
    #[error("{0} not found")]
    NotFound(String),
    /// The record exists, but at another location than the query names.
    #[error("{record} not found in location {location}")]
    NotAtLocation { record: String, location: LocationId },
    #[error("The method is not allowed here; allowed: {allowed}")]
    Method { allowed: String },
    #[error("The request was not received in time.")]
    Timeout,
    #[error("The body is larger than {limit} bytes.")]
    TooLarge { limit: usize },
    #[error("{0}")]
    MediaType(String),
    #[error("{0}")]
    Conflict(String),
    /// Understood, but refused.
    #[error("{0}")]
    Refused(String),
    #[error("You've exceeded our rate limit. Please wait and retry.")]
    RateLimit { retry_after: u64, limit: RateLimitState },
    #[error("{message}")]
    TooMany { message: String, retry_after: u64 },
    #[error("Gateway Time-out")]
    Unavailable { retry_after: u64 },
    /// The location or the store cannot serve for now, and why.
    #[error("{why}")]
    Closed { why: &'static str, retry_after: u64 },
    /// Nobody can say yet when a location's schedule is free.
    #[error(
        "The practice's schedule has not been read yet, so its free slots are not known. Please try again in a minute."
    )]
    NotRead,
    #[error("Something went wrong. Please try again or contact our support team.")]
    Internal,
    /// One of the others, and which of its causes it was. `why` says it where the reason's own advice does not.
    #[error("{error}")]
    Because { error: Box<ApiError>, reason: Reason, why: Option<String> },
    /// One of the others, and what else is wrong with the same request.
    #[error("{first}")]
    Several { first: Box<ApiError>, more: Vec<String> },
}

/// A failure of a handler; the notices of the request, such as parameters nobody read, is part of the answer.
pub trait Fails {
    fn answer(self, notices: Option<&str>) -> HttpResponse;
}

/// Cause and fix, and the notices of the request.
pub(crate) fn described(advice: &str, notices: Option<&str>) -> Option<String> {
    let said: Vec<&str> = [Some(advice), notices].into_iter().flatten().filter(|text| !text.is_empty()).collect();
    (!said.is_empty()).then(|| said.join(" "))
}

/// When a store that is full, or a queue, may take writes again.
const RETRY_LATER: u64 = 30;
/// A database that restarts, or fails over, is back by then more often than not.
const STORE_SOON: u64 = 5;
/// When an adapter that is being prepared may be ready.
const ADAPTER_SOON: u64 = 5;

/// A practice's schedule is read in seconds to minutes.
pub(crate) const RETRY_READ: u64 = 30;

impl ApiError {
    pub(crate) fn bad(problem: impl Into<String>) -> ApiError {
        ApiError::BadRequest(vec![problem.into()])
    }

    /// Which of the causes of its message it was.
    pub(crate) fn because(self, reason: Reason) -> ApiError {
        ApiError::Because { error: Box::new(self), reason, why: None }
    }

    /// The same, with cause and fix in words of its own.
    pub(crate) fn explained(self, reason: Reason, why: impl Into<String>) -> ApiError {
        ApiError::Because { error: Box::new(self), reason, why: Some(why.into()) }
    }

    /// The first of them says which failure it is; the others are told beside it.
    pub(crate) fn all(errors: impl IntoIterator<Item = ApiError>) -> ApiError {
        let mut errors = errors.into_iter();
        let first = Box::new(errors.next().unwrap_or(ApiError::Internal));
        ApiError::Several { first, more: errors.flat_map(|error| error.messages()).collect() }
    }

    pub(crate) fn grant_missing(grant: &str) -> ApiError {
        let why = format!("The API key lacks the grant `{grant}`; ask the operator of the service for it.");
        ApiError::Forbidden.explained(Reason::GrantMissing, why)
    }

    pub(crate) fn role_missing(role: &str) -> ApiError {
        let why = format!("This needs an operator's token with the role `{role}`, at the operators' listener.");
        ApiError::Forbidden.explained(Reason::RoleMissing, why)
    }

    pub(crate) fn location_not_found(id: impl std::fmt::Display) -> ApiError {
        ApiError::NotFound(format!("Location with id {id}")).because(Reason::LocationNotFound)
    }

    /// Whether it is there at all, whatever the cause.
    pub(crate) fn is_not_found(&self) -> bool {
        self.status_code() == StatusCode::NOT_FOUND
    }

    /// Without the cause.
    fn plain(&self) -> &ApiError {
        match self {
            ApiError::Because { error, .. } | ApiError::Several { first: error, .. } => error.plain(),
            plain => plain,
        }
    }

    /// The request met a location that moves between nodes.
    pub(crate) fn moved() -> ApiError {
        let why = "The location has just moved to another node of the service; nothing was changed. Please try again.";
        ApiError::Closed { why, retry_after: 1 }
    }

    pub(crate) fn too_deep(offset: usize) -> ApiError {
        ApiError::bad(format!("The body is nested deeper than {MAX_DEPTH} levels at byte {offset}."))
    }

    pub(crate) fn messages(&self) -> Vec<String> {
        match self {
            ApiError::Because { error, .. } => error.messages(),
            ApiError::Several { first, more } => [first.messages(), more.clone()].concat(),
            ApiError::BadRequest(problems) => problems.clone(),
            other => vec![other.to_string()],
        }
    }

    pub(crate) fn reason(&self) -> Reason {
        match self {
            ApiError::Because { reason, .. } => *reason,
            ApiError::Several { first, .. } => first.reason(),
            ApiError::BadRequest(_) => Reason::InvalidRequest,
            ApiError::Credentials => Reason::InvalidCredentials,
            ApiError::Token => Reason::TokenInvalid,
            ApiError::Forbidden => Reason::Forbidden,
            ApiError::UserAgent => Reason::UserAgentRefused,
            ApiError::NoSuchRoute => Reason::UnknownPath,
            ApiError::NotFound(_) | ApiError::NotAtLocation { .. } => Reason::NotFound,
            ApiError::Method { .. } => Reason::MethodNotAllowed,
            ApiError::Timeout => Reason::RequestTimeout,
            ApiError::TooLarge { .. } => Reason::BodyTooLarge,
            ApiError::MediaType(_) => Reason::UnsupportedMediaType,
            ApiError::Conflict(_) => Reason::Conflict,
            ApiError::Refused(_) => Reason::Refused,
            ApiError::RateLimit { .. } => Reason::RateLimited,
            ApiError::TooMany { .. } => Reason::TooMany,
            ApiError::Unavailable { .. } => Reason::Unavailable,
            ApiError::Closed { .. } => Reason::LocationUnavailable,
            ApiError::NotRead => Reason::ScheduleNotRead,
            ApiError::Internal => Reason::InternalError,
        }
    }

    /// Cause and fix, for a person reading the answer; empty where the message says enough.
    pub(crate) fn advice(&self) -> Cow<'_, str> {
        match self {
            ApiError::Because { why: Some(why), .. } => why.into(),
            ApiError::Several { first, .. } => first.advice(),
            ApiError::RateLimit { retry_after, limit } => {
                format!("At most {limit}; the bucket refills continuously. Call again in {retry_after} s.").into()
            }
            _ => self.reason().advice().into(),
        }
    }

    fn retry_after(&self) -> Option<u64> {
        match self.plain() {
            ApiError::RateLimit { retry_after, .. }
            | ApiError::TooMany { retry_after, .. }
            | ApiError::Closed { retry_after, .. }
            | ApiError::Unavailable { retry_after } => Some((*retry_after).max(1)),
            ApiError::NotRead => Some(RETRY_READ),
            _ => None,
        }
    }

    /// The answer's status, with the headers the status asks for.
    pub(crate) fn start_response(&self) -> actix_web::HttpResponseBuilder {
        let mut response = HttpResponse::build(self.status_code());
        if let Some(seconds) = self.retry_after() {
            response.insert_header((header::RETRY_AFTER, seconds.to_string()));
        }
        match self.plain() {
            ApiError::Token => drop(response.insert_header((header::WWW_AUTHENTICATE, "Bearer"))),
            ApiError::Method { allowed } => drop(response.insert_header((header::ALLOW, allowed.as_str()))),
            // What is left of the request is not read, so the connection cannot serve another one.
            ApiError::TooLarge { .. } | ApiError::Timeout => drop(response.force_close()),
            _ => {}
        }
        response
    }
}

impl Fails for ApiError {
    fn answer(self, notices: Option<&str>) -> HttpResponse {
        let description = described(&self.advice(), notices);
        self.start_response().json(Envelope::failure(&self.messages(), self.reason(), description.as_deref()))
    }
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        match self {
            ApiError::Because { error, .. } | ApiError::Several { first: error, .. } => error.status_code(),
            ApiError::BadRequest(_) => StatusCode::BAD_REQUEST,
            ApiError::Credentials | ApiError::Token => StatusCode::UNAUTHORIZED,
            ApiError::Forbidden | ApiError::UserAgent => StatusCode::FORBIDDEN,
            ApiError::NoSuchRoute | ApiError::NotFound(_) | ApiError::NotAtLocation { .. } => StatusCode::NOT_FOUND,
            ApiError::Method { .. } => StatusCode::METHOD_NOT_ALLOWED,
            ApiError::Timeout => StatusCode::REQUEST_TIMEOUT,
            ApiError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            ApiError::MediaType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            ApiError::Conflict(_) => StatusCode::CONFLICT,
            ApiError::Refused(_) => StatusCode::UNPROCESSABLE_ENTITY,
            ApiError::RateLimit { .. } | ApiError::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
            ApiError::Unavailable { .. } | ApiError::Closed { .. } | ApiError::NotRead => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            ApiError::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn error_response(&self) -> HttpResponse {
        self.clone().answer(None)
    }
}

impl From<Exceeded> for ApiError {
    fn from(Exceeded { standing, retry_after }: Exceeded) -> ApiError {
        ApiError::RateLimit { retry_after, limit: standing }
    }
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> ApiError {
        match error {
            EngineError::Refused(refusal) => refusal.into(),
            EngineError::Unmet(unmet) => unmet.into(),
            // It was there when the call came in, and has left the configuration since: asked again, it is not found.
            EngineError::UnknownLocation => ApiError::Unavailable { retry_after: 1 },
            EngineError::Internal => ApiError::Internal,
            EngineError::Expired => {
                ApiError::bad("The cursor is too old: leave it empty to start again.").because(Reason::CursorExpired)
            }
            EngineError::TooManyToSort => {
                ApiError::bad(format!("More than {MAX_SORTED} records cannot be sorted by id: narrow start and end."))
            }
            EngineError::Moved => ApiError::moved(),
            EngineError::Busy { retry_after } => ApiError::Unavailable { retry_after: retry_after.into() },
            EngineError::AdapterPreparing => {
                ApiError::Closed { retry_after: ADAPTER_SOON, why: "The location's adapter is being prepared." }
            }
            EngineError::AdapterRefused => ApiError::Closed {
                retry_after: RETRY_LATER,
                why: "The location's adapter cannot be used until the operator has fixed it.",
            },
            EngineError::NotRead => ApiError::NotRead,
            EngineError::OutcomeUnknown => ApiError::Closed {
                retry_after: RETRY_LATER,
                why: "It is unknown whether the request was stored. Read the record before sending the request again, or repeat it with the \
                      same idempotency key.",
            },
            EngineError::TooLarge => ApiError::Refused(
                "The request changes too many records at once; split it into several requests.".into(),
            ),
            EngineError::StoreAway => ApiError::Closed {
                retry_after: STORE_SOON,
                why: "The server's database cannot be reached; nothing was stored. Please try again soon.",
            },
            EngineError::StoreFull => ApiError::Closed {
                retry_after: RETRY_LATER,
                why: "The server's storage is full or has failed; writes are refused. Please try again later.",
            },
            EngineError::Damaged => ApiError::Closed {
                retry_after: RETRY_LATER,
                why: "Stored records are damaged; the request fails until the operator has restored them.",
            },
        }
    }
}

/// Refusals as an ordinary endpoint answers them; the booking intent has words of its own for some (specification 7.4).
impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> ApiError {
        let reason = reason_of(&refusal);
        let taken = "Unfortunately this time is no longer available, please go back and choose another time.";
        let error = match refusal {
            Refusal::SlotExpired | Refusal::SlotTaken { .. } => ApiError::bad(taken),
            Refusal::IdempotencyConflict => {
                ApiError::Conflict("The idempotency_key is recorded against different request data.".into())
            }
            Refusal::PatientFieldsRequired { missing } => {
                ApiError::Refused(format!("The practice requires more patient data: {}", missing.join(", ")))
            }
            Refusal::NewPatientNotSupported => {
                ApiError::Refused("The practice cannot accept brand-new patients through the API.".into())
            }
            Refusal::OperatoryRequired => ApiError::bad("operatory_id is missing: this location books by operatory."),
            Refusal::AppointmentNotFound => ApiError::NotFound("Appointment".into()),
            Refusal::TypeNotOnline => ApiError::Refused("Only the practice can book appointments of this type.".into()),
            Refusal::AppointmentNotOpen(over) => ApiError::bad(match over {
                Over::Past => "The appointment has started or ended and can no longer be changed.",
                Over::Cancelled => "The appointment is cancelled and can no longer be changed.",
                Over::Failed => {
                    "The appointment could not be written to the health record system and cannot be changed."
                }
                Over::NotOfAPatient => "The appointment has no patient; change it in the health record system.",
                Over::Forgotten => "The appointment has ended, was cancelled or failed, and can no longer be changed.",
            }),
            Refusal::NotSupportedByEhr => ApiError::bad("EMR does not support this operation."),
            Refusal::AppointmentNotSynced => {
                ApiError::bad("Cannot update appointment because it is not synced with the PMS and/or a live client")
            }
            Refusal::HourNotFound => ApiError::NotFound("Working Hour".into()),
            Refusal::WriteNotFound => ApiError::NotFound("Write Request".to_owned()),
            Refusal::NoDeletionsStopped => ApiError::bad("No deletions of this resource were stopped at the location."),
            Refusal::WriteNotFailed => ApiError::bad("The write has not failed, or was retried or dropped already."),
            Refusal::WriteOnItsWay => {
                ApiError::bad("The write is being sent or may have been written: it cannot be dropped.")
            }
            Refusal::WriteWasPutBack => ApiError::bad("The refused change was reverted: request it again."),
            Refusal::WriteOfPatientFirst => ApiError::bad("The write of its patient failed: retry that write first."),
            Refusal::HourOfEhr => {
                ApiError::bad("The working hours come from the health record system: change them there.")
            }
            Refusal::TooManyHours { limit } => {
                ApiError::bad(format!("The location has {limit} working hours already; remove some first."))
            }
            Refusal::TooManyHolds { limit, of_key, free_in } => {
                let message = if of_key {
                    format!(
                        "This key already holds {limit} slots at the location, the maximum: book or release some of them."
                    )
                } else {
                    format!("All {limit} holds of the location are in use; one will expire soon.")
                };
                ApiError::TooMany { message, retry_after: free_in.div_euclid(SECOND).unsigned_abs() + 1 }
            }
            Refusal::QueueFull { .. } => ApiError::Unavailable { retry_after: RETRY_LATER },
        };
        error.because(reason)
    }
}

/// The word of each refusal, the same wherever it is answered.
pub(crate) fn reason_of(refusal: &Refusal) -> Reason {
    match refusal {
        Refusal::SlotExpired => Reason::SlotExpired,
        Refusal::SlotTaken { fit: Fit::OutsideHours, .. } => Reason::OutsideWorkingHours,
        Refusal::SlotTaken { fit: Fit::TypeNotAccepted, .. } => Reason::AppointmentTypeNotAccepted,
        Refusal::SlotTaken { fit: Fit::Free | Fit::Busy(_), .. } => Reason::SlotTaken,
        Refusal::IdempotencyConflict => Reason::IdempotencyConflict,
        Refusal::PatientFieldsRequired { .. } => Reason::PatientFieldsRequired,
        Refusal::NewPatientNotSupported => Reason::NewPatientNotSupported,
        Refusal::OperatoryRequired => Reason::OperatoryRequired,
        Refusal::AppointmentNotFound | Refusal::HourNotFound | Refusal::WriteNotFound => Reason::NotFound,
        Refusal::TypeNotOnline => Reason::NotBookableOnline,
        Refusal::AppointmentNotOpen(over) => match over {
            Over::Past => Reason::AppointmentPast,
            Over::Cancelled => Reason::AppointmentCancelled,
            Over::Failed => Reason::AppointmentFailed,
            Over::NotOfAPatient | Over::Forgotten => Reason::AppointmentNotOpen,
        },
        Refusal::AppointmentNotSynced => Reason::AppointmentNotSynced,
        Refusal::NotSupportedByEhr => Reason::NotSupportedByEhr,
        Refusal::NoDeletionsStopped => Reason::NoDeletionsStopped,
        Refusal::WriteNotFailed => Reason::WriteNotFailed,
        Refusal::WriteOnItsWay => Reason::WriteOnItsWay,
        Refusal::WriteWasPutBack => Reason::WriteWasPutBack,
        Refusal::WriteOfPatientFirst => Reason::WriteOfPatientFirst,
        Refusal::HourOfEhr => Reason::HourOfEhr,
        Refusal::TooManyHours { .. } => Reason::TooManyHours,
        Refusal::TooManyHolds { .. } => Reason::TooMany,
        Refusal::QueueFull { .. } => Reason::Unavailable,
    }
}

/// What a request names and is not so. Handlers of endpoints for which the specification has words of its own map those first.
impl From<Unmet> for ApiError {
    fn from(unmet: Unmet) -> ApiError {
        match unmet {
            Unmet::NotFound { resource, id } => ApiError::NotFound(format!("{} with id {id}", name_of(resource))),
            Unmet::NotUsable { resource: resource @ Resource::AppointmentTypes, id } => {
                let name = name_of(resource);
                ApiError::bad(format!(
                    "{name} with id {id} comes from the health record system and must be changed there"
                ))
                .because(Reason::NotUsable)
            }
            Unmet::NotUsable { resource, id } => {
                ApiError::bad(format!("{} with id {id} cannot be used or changed through the API", name_of(resource)))
                    .because(Reason::NotUsable)
            }
            Unmet::OfEhr => {
                ApiError::Refused("This location has a health record system.".to_owned()).because(Reason::OfEhr)
            }
            Unmet::StillWorks { location } => {
                ApiError::Conflict(format!("The provider has working hours at location {location}: remove them first."))
            }
            Unmet::PatientOfOtherLocation { id } => ApiError::NotFound(format!("Patient with id {id}")).explained(
                Reason::NotFound,
                "The patient was registered at another location and is not in the health record system yet: the first \
                 appointment must be at that location.",
            ),
            Unmet::PatientOfOtherEhr { .. } => ApiError::bad(
                "Cannot create an appointment where the patient belongs to a location from a different EHR",
            )
            .because(Reason::PatientOfOtherEhr),
            Unmet::PatientNotSynced => {
                ApiError::Refused("The patient is not in the health record system yet; try again later.".into())
                    .because(Reason::PatientNotSynced)
            }
            Unmet::PatientNotConverted => {
                ApiError::bad("Cannot create an appointment where the patient attribute new_patient=true")
                    .because(Reason::PatientNotConverted)
            }
            Unmet::DuplicatePatient { id } => {
                ApiError::bad(format!("A patient with that information already exists -id={id}"))
                    .because(Reason::DuplicatePatient)
            }
            Unmet::KeyReused => {
                ApiError::Conflict("The Idempotency-Key was used for a request with other data.".into())
                    .because(Reason::IdempotencyConflict)
            }
            Unmet::NumberTaken { resource, id } => {
                let name = name_of(resource);
                ApiError::Conflict(format!(
                    "{name} with id {id} was created with the same transaction_id and other data."
                ))
            }
            Unmet::Wrong(problem) => ApiError::bad(problem),
            Unmet::Unfit(problems) => ApiError::BadRequest(problems),
            Unmet::Several(all) => ApiError::all(all.into_iter().map(ApiError::from)),
        }
    }
}

/// Words of the engine as a message: with a capital and one full stop.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.trim_end_matches('.').chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

/// What a message calls a record.
pub(crate) fn name_of(resource: Resource) -> &'static str {
    engine::records::rules(resource).name
}

//! Error responses and the single mapping from errors to HTTP.

use std::borrow::Cow;

use actix_web::{
    HttpResponse, ResponseError,
    http::{StatusCode, header},
};
use engine::{EngineError, Unmet, lists::MAX_SORTED};
use location::{
    decision::{NotOpenReason, Refusal},
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

/// Result of a handler.
pub type HttpResult = Result<HttpResponse, ApiError>;

/// Errors of the API. Messages are the specification's where it defines them (7.3). `because` sets the reason if one
/// message has several causes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    #[error("{}", .0.join(" "))]
    BadRequest(Vec<String>),
    #[error("Invalid Credentials")]
    Credentials,
    /// Missing, altered or expired bearer token, or one of a revoked key.
    #[error("You don't have access to perform this action.")]
    Token,
    #[error("You don't have access to perform this action.")]
    Forbidden,
    /// Default User-Agent of a library (specification 5.8).
    #[error("Send a User-Agent header that names the calling application.")]
    UserAgent,
    #[error("Resource not found")]
    NoSuchRoute,
    #[error("{0} not found")]
    NotFound(String),
    /// The record exists at another location than the query names.
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
    /// Valid request that was refused.
    #[error("{0}")]
    Refused(String),
    #[error("You've exceeded our rate limit. Please wait and retry.")]
    RateLimit { retry_after: u64, limit: RateLimitState },
    #[error("{message}")]
    TooMany { message: String, retry_after: u64 },
    #[error("Gateway Time-out")]
    Unavailable { retry_after: u64 },
    /// The location or the store is temporarily unavailable.
    #[error("{why}")]
    Closed { why: &'static str, retry_after: u64 },
    /// The schedule of the location has not been read yet.
    #[error(
        "The practice's schedule has not been read yet, so its free slots are not known. Please try again in a minute."
    )]
    NotRead,
    #[error("Something went wrong. Please try again or contact our support team.")]
    Internal,
    /// Error with its reason. `why` replaces the default advice of the reason.
    #[error("{error}")]
    Because { error: Box<ApiError>, reason: Reason, why: Option<String> },
    /// Error with further problems of the same request.
    #[error("{first}")]
    Several { first: Box<ApiError>, more: Vec<String> },
}

/// Error of a handler. The response includes the notices of the request, such as ignored parameters.
pub trait Fails {
    fn answer(self, notices: Option<&str>) -> HttpResponse;
}

/// Joins advice and notices into the description.
pub(crate) fn described(advice: &str, notices: Option<&str>) -> Option<String> {
    let said: Vec<&str> = [Some(advice), notices].into_iter().flatten().filter(|text| !text.is_empty()).collect();
    (!said.is_empty()).then(|| said.join(" "))
}

/// Seconds until a full store or queue may accept writes again.
const RETRY_LATER: u64 = 30;
/// Seconds until a database is usually back after a restart or failover.
const STORE_SOON: u64 = 5;
/// Seconds until an adapter in preparation may be ready.
const ADAPTER_SOON: u64 = 5;

/// Seconds until a practice's schedule is usually read; the first read takes seconds to minutes.
pub(crate) const RETRY_READ: u64 = 30;

impl ApiError {
    pub(crate) fn bad(problem: impl Into<String>) -> ApiError {
        ApiError::BadRequest(vec![problem.into()])
    }

    pub(crate) fn because(self, reason: Reason) -> ApiError {
        ApiError::Because { error: Box::new(self), reason, why: None }
    }

    /// Sets the reason, with specific advice.
    pub(crate) fn explained(self, reason: Reason, why: impl Into<String>) -> ApiError {
        ApiError::Because { error: Box::new(self), reason, why: Some(why.into()) }
    }

    /// Combines errors. The first determines status and reason; the messages of all are reported.
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

    /// Returns `true` for status 404, regardless of the cause.
    pub(crate) fn is_not_found(&self) -> bool {
        self.status_code() == StatusCode::NOT_FOUND
    }

    /// Returns the error without reason and further problems.
    fn plain(&self) -> &ApiError {
        match self {
            ApiError::Because { error, .. } | ApiError::Several { first: error, .. } => error.plain(),
            plain => plain,
        }
    }

    /// Returns the error for a location that moves between nodes.
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

    /// Returns cause and fix for a human reader, empty if the message suffices.
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

    /// Starts a response with the status and the headers that it requires.
    pub(crate) fn start_response(&self) -> actix_web::HttpResponseBuilder {
        let mut response = HttpResponse::build(self.status_code());
        if let Some(seconds) = self.retry_after() {
            response.insert_header((header::RETRY_AFTER, seconds.to_string()));
        }
        match self.plain() {
            ApiError::Token => drop(response.insert_header((header::WWW_AUTHENTICATE, "Bearer"))),
            ApiError::Method { allowed } => drop(response.insert_header((header::ALLOW, allowed.as_str()))),
            // The rest of the request remains unread, so the connection cannot be reused.
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
    fn from(Exceeded { limit_state, retry_after }: Exceeded) -> ApiError {
        ApiError::RateLimit { retry_after, limit: limit_state }
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

/// Default mapping of refusals. The booking intent has separate messages for some (specification 7.4).
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
                NotOpenReason::Past => "The appointment has started or ended and can no longer be changed.",
                NotOpenReason::Cancelled => "The appointment is cancelled and can no longer be changed.",
                NotOpenReason::Failed => {
                    "The appointment could not be written to the health record system and cannot be changed."
                }
                NotOpenReason::NotOfAPatient => {
                    "The appointment has no patient; change it in the health record system."
                }
                NotOpenReason::Forgotten => {
                    "The appointment has ended, was cancelled or failed, and can no longer be changed."
                }
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

/// Maps each refusal to its reason, the same for all endpoints.
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
            NotOpenReason::Past => Reason::AppointmentPast,
            NotOpenReason::Cancelled => Reason::AppointmentCancelled,
            NotOpenReason::Failed => Reason::AppointmentFailed,
            NotOpenReason::NotOfAPatient | NotOpenReason::Forgotten => Reason::AppointmentNotOpen,
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

/// Default mapping of failed preconditions. Handlers with specified messages map those first.
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

/// Formats an engine message as a sentence, with a capital and one full stop.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.trim_end_matches('.').chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

/// Returns the display name of a record type.
pub(crate) fn name_of(resource: Resource) -> &'static str {
    engine::records::rules(resource).name
}

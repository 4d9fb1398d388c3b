//! The frame of all pages, and the error pages.

use actix_web::{
    HttpResponse, HttpResponseBuilder, ResponseError,
    http::{
        StatusCode,
        header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, RETRY_AFTER},
    },
};
use askama::Template;
use engine::{EngineError, lists::ListError};

use framework::{http::errors::ApiError, values::role::Role};

/// The content security policy: only resources of this server, no inline scripts, and no embedding in other pages.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// The parts of a page around its content.
#[derive(Default)]
pub(super) struct PageFrame {
    pub title: String,
    /// The active entry of the navigation.
    pub section: &'static str,
    pub name: String,
    pub role: &'static str,
    pub csrf_token: String,
    pub sees_patients: bool,
    /// The URL of the events that report changes of the page.
    pub live: Option<String>,
    /// A message about the action that led to this page.
    pub done: Option<&'static str>,
}

pub(super) fn html(status: StatusCode, page: &impl Template) -> HttpResponse {
    match page.render() {
        Ok(text) => start(status).body(text),
        Err(error) => {
            tracing::error!(%error, "console page rendering failed");
            start(StatusCode::INTERNAL_SERVER_ERROR).body("The page could not be written.")
        }
    }
}

fn start(status: StatusCode) -> HttpResponseBuilder {
    let mut answer = HttpResponse::build(status);
    answer
        .insert_header((CONTENT_TYPE, "text/html; charset=utf-8"))
        .insert_header((CONTENT_SECURITY_POLICY, POLICY))
        .insert_header((REFERRER_POLICY, "same-origin"));
    answer
}

pub(super) fn see_other(path: &str) -> HttpResponse {
    HttpResponse::SeeOther().insert_header((LOCATION, path)).finish()
}

/// The reason why a page is not shown.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConsoleError {
    /// The page at `to` is shown after signing in.
    #[error("No operator is signed in.")]
    SignIn { to: String },
    #[error("This needs the role {}.", .0.name())]
    Role(Role),
    #[error("The form is too old, or of another session. Go back, reload the page and try again.")]
    Form,
    #[error("{}", sentences(.0))]
    Api(#[from] ApiError),
}

impl From<EngineError> for ConsoleError {
    fn from(error: EngineError) -> ConsoleError {
        ConsoleError::Api(error.into())
    }
}

impl From<ListError> for ConsoleError {
    fn from(error: ListError) -> ConsoleError {
        ConsoleError::Api(error.into())
    }
}

fn sentences(error: &ApiError) -> String {
    let sentence = |text: &String| format!("{}.", text.trim_end_matches('.'));
    error.messages().iter().map(sentence).collect::<Vec<_>>().join(" ")
}

#[derive(Template)]
#[template(path = "console/failure.html")]
struct FailurePage {
    title: &'static str,
    message: String,
    advice: String,
}

impl ResponseError for ConsoleError {
    fn status_code(&self) -> StatusCode {
        match self {
            ConsoleError::SignIn { .. } => StatusCode::SEE_OTHER,
            ConsoleError::Role(_) | ConsoleError::Form => StatusCode::FORBIDDEN,
            ConsoleError::Api(error) => error.status_code(),
        }
    }

    fn error_response(&self) -> HttpResponse {
        if let ConsoleError::SignIn { to } = self {
            return see_other(&format!("/console/sign-in?{}", query(&[("to", to)])));
        }
        let title = match self.status_code().as_u16() {
            403 => "Not allowed",
            404 => "Not found",
            429 => "Too many attempts",
            503 | 504 => "Not available now",
            _ => "Request failed",
        };
        let (advice, retry_after) = match self {
            ConsoleError::Api(error) => (error.advice().to_owned(), error.start_response().finish()),
            _ => (String::new(), HttpResponse::Ok().finish()),
        };
        let mut answer = html(self.status_code(), &FailurePage { title, message: self.to_string(), advice });
        if let Some(seconds) = retry_after.headers().get(RETRY_AFTER) {
            answer.headers_mut().insert(RETRY_AFTER, seconds.clone());
        }
        answer
    }
}

pub(super) async fn unknown_page() -> Result<HttpResponse, ConsoleError> {
    Err(ApiError::not_found("Page").into())
}

/// Encodes a query string, without `?`.
pub(crate) fn query(pairs: &[(&str, &str)]) -> String {
    let coded = |text: &str| askama::filters::urlencode_strict(text).map(|text| text.to_string()).unwrap_or_default();
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={}", coded(value))).collect();
    pairs.join("&")
}

/// Returns the URL at which a page of this version receives change events.
pub(super) fn live_address(page: &str, version: u64) -> String {
    format!("/console/events?{}", query(&[("page", page), ("seen", &version.to_string())]))
}

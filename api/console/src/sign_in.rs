//! Signing in with an operator's token, and signing out.

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        StatusCode,
        header::{HeaderValue, RETRY_AFTER, SET_COOKIE},
    },
    web::{Data, Form, Query},
};
use askama::Template;
use framework::{
    access::{api::Api, audited::AuditCaller},
    http::errors::ApiError,
    values::{failures::Failure, sessions::SESSION},
};
use location::{Millis, SECOND};
use serde::Deserialize;

use crate::{
    page::{ConsoleError, html, see_other},
    visit::{COOKIE, ConsoleRequest},
};

#[derive(Template)]
#[template(path = "console/sign_in.html")]
struct SignInPage {
    to: String,
    problem: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Target {
    #[serde(default)]
    to: String,
}

#[derive(Deserialize)]
pub(super) struct Credentials {
    token: String,
    #[serde(default)]
    to: String,
}

pub(crate) async fn form(target: Query<Target>) -> HttpResponse {
    html(StatusCode::OK, &SignInPage { to: inside(&target.to), problem: None })
}

pub(super) async fn sign_in(
    request: HttpRequest,
    api: Data<Api>,
    given: Form<Credentials>,
) -> Result<HttpResponse, ConsoleError> {
    // A form of another site could sign an operator in under another name.
    let from = request.headers().get("sec-fetch-site").and_then(|from| from.to_str().ok());
    if from.is_some_and(|from| from != "same-origin" && from != "none") {
        return Err(ConsoleError::Form);
    }
    let (client, to) = (api.client(&request), inside(&given.to));
    let Some(operator) = api.operators().presented(given.token.trim()).cloned() else {
        let refused = api.edge().rejected_callers.refused(client, "operator's token", Failure::TokenInvalid.into());
        let (status, problem) = match refused.failure() {
            Failure::TooMany => (StatusCode::TOO_MANY_REQUESTS, refused.to_string()),
            _ => (StatusCode::FORBIDDEN, "This is not the token of an operator.".to_owned()),
        };
        let mut answer = html(status, &SignInPage { to, problem: Some(problem) });
        if let Some(retry_after) = refused.retry_after() {
            answer.headers_mut().insert(RETRY_AFTER, retry_after.into());
        }
        return Ok(answer);
    };
    let now = api.engine.now();
    operator.used(now);
    AuditCaller::for_session(&operator.name, client, &request, "sign in").append_session_entry(&api).await;
    with_cookie(see_other(&to), &request, &api.sessions.begin(operator.id(), now), SESSION)
}

#[derive(Deserialize)]
pub(super) struct SignOut {
    #[serde(default)]
    csrf_token: String,
}

pub(super) async fn sign_out(
    request: HttpRequest,
    visit: ConsoleRequest,
    given: Form<SignOut>,
) -> Result<HttpResponse, ConsoleError> {
    if given.csrf_token != visit.session.csrf_token {
        return Err(ConsoleError::Form);
    }
    AuditCaller::for_session(&visit.operator.name, visit.client, &request, "sign out")
        .append_session_entry(&visit.api)
        .await;
    with_cookie(see_other("/console/sign-in"), &request, "", 0)
}

/// Returns `true` if the browser's connection is encrypted, by the listener or by a proxy.
fn has_tls(request: &HttpRequest) -> bool {
    let of_listener = request.app_data::<Data<Api>>().is_some_and(|api| api.certificates.operators.is_some());
    of_listener || request.connection_info().scheme() == "https"
}

/// Sets the session cookie for a duration. Only the console receives the cookie, and scripts cannot read it.
fn with_cookie(
    mut answer: HttpResponse,
    request: &HttpRequest,
    value: &str,
    lasts: Millis,
) -> Result<HttpResponse, ConsoleError> {
    let secure = if has_tls(request) { "; Secure" } else { "" };
    let seconds = lasts / SECOND;
    let text = format!("{COOKIE}={value}; Path=/console; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    let cookie = HeaderValue::from_str(&text).map_err(|_| ApiError::internal())?;
    answer.headers_mut().insert(SET_COOKIE, cookie);
    Ok(answer)
}

/// Returns the target if it is a page of the console, otherwise the start page.
pub fn inside(to: &str) -> String {
    let own = to.strip_prefix("/console").is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']));
    let plain = to.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if own && plain && !to.starts_with("/console/sign-") { to.to_owned() } else { "/console".to_owned() }
}

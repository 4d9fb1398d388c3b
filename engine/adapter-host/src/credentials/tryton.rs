//! Sessions of a Tryton server, such as GNU Health: the password is checked once, then a session key is used.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::json;
use setup::{login::TrytonSession, secret::Secret};

use super::grant::{ANSWER_BYTES, Grant, LONGEST, NoGrant, TOKEN_BYTES};
use crate::{HttpRequest, HttpResponse};

#[derive(Deserialize)]
struct TrytonLoginResponse {
    /// The id of the user, and the session key.
    result: (u64, String),
}

pub(super) fn request(session: &TrytonSession) -> HttpRequest {
    let params = json!([session.user, {"password": session.password.expose()}]);
    let body = json!({"id": 0, "method": "common.db.login", "params": params});
    HttpRequest {
        method: "POST".to_owned(),
        url: session.url.clone(),
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: Some(body.to_string().into_bytes()),
        max_response_body: ANSWER_BYTES,
    }
}

pub(super) fn granted(session: &TrytonSession, answer: &HttpResponse) -> Result<Grant, NoGrant> {
    match answer.status {
        200 => (),
        401 | 403 => {
            let host = session.url.host_str().unwrap_or_default();
            tracing::warn!(host, status = answer.status, "the EHR refuses this login");
            return Err(NoGrant::Refused);
        }
        // After several wrong passwords the server locks a login for a while.
        429 => return Err(NoGrant::Later("the login is locked for a while".to_owned())),
        status => return Err(NoGrant::Later(format!("the EHR answered {status} to a login"))),
    }
    let opened: Option<TrytonLoginResponse> = serde_json::from_slice(&answer.body).ok();
    let plain =
        |key: &String| (1..=TOKEN_BYTES / 2).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_alphanumeric());
    let opened = opened.filter(|opened| plain(&opened.result.1));
    let (id, key) =
        opened.ok_or_else(|| NoGrant::Later("the EHR's answer to a login is not as expected".to_owned()))?.result;
    let token = STANDARD.encode(format!("{}:{id}:{key}", session.user));
    Ok(Grant { authorization: Secret::new(format!("Session {token}")), life: LONGEST })
}

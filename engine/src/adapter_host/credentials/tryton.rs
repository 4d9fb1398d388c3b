//! Sessions of a Tryton server, such as GNU Health: one check of the password, and then a key that the server looks up.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use reqwest::Url;
use serde::Deserialize;
use serde_json::json;

use super::{ANSWER_BYTES, Grant, LONGEST, NoGrant, TOKEN_BYTES};
use crate::adapter_host::{
    Secret,
    transport::{HttpRequest, HttpResponse},
};

/// Who logs in where. A session lasts as long as the server says, a month unless it is configured otherwise; we open one a day.
#[derive(Clone, Debug)]
pub struct TrytonSession {
    /// The database: its JSON-RPC is posted here.
    url: Url,
    user: String,
    password: Secret,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrytonError {
    #[error("a session needs the address of a database, such as https://ehr.example:8000/gnuhealth")]
    Address,
    #[error("a login that opens sessions must not be empty or hold a colon")]
    User,
}

#[derive(Deserialize)]
struct Opened {
    /// Id of the user, and the key.
    result: (u64, String),
}

impl TrytonSession {
    /// `base_url` is the data source's.
    pub fn new(base_url: &str, user: String, password: Secret) -> Result<TrytonSession, TrytonError> {
        let base = base_url.trim_end_matches('/');
        let url = Url::parse(&format!("{base}/")).ok();
        let url = url.filter(|url| ["http", "https"].contains(&url.scheme()) && url.path() != "/");
        if user.is_empty() || user.contains(':') {
            return Err(TrytonError::User);
        }
        Ok(TrytonSession { url: url.ok_or(TrytonError::Address)?, user, password })
    }

    pub(super) fn request(&self) -> HttpRequest {
        let params = json!([self.user, {"password": self.password.expose()}]);
        let body = json!({"id": 0, "method": "common.db.login", "params": params});
        HttpRequest {
            method: "POST".to_owned(),
            url: self.url.clone(),
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: Some(body.to_string().into_bytes()),
            max_response_body: ANSWER_BYTES,
        }
    }

    pub(super) fn granted(&self, answer: &HttpResponse) -> Result<Grant, NoGrant> {
        match answer.status {
            200 => (),
            401 | 403 => {
                let host = self.url.host_str().unwrap_or_default();
                tracing::warn!(host, status = answer.status, "the EHR refuses this login");
                return Err(NoGrant::Refused);
            }
            // After wrong passwords a login is locked for a while.
            429 => return Err(NoGrant::Later("the login is locked for a while".to_owned())),
            status => return Err(NoGrant::Later(format!("the EHR answered {status} to a login"))),
        }
        let opened: Option<Opened> = serde_json::from_slice(&answer.body).ok();
        let plain =
            |key: &String| (1..=TOKEN_BYTES / 2).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_alphanumeric());
        let opened = opened.filter(|opened| plain(&opened.result.1));
        let (id, key) =
            opened.ok_or_else(|| NoGrant::Later("the EHR's answer to a login is not as expected".to_owned()))?.result;
        let session = STANDARD.encode(format!("{}:{id}:{key}", self.user));
        Ok(Grant { authorization: Secret::new(format!("Session {session}")), life: LONGEST })
    }
}

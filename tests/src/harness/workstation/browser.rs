//! The simulated workstation's browser: a session cookie, and requests in that session.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use parking_lot::{Mutex, MutexGuard};
use reqwest::{Client, Method, Response, Url, header, redirect::Policy};
use serde_json::{Value, json};

/// The engine's description of the EHR for a workstation.
#[derive(Clone, Debug)]
pub struct BrowserEhr {
    pub origin: String,
    pub base_path: String,
    pub paths: Vec<String>,
    pub probe: String,
}

impl BrowserEhr {
    pub fn from_json(ehr: &Value) -> BrowserEhr {
        let text = |name: &str| ehr[name].as_str().unwrap_or_default().to_owned();
        let paths = ehr["paths"].as_array().into_iter().flatten();
        let paths = paths.filter_map(|path| Some(path.as_str()?.to_owned())).collect();
        BrowserEhr { origin: text("origin"), base_path: text("base_path"), paths, probe: text("probe") }
    }

    fn url(&self, path: &str) -> Option<Url> {
        format!("{}{}{path}", self.origin, self.base_path.trim_end_matches('/')).parse().ok()
    }

    fn allows(&self, path: &str) -> bool {
        let path = path.split('?').next().unwrap_or_default();
        self.paths.iter().any(|allowed| path.starts_with(allowed.as_str())) && !path.contains("..")
    }
}

/// Reason for a missing answer, in terms of the protocol.
pub struct BrowserFailure {
    pub kind: &'static str,
    pub reason: String,
}

fn failure(kind: &'static str, reason: impl ToString) -> BrowserFailure {
    BrowserFailure { kind, reason: reason.to_string() }
}

pub struct Browser {
    client: Client,
    cookie: Mutex<Option<String>>,
}

impl Default for Browser {
    fn default() -> Self {
        // Another thread may have installed the same provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().no_proxy().redirect(Policy::none()).build().expect("a client");
        Browser { client, cookie: Mutex::default() }
    }
}

impl Browser {
    /// Sets the `Cookie` header of a new session.
    pub fn log_in(&self, cookie: &str) {
        *self.cookie() = Some(cookie.to_owned());
    }

    pub fn forget(&self) {
        *self.cookie() = None;
    }

    /// Returns whether a user is logged in, by the protocol's rule.
    pub async fn logged_in(&self, ehr: &BrowserEhr) -> bool {
        let Some(url) = ehr.url(&ehr.probe) else { return false };
        let accept = [("accept".to_owned(), "application/json".to_owned())];
        let answer = self.send(Method::GET, url.as_str(), &accept, None).await;
        answer.is_ok_and(|answer| answer.status() == 200 && is(&answer, "json"))
    }

    /// Sends the engine's request to the EHR and returns the answer without the fields that identify the request.
    pub async fn perform(&self, ehr: &BrowserEhr, request: &Value) -> Result<Value, BrowserFailure> {
        let path = request["path"].as_str().unwrap_or_default();
        let url = ehr.url(path).filter(|_| ehr.allows(path)).ok_or_else(|| failure("refused", "the path"))?;
        let headers: Vec<(String, String)> = serde_json::from_value(request["headers"].clone()).unwrap_or_default();
        let body = request["body"].as_str().map(|body| STANDARD.decode(body).unwrap_or_default());
        let method = request["method"].as_str().and_then(|method| method.parse().ok());
        let method: Method = method.ok_or_else(|| failure("refused", "the method"))?;
        let wants_json = headers.iter().any(|(name, value)| {
            name.eq_ignore_ascii_case("accept") && value.contains("json") && !value.contains("html")
        });
        let deadline = Duration::from_millis(request["deadline_ms"].as_u64().unwrap_or(30_000));
        let sending = self.send(method, url.as_str(), &headers, body);
        let answer = match tokio::time::timeout(deadline, sending).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) if error.is_connect() => return Err(failure("not_sent", error)),
            Ok(Err(error)) => return Err(failure("no_answer", error)),
            Err(_) => return Err(failure("no_answer", "the deadline")),
        };
        if answer.status().is_redirection() {
            // The EHR has received the request, so the outcome of a write is unknown.
            return Err(failure(if request["write"].is_null() { "refused" } else { "no_answer" }, "a redirect"));
        }
        if answer.status() == 401 || (wants_json && is(&answer, "html")) {
            return Err(failure("no_answer", "logged out"));
        }
        let status = answer.status().as_u16();
        let headers = answer.headers().iter();
        let headers: Vec<(String, String)> = headers
            .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
            .filter(|(name, _)| name != "set-cookie")
            .collect();
        let body = answer.bytes().await.map_err(|error| failure("no_answer", error))?;
        if request["max_body"].as_u64().is_some_and(|most| body.len() as u64 > most) {
            return Err(failure("no_answer", "too large"));
        }
        Ok(json!({"status": status, "headers": headers, "body": STANDARD.encode(&body)}))
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        headers: &[(String, String)],
        body: Option<Vec<u8>>,
    ) -> Result<Response, reqwest::Error> {
        let mut request = self.client.request(method, url);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(cookie) = self.cookie().clone() {
            request = request.header(header::COOKIE, cookie);
        }
        if let Some(body) = body {
            request = request.body(body);
        }
        request.send().await
    }

    fn cookie(&self) -> MutexGuard<'_, Option<String>> {
        self.cookie.lock()
    }
}

fn is(answer: &Response, kind: &str) -> bool {
    let content_type = answer.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    content_type.is_some_and(|content_type| content_type.contains(kind))
}

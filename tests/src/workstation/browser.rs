//! What of a browser the double needs: a session cookie, and requests that run in that session as the extension's do.

use std::{sync::Mutex, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use reqwest::{Client, Method, Response, Url, header, redirect::Policy};
use serde_json::{Value, json};

/// The EHR as the engine describes it to a workstation.
#[derive(Clone, Debug)]
pub struct Ehr {
    pub origin: String,
    pub base_path: String,
    pub paths: Vec<String>,
    pub probe: String,
}

impl Ehr {
    pub fn of(told: &Value) -> Ehr {
        let text = |name: &str| told[name].as_str().unwrap_or_default().to_owned();
        let paths = told["paths"].as_array().into_iter().flatten();
        let paths = paths.filter_map(|path| Some(path.as_str()?.to_owned())).collect();
        Ehr { origin: text("origin"), base_path: text("base_path"), paths, probe: text("probe") }
    }

    fn url(&self, path: &str) -> Option<Url> {
        format!("{}{}{path}", self.origin, self.base_path.trim_end_matches('/')).parse().ok()
    }

    fn allows(&self, path: &str) -> bool {
        let path = path.split('?').next().unwrap_or_default();
        self.paths.iter().any(|allowed| path.starts_with(allowed.as_str())) && !path.contains("..")
    }
}

/// Why a request has no answer, in the words of the protocol.
pub struct Failure {
    pub kind: &'static str,
    pub reason: String,
}

fn failure(kind: &'static str, reason: impl ToString) -> Failure {
    Failure { kind, reason: reason.to_string() }
}

pub struct Browser {
    client: Client,
    cookies: Mutex<Vec<(String, String)>>,
}

impl Default for Browser {
    fn default() -> Self {
        // Whoever is first decides; all of them are the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().no_proxy().redirect(Policy::none()).build().expect("a client");
        Browser { client, cookies: Mutex::default() }
    }
}

impl Browser {
    /// Fills in the login form of a page, with whatever hidden fields it has.
    pub async fn log_in(&self, login: &str, fields: &[(&str, &str)]) -> Result<(), String> {
        let page = self.send(Method::GET, login, &[], None).await.map_err(|error| error.to_string())?;
        let page = page.text().await.map_err(|error| error.to_string())?;
        let mut form: Vec<(String, String)> = hidden_fields(&page);
        form.extend(fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let body = form.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect::<Vec<_>>().join("&");
        let headers = [("content-type".to_owned(), "application/x-www-form-urlencoded".to_owned())];
        let answer = self.send(Method::POST, login, &headers, Some(body.into_bytes())).await;
        let status = answer.map_err(|error| error.to_string())?.status();
        if status.is_success() || status.is_redirection() { Ok(()) } else { Err(format!("not logged in: {status}")) }
    }

    pub fn forget(&self) {
        self.jar().clear();
    }

    /// Whether somebody is logged in, by the rule of the protocol.
    pub async fn logged_in(&self, ehr: &Ehr) -> bool {
        let Some(url) = ehr.url(&ehr.probe) else { return false };
        let accept = [("accept".to_owned(), "application/json".to_owned())];
        let answer = self.send(Method::GET, url.as_str(), &accept, None).await;
        answer.is_ok_and(|answer| answer.status() == 200 && is(&answer, "json"))
    }

    /// The EHR's answer to a request of the engine, without the fields that say which request it was.
    pub async fn perform(&self, ehr: &Ehr, request: &Value) -> Result<Value, Failure> {
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
            return Err(failure("refused", "a redirect"));
        }
        if answer.status() == 401 || (wants_json && is(&answer, "html")) {
            return Err(failure("no_answer", "logged out"));
        }
        let status = answer.status().as_u16();
        let told = answer.headers().iter();
        let told: Vec<(String, String)> = told
            .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
            .filter(|(name, _)| name != "set-cookie")
            .collect();
        let body = answer.bytes().await.map_err(|error| failure("no_answer", error))?;
        if request["max_body"].as_u64().is_some_and(|most| body.len() as u64 > most) {
            return Err(failure("no_answer", "too large"));
        }
        Ok(json!({"status": status, "headers": told, "body": STANDARD.encode(&body)}))
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
        let cookies = self.jar().iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ");
        if !cookies.is_empty() {
            request = request.header(header::COOKIE, cookies);
        }
        if let Some(body) = body {
            request = request.body(body);
        }
        let answer = request.send().await?;
        for cookie in answer.headers().get_all(header::SET_COOKIE) {
            let pair = cookie.to_str().ok().and_then(|text| text.split(';').next()?.split_once('='));
            let Some((name, value)) = pair else { continue };
            let mut jar = self.jar();
            jar.retain(|(known, _)| known != name.trim());
            jar.push((name.trim().to_owned(), value.trim().to_owned()));
        }
        Ok(answer)
    }

    fn jar(&self) -> std::sync::MutexGuard<'_, Vec<(String, String)>> {
        self.cookies.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn is(answer: &Response, kind: &str) -> bool {
    let told = answer.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    told.is_some_and(|told| told.contains(kind))
}

/// `<input type="hidden" name="x" value="y">`
fn hidden_fields(page: &str) -> Vec<(String, String)> {
    let attribute = |tag: &str, name: &str| {
        let from = tag.split_once(&format!("{name}=\""))?.1;
        Some(from.split_once('"')?.0.to_owned())
    };
    let inputs = page.split("<input").skip(1).filter_map(|rest| rest.split('>').next());
    let hidden = inputs.filter(|tag| tag.contains("type=\"hidden\""));
    hidden.filter_map(|tag| Some((attribute(tag, "name")?, attribute(tag, "value")?))).collect()
}

fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

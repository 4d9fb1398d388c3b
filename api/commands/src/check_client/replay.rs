//! Sends recorded calls to the demo, with the demo's key, institution and locations in place of the recorded ones.

use std::time::Duration;

use framework::values::{failures::Failure, versions::Version};
use reqwest::{Client, Method, Url, header::HeaderMap};
use serde::Deserialize;
use serde_json::Value;

use super::recording::RecordedCall;
use crate::server::{ServerSession, answer};

const CALL: Duration = Duration::from_secs(60);
/// Maximum number of attempts of a rate-limited call.
const TRIES: usize = 5;
/// Maximum wait between two attempts.
const WAIT: Duration = Duration::from_secs(60);

/// Headers sent unchanged, in addition to version headers. Other headers may contain secrets of the other system.
const SENT: [&str; 6] = ["accept", "content-type", "user-agent", "idempotency-key", "if-none-match", "x-request-id"];
/// Parameters and fields that name locations.
const PLACES: [&str; 3] = ["location_id", "location_ids", "lids"];

/// The destination of calls, as in the `demo.json` of a demo.
#[derive(Deserialize)]
pub(super) struct Target {
    pub base_url: String,
    pub api_key: String,
    pub subdomain: String,
    pub location_ids: Vec<u32>,
}

/// The outcome of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ReplayAnswer {
    pub status: u16,
    pub reason: String,
    pub messages: Vec<String>,
    pub advice: String,
    /// Parameters and fields that the server ignored.
    pub ignored: Vec<String>,
}

/// Parts of a call that are replaced with correct ones.
#[derive(Default)]
struct Corrections {
    agent: bool,
    version: bool,
    authorization: bool,
}

impl Corrections {
    /// Corrects the cause of a refusal. Returns `false` if there is nothing to correct, or it was corrected before.
    fn add(&mut self, reason: &str) -> bool {
        let Some(failure) = Failure::ALL.iter().find(|known| known.reason() == reason) else { return false };
        let part = match failure {
            Failure::UserAgentRefused => &mut self.agent,
            Failure::VersionMissing | Failure::VersionUnknown => &mut self.version,
            Failure::InvalidCredentials
            | Failure::TokenMissing
            | Failure::TokenMalformed
            | Failure::TokenInvalid
            | Failure::TokenExpired
            | Failure::ApiKeyInsteadOfToken => &mut self.authorization,
            _ => return false,
        };
        !std::mem::replace(part, true)
    }
}

pub(super) struct Player {
    client: Client,
    target: Target,
    token: String,
    /// Recorded location ids, in order of first appearance.
    seen: Vec<String>,
    /// Credentials that the client exchanged for a token.
    keys: Vec<String>,
}

impl Player {
    /// Signs in. Fails for keys of production, because recorded calls may write.
    pub(super) async fn sign_in(target: Target) -> Result<Player, String> {
        engine::webhooks::egress::install_crypto();
        let client = Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).timeout(CALL).build();
        let client = client.map_err(|error| error.to_string())?;
        let session = ServerSession::with_key(&target.base_url, &target.api_key).await?;
        let me = answer(session.get("/me")).await?;
        if me["environment"] != "sandbox" {
            return Err(
                "the key is not of a sandbox: recorded calls write, and are sent to the demo or a sandbox only"
                    .to_owned(),
            );
        }
        let token = session.token.clone();
        Ok(Player { client, target, token, seen: Vec::new(), keys: Vec::new() })
    }

    /// Sends a call. If it is refused for its version, agent or authorization, sends it again with a correct one to
    /// find further problems. The last answer belongs to the call with all corrections.
    pub(super) async fn send(&mut self, call: &RecordedCall) -> Result<Vec<ReplayAnswer>, String> {
        let (mut corrections, mut answers) = (Corrections::default(), Vec::new());
        loop {
            let answer = self.send_corrected(call, &corrections).await?;
            let is_corrected = corrections.add(&answer.reason);
            answers.push(answer);
            if !is_corrected {
                return Ok(answers);
            }
        }
    }

    /// Sends the call, and retries it if it was rate limited.
    async fn send_corrected(&mut self, call: &RecordedCall, corrections: &Corrections) -> Result<ReplayAnswer, String> {
        let mut tries = 0;
        loop {
            let (answer, wait) = self.once(call, corrections).await?;
            tries += 1;
            match wait {
                Some(seconds) if answer.status == 429 && tries < TRIES => {
                    tokio::time::sleep(Duration::from_secs(seconds).min(WAIT)).await;
                }
                _ => return Ok(answer),
            }
        }
    }

    async fn once(
        &mut self,
        call: &RecordedCall,
        corrections: &Corrections,
    ) -> Result<(ReplayAnswer, Option<u64>), String> {
        let path = self.path(&call.path);
        let at = format!("{}{path}", self.target.base_url);
        let mut url = Url::parse(&at).map_err(|error| error.to_string())?;
        if !call.query.is_empty() {
            let pairs: Vec<(String, String)> =
                call.query.iter().map(|(name, value)| (name.clone(), self.value(name, value))).collect();
            url.query_pairs_mut().extend_pairs(pairs);
        }
        let method = Method::from_bytes(call.method.as_bytes()).map_err(|error| error.to_string())?;
        let mut request = self.client.request(method, url);
        for (name, value) in &call.headers {
            let is_corrected = corrections.agent && name == "user-agent";
            let names_version = name.contains("version");
            if (SENT.contains(&name.as_str()) && !is_corrected) || (names_version && !corrections.version) {
                request = request.header(name, value);
            }
        }
        if corrections.agent {
            request = request.header("user-agent", concat!("check-client/", env!("CARGO_PKG_VERSION")));
        }
        if corrections.version {
            request = request.header("svc-api-version", Version::V3_0_0.name());
        }
        let recorded = self.authorization(call);
        let correct = || {
            if call.path == "/authenticates" { self.target.api_key.clone() } else { format!("Bearer {}", self.token) }
        };
        if let Some(authorization) = if corrections.authorization { Some(correct()) } else { recorded } {
            request = request.header("authorization", authorization);
        }
        if let Some(body) = &call.body {
            let typed = call.headers.iter().any(|(name, _)| name == "content-type");
            request = if typed { request } else { request.header("content-type", "application/json") };
            request = request.body(self.body(body));
        }
        let answer = request.send().await.map_err(|error| error.without_url().to_string())?;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let body: Value =
            serde_json::from_slice(&answer.bytes().await.map_err(|error| error.to_string())?).unwrap_or_default();
        let wait = headers.get("retry-after").and_then(|it| it.to_str().ok()?.parse().ok());
        Ok((parse_answer(status, &headers, &body), wait))
    }

    /// Returns the `Authorization` header in the client's format, with the demo's key or token in it. A value that was
    /// exchanged for a token is a key; any other bearer value is a token.
    fn authorization(&mut self, call: &RecordedCall) -> Option<String> {
        let (_, given) = call.headers.iter().find(|(name, _)| name == "authorization")?;
        let (scheme, value) =
            given.split_once(' ').map_or(("", given.as_str()), |(scheme, value)| (scheme, value.trim()));
        if call.path == "/authenticates" {
            self.keys.push(value.to_owned());
        }
        let own = match scheme {
            "" => &self.target.api_key,
            _ if !scheme.eq_ignore_ascii_case("bearer") => "recorded",
            _ if self.keys.iter().any(|key| key == value) => &self.target.api_key,
            _ => &self.token,
        };
        Some(if scheme.is_empty() { own.to_owned() } else { format!("{scheme} {own}") })
    }

    fn path(&mut self, path: &str) -> String {
        let mut parts: Vec<String> = path.split('/').map(str::to_owned).collect();
        if let [_, first, id, ..] = &mut parts[..]
            && first == "locations"
        {
            *id = self.location(id);
        }
        parts.join("/")
    }

    fn value(&mut self, name: &str, value: &str) -> String {
        match name {
            "subdomain" if !value.is_empty() => self.target.subdomain.clone(),
            _ if names_places(name) => self.location(value),
            _ => value.to_owned(),
        }
    }

    /// Maps a recorded location id to one of the demo, always the same one. Values that are not ids stay unchanged.
    fn location(&mut self, recorded: &str) -> String {
        if recorded.parse::<u64>().is_err() {
            return recorded.to_owned();
        }
        let known = self.seen.iter().position(|it| it == recorded);
        let at = known.unwrap_or_else(|| {
            self.seen.push(recorded.to_owned());
            self.seen.len() - 1
        });
        let locations = &self.target.location_ids;
        locations.get(at % locations.len().max(1)).map_or_else(|| recorded.to_owned(), u32::to_string)
    }

    fn body(&mut self, body: &str) -> String {
        let Ok(mut json) = serde_json::from_str::<Value>(body) else { return body.to_owned() };
        self.places(&mut json);
        json.to_string()
    }

    fn places(&mut self, json: &mut Value) {
        match json {
            Value::Object(fields) => {
                for (name, value) in fields {
                    match value {
                        Value::Array(all) if names_places(name) => {
                            all.iter_mut().for_each(|one| *one = self.place(one));
                        }
                        Value::Number(_) | Value::String(_) if names_places(name) => *value = self.place(value),
                        other => self.places(other),
                    }
                }
            }
            Value::Array(all) => all.iter_mut().for_each(|one| self.places(one)),
            _ => {}
        }
    }

    fn place(&mut self, recorded: &Value) -> Value {
        match recorded {
            Value::Number(id) => {
                let location = self.location(&id.to_string());
                location.parse::<u64>().map_or_else(|_| recorded.clone(), Value::from)
            }
            Value::String(id) => self.location(id).into(),
            other => other.clone(),
        }
    }
}

/// Returns `true` for a name of `PLACES`, with or without an index: `lids`, `lids[]`, `lids[0]`.
fn names_places(name: &str) -> bool {
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    PLACES.contains(&name)
}

fn parse_answer(status: u16, headers: &HeaderMap, body: &Value) -> ReplayAnswer {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let ignored = headers.get("x-ignored-parameters").and_then(|it| it.to_str().ok()).unwrap_or_default();
    ReplayAnswer {
        status,
        reason: text(&body["reason"]),
        messages: body["error"].as_array().into_iter().flatten().map(text).collect(),
        advice: text(&body["description"]),
        ignored: ignored.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect(),
    }
}

//! A server that runs, asked by the command line: at the operators' listener with an operator's token, or where clients call with an API key.

use std::{fmt::Display, time::Duration};

use clap::Args;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::Value;

/// A trial of an adapter reads a page of everything.
const ANSWER: Duration = Duration::from_secs(600);

#[derive(Args)]
pub(super) struct Server {
    /// The operators' listener of the server; the environment variable PRACTICE_SYNC_SERVER names another default.
    #[arg(long, value_name = "URL", default_value_t = default_server())]
    server: String,
    /// The environment variable that holds an operator's token.
    #[arg(long, value_name = "NAME", default_value = TOKEN)]
    token_env: String,
}

/// Holds an operator's token.
const TOKEN: &str = "PRACTICE_SYNC_TOKEN";
/// Names the server where `--server` does not.
const SERVER: &str = "PRACTICE_SYNC_SERVER";

fn default_server() -> String {
    let named = std::env::var(SERVER).ok().filter(|server| !server.is_empty());
    named.unwrap_or_else(|| "http://127.0.0.1:8081".to_owned())
}

/// Signed in at a server.
pub(super) struct Session {
    client: Client,
    server: String,
    token: String,
}

impl Session {
    pub(super) fn begin(at: &Server) -> Result<Session, String> {
        let token = std::env::var(&at.token_env).map_err(|_| {
            format!("the environment variable {} is not set: it must hold an operator's token", at.token_env)
        })?;
        Session::with_token(&at.server, token)
    }

    /// At this server with the token of `PRACTICE_SYNC_TOKEN`; `None` if it is not set.
    pub(super) fn at(server: &str) -> Option<Result<Session, String>> {
        let token = std::env::var(TOKEN).ok().filter(|token| !token.is_empty())?;
        Some(Session::with_token(server, token))
    }

    fn with_token(server: &str, token: String) -> Result<Session, String> {
        engine::webhooks::egress::install_crypto();
        let client = Client::builder().no_proxy().timeout(ANSWER).user_agent("practice-sync-cli").build();
        let client = client.map_err(|error| format!("no HTTP client: {error}"))?;
        Ok(Session { client, server: server.trim_end_matches('/').to_owned(), token })
    }

    /// As a client signs in.
    pub(super) async fn with_key(server: &str, key: &str) -> Result<Session, String> {
        let mut session = Session::with_token(server, String::new())?;
        let signed_in = session.client.post(format!("{}/authenticates", session.server));
        let signed_in = signed_in.header("Svc-Api-Version", VERSION).header("Authorization", key);
        session.token = text(&answer(signed_in).await?["token"]).to_owned();
        Ok(session)
    }

    pub(super) fn server(&self) -> &str {
        &self.server
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    pub(super) fn get(&self, path: &str) -> RequestBuilder {
        self.request(Method::GET, path)
    }

    pub(super) fn post(&self, path: &str) -> RequestBuilder {
        self.request(Method::POST, path)
    }

    pub(super) fn post_json(&self, path: &str, body: &Value) -> RequestBuilder {
        self.post(path).header("Content-Type", "application/json").body(body.to_string())
    }

    pub(super) fn delete(&self, path: &str) -> RequestBuilder {
        self.request(Method::DELETE, path)
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.server));
        request.header("Svc-Api-Version", VERSION).bearer_auth(&self.token)
    }
}

const VERSION: &str = "v3.0.0";

/// The data of an answer; why there is none, in the server's words.
pub(super) async fn answer(request: RequestBuilder) -> Result<Value, String> {
    let unanswered = |error: &dyn Display| format!("the server does not answer: {error}");
    let response = request.send().await.map_err(|error| unanswered(&error))?;
    let status = response.status();
    let body = response.bytes().await.map_err(|error| unanswered(&error))?;
    let mut body: Value = serde_json::from_slice(&body).unwrap_or_default();
    if status.is_success() {
        return Ok(body["data"].take());
    }
    let problems = body["error"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut said: Vec<&str> = problems.chain(body["description"].as_str()).collect();
    if body["reason"] == "unknown_path" {
        said.push("Is this the operators' listener? `--server` and PRACTICE_SYNC_SERVER name it, by default http://127.0.0.1:8081.");
    }
    Err(format!("{} {}", status.as_u16(), said.join(" ")))
}

/// How long a server that is asked how it does may take.
const AT_ONCE: Duration = Duration::from_secs(5);

/// Whether a server is ready, and what it says of itself; none where nothing answers.
pub(super) async fn readiness(server: &str) -> Option<(bool, Value)> {
    engine::webhooks::egress::install_crypto();
    // Its certificate names no address, and nothing is asked but how it does.
    let client = Client::builder().no_proxy().timeout(AT_ONCE).danger_accept_invalid_certs(true).build().ok()?;
    let answer = client.get(format!("{server}/readyz")).send().await.ok()?;
    let ready = answer.status().is_success();
    Some((ready, serde_json::from_slice(&answer.bytes().await.ok()?).unwrap_or_default()))
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

//! A server that runs, asked by the command line with an API key that has the grant `operator`.

use std::{fmt::Display, time::Duration};

use clap::Args;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::Value;

/// A trial of an adapter reads a page of everything.
const ANSWER: Duration = Duration::from_secs(600);

#[derive(Args)]
pub(super) struct Server {
    /// Where the server answers.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    server: String,
    /// The environment variable that holds an API key with the grant `operator`.
    #[arg(long, value_name = "NAME", default_value = "PRACTICE_SYNC_KEY")]
    key_env: String,
}

/// Signed in at a server.
pub(super) struct Session {
    client: Client,
    server: String,
    token: String,
}

impl Session {
    pub(super) async fn begin(at: &Server) -> Result<Session, String> {
        let key = std::env::var(&at.key_env).map_err(|_| {
            format!(
                "the environment variable {} is not set: it must hold an API key with the grant `operator`",
                at.key_env
            )
        })?;
        Session::with_key(&at.server, &key).await
    }

    pub(super) async fn with_key(server: &str, key: &str) -> Result<Session, String> {
        engine::webhooks::egress::install_crypto();
        let client = Client::builder().no_proxy().timeout(ANSWER).user_agent("practice-sync-cli").build();
        let client = client.map_err(|error| format!("no HTTP client: {error}"))?;
        let mut session = Session { client, server: server.trim_end_matches('/').to_owned(), token: String::new() };
        let signed_in = session.client.post(format!("{}/authenticates", session.server));
        let signed_in = signed_in.header("Svc-Api-Version", VERSION).header("Authorization", key);
        session.token = text(&answer(signed_in).await?["token"]).to_owned();
        Ok(session)
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    pub(super) fn get(&self, path: &str) -> RequestBuilder {
        self.request(Method::GET, path)
    }

    pub(super) fn delete(&self, path: &str) -> RequestBuilder {
        self.request(Method::DELETE, path)
    }

    pub(super) fn post(&self, path: &str) -> RequestBuilder {
        self.request(Method::POST, path)
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
    let problems: Vec<&str> = body["error"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    Err(format!("{} {}", status.as_u16(), problems.join(" ")))
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

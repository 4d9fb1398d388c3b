//! A client for a running server: the operators' listener with an operator's token, or the client listener with an API
//! key.

use std::{error::Error, iter, process::ExitCode, time::Duration};

use actix_web::rt::System;
use clap::Args;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, header::RETRY_AFTER};
use serde_json::Value;
use tokio::time::sleep;

use crate::terminal::fail;

/// Timeout of a request. A trial of an adapter reads one page of every resource, which takes long.
const ANSWER: Duration = Duration::from_secs(600);

#[derive(Args)]
pub struct ServerArguments {
    /// The URL of the server's operators' listener. The environment variable PRACTICE_SYNC_SERVER changes the default.
    #[arg(long, value_name = "URL", default_value_t = default_server())]
    server: String,
    /// The environment variable that contains an operator's token.
    #[arg(long, value_name = "NAME", default_value = TOKEN)]
    token_env: String,
}

#[derive(Args)]
pub struct ListArguments {
    /// Print one JSON object per line.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub server: ServerArguments,
}

/// Runs a command that calls a server.
pub fn run(calls: impl Future<Output = Result<(), String>>) -> ExitCode {
    System::new().block_on(calls).map_or_else(fail, |()| ExitCode::SUCCESS)
}

/// The environment variable with an operator's token.
const TOKEN: &str = "PRACTICE_SYNC_TOKEN";
/// The environment variable with the default of `--server`.
const SERVER: &str = "PRACTICE_SYNC_SERVER";

fn default_server() -> String {
    let named = std::env::var(SERVER).ok().filter(|server| !server.is_empty());
    named.unwrap_or_else(|| "http://127.0.0.1:8081".to_owned())
}

/// An authenticated session with a server.
pub struct ServerSession {
    client: Client,
    pub(crate) server: String,
    pub(crate) token: String,
}

impl ServerSession {
    pub fn begin(at: &ServerArguments) -> Result<ServerSession, String> {
        let token = std::env::var(&at.token_env).map_err(|_| {
            format!("the environment variable {} is not set: it must hold an operator's token", at.token_env)
        })?;
        ServerSession::with_token(&at.server, token)
    }

    /// Opens a session with the token of `PRACTICE_SYNC_TOKEN`. Returns `None` if the variable is not set.
    pub fn at(server: &str) -> Option<Result<ServerSession, String>> {
        let token = std::env::var(TOKEN).ok().filter(|token| !token.is_empty())?;
        Some(ServerSession::with_token(server, token))
    }

    pub(super) fn with_token(server: &str, token: String) -> Result<ServerSession, String> {
        engine::webhooks::egress::install_crypto();
        let client = Client::builder().no_proxy().timeout(ANSWER).user_agent("practice-sync-cli").build();
        let client = client.map_err(|error| format!("no HTTP client: {error}"))?;
        Ok(ServerSession { client, server: server.trim_end_matches('/').to_owned(), token })
    }

    /// Signs in with an API key, as a client does.
    pub(super) async fn with_key(server: &str, key: &str) -> Result<ServerSession, String> {
        let mut session = ServerSession::with_token(server, String::new())?;
        let signed_in = session.client.post(format!("{}/authenticates", session.server));
        let signed_in = signed_in.header("Svc-Api-Version", VERSION).header("Authorization", key);
        session.token = text(&answer(signed_in).await?["token"]).to_owned();
        Ok(session)
    }

    pub fn get(&self, path: &str) -> RequestBuilder {
        self.request(Method::GET, path)
    }

    pub fn post(&self, path: &str) -> RequestBuilder {
        self.request(Method::POST, path)
    }

    pub fn post_json(&self, path: &str, body: &Value) -> RequestBuilder {
        self.post(path).header("Content-Type", "application/json").body(body.to_string())
    }

    pub fn delete(&self, path: &str) -> RequestBuilder {
        self.request(Method::DELETE, path)
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.server));
        request.header("Svc-Api-Version", VERSION).bearer_auth(&self.token)
    }
}

const VERSION: &str = "v3.0.0";

/// Returns up to `most` elements of a paged list. The server may end a page early although more elements follow.
pub async fn elements(session: &ServerSession, path: &str, most: usize) -> Result<Vec<Value>, String> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let mut page = body_of(session.get(&format!("{path}&end_cursor={cursor}"))).await?;
        if let Value::Array(elements) = page["data"].take() {
            all.extend(elements);
        }
        let info = &page["page_info"];
        cursor = text(&info["end_cursor"]).to_owned();
        if all.len() >= most || info["has_next_page"] != true || cursor.is_empty() {
            all.truncate(most);
            return Ok(all);
        }
    }
}

/// Returns the `data` of a response, or the server's error messages.
pub async fn answer(request: RequestBuilder) -> Result<Value, String> {
    Ok(body_of(request).await?["data"].take())
}

async fn body_of(request: RequestBuilder) -> Result<Value, String> {
    let response = send(request).await?;
    let status = response.status();
    let body = response.bytes().await.map_err(|error| unanswered(&error))?;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    if status.is_success() {
        return Ok(body);
    }
    let problems = body["error"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut sentences: Vec<&str> = problems.chain(body["description"].as_str()).collect();
    if body["reason"] == "unknown_path" {
        sentences.push("Is this the operators' listener? `--server` and PRACTICE_SYNC_SERVER name it, by default http://127.0.0.1:8081.");
    }
    Err(format!("{} {}", status.as_u16(), sentences.join(" ")))
}

/// Maximum number of seconds to wait for a rate limit. The server's limits are per second and per minute.
const LONGEST_WAIT: u64 = 60;

/// Sends a request. One that exceeds a rate limit is repeated after the time in the response.
async fn send(mut request: RequestBuilder) -> Result<Response, String> {
    loop {
        let again = request.try_clone();
        let response = request.send().await.map_err(|error| unanswered(&error))?;
        let wait = response.headers().get(RETRY_AFTER).and_then(|seconds| seconds.to_str().ok()?.parse::<u64>().ok());
        match again.zip(wait.filter(|seconds| *seconds <= LONGEST_WAIT)) {
            Some((again, seconds)) if response.status() == StatusCode::TOO_MANY_REQUESTS => {
                sleep(Duration::from_secs(seconds)).await;
                request = again;
            }
            _ => return Ok(response),
        }
    }
}

/// Formats the error with its causes, such as a certificate that is not trusted.
fn unanswered(error: &(dyn Error + 'static)) -> String {
    let causes = iter::successors(Some(error), |&error| error.source());
    format!("the server does not respond: {}", causes.map(ToString::to_string).collect::<Vec<_>>().join(": "))
}

/// Timeout of a readiness probe.
const AT_ONCE: Duration = Duration::from_secs(5);

/// Returns `true` if a server is ready, with its status document. Returns `None` if no server responds.
pub async fn readiness(server: &str) -> Option<(bool, Value)> {
    engine::webhooks::egress::install_crypto();
    // Any certificate is accepted: it may not contain the address, and the probe sends no secret.
    let client = Client::builder().no_proxy().timeout(AT_ONCE).danger_accept_invalid_certs(true).build().ok()?;
    let answer = client.get(format!("{server}/readyz")).send().await.ok()?;
    let ready = answer.status().is_success();
    Some((ready, serde_json::from_slice(&answer.bytes().await.ok()?).unwrap_or_default()))
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
    use serde_json::json;

    use super::*;

    /// Returns a page of a list. The first page has no elements, and one call exceeds a rate limit.
    async fn page(request: HttpRequest) -> HttpResponse {
        static LIMITED: AtomicBool = AtomicBool::new(false);
        if request.path() == "/tomorrow" {
            return HttpResponse::TooManyRequests().insert_header(("Retry-After", "36000")).finish();
        }
        if !LIMITED.swap(true, Ordering::SeqCst) {
            return HttpResponse::TooManyRequests().insert_header(("Retry-After", "0")).finish();
        }
        let (data, next) = match request.query_string() {
            "open=true&end_cursor=" => (json!([]), "a"),
            "open=true&end_cursor=a" => (json!([1, 2]), "b"),
            "open=true&end_cursor=b" => (json!([3, 4]), ""),
            other => panic!("{other}"),
        };
        let info = json!({"has_next_page": !next.is_empty(), "end_cursor": next});
        HttpResponse::Ok().body(json!({"data": data, "page_info": info}).to_string())
    }

    #[test]
    fn a_list_continues_after_a_page_without_elements_and_after_a_rate_limit() {
        let (three, all, tomorrow) = System::new().block_on(async {
            let server = HttpServer::new(|| App::new().default_service(web::to(page))).workers(1);
            let server = server.disable_signals().bind("127.0.0.1:0").expect("a port");
            let session = ServerSession::with_token(&format!("http://{}", server.addrs()[0]), String::new());
            let session = session.expect("a session");
            let server = server.run();
            let handle = server.handle();
            actix_web::rt::spawn(server);
            let listed = async |most| elements(&session, "/list?open=true", most).await;
            let listed = (listed(3).await, listed(5).await, answer(session.get("/tomorrow")).await);
            handle.stop(false).await;
            listed
        });
        assert_eq!(three, Ok(vec![json!(1), json!(2), json!(3)]));
        assert_eq!(all, Ok(vec![json!(1), json!(2), json!(3), json!(4)]));
        assert_eq!(tomorrow, Err("429 ".to_owned()));
    }

    #[test]
    fn the_error_of_an_unanswered_call_names_its_cause() {
        let closed = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let session = ServerSession::with_token(&format!("http://{}", closed.expect("a port")), String::new());
        let answered = System::new().block_on(answer(session.expect("a session").get("/locations")));
        let error = answered.expect_err("no server");
        assert!(error.contains("onnection refused"), "{error}");
    }
}

//! Transport of requests to an EHR: over HTTP, or by a function call if the EHR is in this process.

use std::{
    error::Error,
    fmt,
    future::Future,
    io,
    pin::Pin,
    sync::{Arc, OnceLock},
    time::Duration,
};

use parking_lot::Mutex;
use reqwest::{Client, Method, Url, redirect};
use rustls::{ClientConfig, client::Resumption};
use rustls_platform_verifier::BuilderVerifierExt as _;
use setup::secret::Secret;
use tokio::time::Instant;

use crate::limits;

/// A request with its full URL and the location's credentials.
#[derive(Clone)]
pub struct HttpRequest {
    /// GET, POST, PUT, PATCH or DELETE.
    pub method: String,
    pub url: Url,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
    /// Maximum length of a response body.
    pub max_response_body: usize,
}

/// Omits paths, queries and headers, which may contain patient data and credentials.
impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpRequest({} {}, redacted)", self.method, self.url.host_str().unwrap_or_default())
    }
}

/// A response of any status.
#[derive(Clone)]
pub struct HttpResponse {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl fmt::Debug for HttpResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpResponse({}, {} bytes, redacted)", self.status, self.body.len())
    }
}

/// The reason why there is no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// The EHR cannot have received the request.
    #[error("not sent: {0}")]
    NotSent(String),
    /// The EHR may have received and processed the request.
    #[error("no answer: {0}")]
    NoAnswer(String),
}

pub type TransportFuture<'a> = Pin<Box<dyn Future<Output = Result<HttpResponse, TransportError>> + Send + 'a>>;

/// Sends a request once: no retries, no redirects. Runs on the adapter host's threads or a caller's, and must not block
/// them.
pub trait Transport: Send + Sync + 'static {
    fn send(&self, request: HttpRequest, deadline: Duration) -> TransportFuture<'_>;

    /// Returns the credentials that the transport adds itself, for redaction: an EHR may echo them to the guest.
    fn secrets(&self) -> Vec<Secret> {
        Vec::new()
    }
}

/// HTTP transport. Each location has a separate one with its own connections, so that responses for one location cannot
/// reach another.
pub struct HttpTransport {
    tls: ClientConfig,
    /// Created for the first request: most locations are idle.
    client: OnceLock<Client>,
    /// The time of the last complete response.
    answered: Mutex<Option<Instant>>,
}

#[derive(Debug, thiserror::Error)]
#[error("TLS cannot be set up: {0}")]
pub struct TlsError(#[from] rustls::Error);

impl HttpTransport {
    /// Loads the trusted certificates of this machine.
    pub fn new() -> Result<HttpTransport, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let tls = tls.with_platform_verifier()?.with_no_client_auth();
        Ok(HttpTransport { tls, client: OnceLock::new(), answered: Mutex::default() })
    }

    /// Returns another transport with the same trusted certificates, and without shared connections or TLS sessions.
    pub fn apart(&self) -> HttpTransport {
        let mut tls = self.tls.clone();
        tls.resumption = Resumption::in_memory_sessions(limits::TLS_SESSIONS);
        HttpTransport { tls, client: OnceLock::new(), answered: Mutex::default() }
    }

    fn client(&self) -> Result<&Client, TransportError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = Client::builder()
            .tls_backend_preconfigured(self.tls.clone())
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_proxy()
            .http1_only()
            .http1_max_headers(limits::RESPONSE_HEADERS)
            .connect_timeout(limits::CONNECT)
            .pool_max_idle_per_host(limits::IDLE_CONNECTIONS)
            .pool_idle_timeout(limits::IDLE_CONNECTION)
            .user_agent(concat!("practice-sync/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| TransportError::NotSent(reason(&error)))?;
        Ok(self.client.get_or_init(|| client))
    }

    /// Waits for unsolicited data. An EHR that responds twice does so at once. The connection is closed meanwhile, so
    /// that the next request does not take the second response for its own.
    async fn silence(&self) {
        let answered = *self.answered.lock();
        if let Some(answered) = answered {
            tokio::time::sleep_until(answered + limits::SILENCE).await;
        }
    }

    async fn exchange(&self, request: HttpRequest) -> Result<HttpResponse, TransportError> {
        self.silence().await;
        let ended = exchange(self.client()?, request).await;
        *self.answered.lock() = Some(Instant::now());
        ended
    }
}

impl Transport for HttpTransport {
    fn send(&self, request: HttpRequest, deadline: Duration) -> TransportFuture<'_> {
        Box::pin(async move {
            match tokio::time::timeout(deadline, self.exchange(request)).await {
                Ok(ended) => ended,
                // The request may have been sent.
                Err(_) => Err(TransportError::NoAnswer(format!("none within {} ms", deadline.as_millis()))),
            }
        })
    }
}

async fn exchange(client: &Client, request: HttpRequest) -> Result<HttpResponse, TransportError> {
    let method = Method::from_bytes(request.method.as_bytes()).map_err(|e| TransportError::NotSent(e.to_string()))?;
    let mut sending = client.request(method, request.url);
    for (name, value) in &request.headers {
        sending = sending.header(name, value);
    }
    if let Some(body) = request.body {
        sending = sending.body(body);
    }
    let mut answer = sending.send().await.map_err(|error| {
        let reason = reason(&error);
        if error.is_connect() || error.is_builder() {
            TransportError::NotSent(reason)
        } else {
            TransportError::NoAnswer(reason)
        }
    })?;
    let text = |value: &reqwest::header::HeaderValue| value.to_str().ok().map(str::to_string);
    let headers =
        answer.headers().iter().filter_map(|(name, value)| Some((name.as_str().to_string(), text(value)?))).collect();
    let status = answer.status().as_u16();
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| TransportError::NoAnswer(reason(&error)))? {
        if body.len() + chunk.len() > request.max_response_body {
            return Err(TransportError::NoAnswer(format!(
                "its body is longer than {} bytes",
                request.max_response_body
            )));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(HttpResponse { status, headers, body })
}

/// Returns the innermost cause, the most specific one. reqwest's own text would contain the URL, and with it patient
/// data.
fn reason(error: &reqwest::Error) -> String {
    let mut innermost: Option<&(dyn Error + 'static)> = error.source();
    while let Some(source) = innermost.and_then(|error| error.source()) {
        innermost = Some(source);
    }
    let refused = |cause: &(dyn Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|cause| cause.kind() == io::ErrorKind::ConnectionRefused)
    };
    match innermost {
        Some(cause) if refused(cause) => "the EHR refused the connection".into(),
        Some(cause) => cause.to_string(),
        None if error.is_timeout() => "timed out".into(),
        None => "the request failed".into(),
    }
}

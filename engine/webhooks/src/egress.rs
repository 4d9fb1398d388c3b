//! The only path by which messages leave: HTTPS to public addresses, without redirects and proxies, with limits on time
//! and size. An address is checked three times: as a literal in the URL, after name resolution, and as the peer of the
//! response.

use std::{
    error::Error,
    future::Future,
    io, iter,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
};

pub(crate) use hyper::body::Bytes;
use reqwest::{
    Client, Method, Request, Response, Url,
    dns::{Addrs, Name, Resolve, Resolving},
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
    redirect,
};
use tokio::time::timeout;

use super::{address::is_public, limits};

pub type AddressLookup = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

pub trait Resolver: Send + Sync + 'static {
    fn lookup(&self, host: &str) -> AddressLookup;
}

pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn lookup(&self, host: &str) -> AddressLookup {
        let host = host.to_owned();
        Box::pin(async move { Ok(tokio::net::lookup_host((host, 0)).await?.map(|found| found.ip()).collect()) })
    }
}

/// The networks to which messages may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Public,
    /// Also this machine's loopback addresses, and plain HTTP to those.
    PublicAndLoopback,
}

impl Reach {
    fn allows(self, address: IpAddr) -> bool {
        is_public(address) || (self == Reach::PublicAndLoopback && address.is_loopback())
    }
}

/// The reason why a `target_url` is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedUrl {
    #[error("is not a valid URL")]
    Invalid,
    #[error("must be a valid HTTPS URL")]
    NotHttps,
    #[error("is longer than {} characters", limits::MAX_URL_BYTES)]
    TooLong,
    #[error("must not contain a user name or password")]
    Credentials,
    #[error("must lead to a host on the public internet")]
    NotPublic,
    #[error("must not have port 0")]
    PortZero,
}

/// A URL that allows messages to be sent there. Its host name is checked on resolution.
pub struct TargetUrl(Url);

/// The reason why an attempt does not count as delivered. No variant can carry the response: it may repeat patient
/// data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    #[error("the endpoint answered with status {0}")]
    Status(u16),
    #[error("the endpoint did not answer within {} seconds", limits::TOTAL_TIMEOUT.as_secs())]
    Timeout,
    #[error("the endpoint's host name could not be resolved")]
    Dns,
    #[error("the endpoint's address is not on the public internet")]
    RefusedAddress,
    #[error("no secure connection could be made to the endpoint")]
    Tls,
    #[error("no connection could be made to the endpoint")]
    Connect,
    #[error("the connection ended before the endpoint answered")]
    NoAnswer,
}

impl SendError {
    /// The receiver reports that the endpoint is gone for good.
    pub const GONE: SendError = SendError::Status(410);

    /// Returns the code shown in `delivery_errors` and in logs.
    pub fn code(self) -> String {
        match self {
            SendError::Status(status) => return status.to_string(),
            SendError::Timeout => "timeout",
            SendError::Dns => "dns",
            SendError::RefusedAddress => "refused_address",
            SendError::Tls => "tls",
            SendError::Connect => "connect",
            SendError::NoAnswer => "no_answer",
        }
        .to_owned()
    }
}

/// An error in the setup of the HTTP client.
#[derive(Debug, thiserror::Error)]
#[error("webhook client: {0}")]
pub struct SetupError(String);

pub struct Egress {
    client: Client,
    reach: Reach,
}

impl Egress {
    pub fn new(reach: Reach) -> Result<Egress, SetupError> {
        Egress::with_resolver(reach, Arc::new(SystemResolver))
    }

    pub fn with_resolver(reach: Reach, resolver: Arc<dyn Resolver>) -> Result<Egress, SetupError> {
        install_crypto();
        let builder = || {
            Client::builder()
                .https_only(reach == Reach::Public)
                .no_proxy()
                .redirect(redirect::Policy::none())
                .retry(reqwest::retry::never())
                .referer(false)
                .http1_only()
                .timeout(limits::TOTAL_TIMEOUT)
                .connect_timeout(limits::CONNECT_TIMEOUT)
                .pool_max_idle_per_host(limits::IDLE_CONNECTIONS)
                .pool_idle_timeout(limits::IDLE_CONNECTION_TIMEOUT)
                .user_agent(concat!("practice-sync-webhooks/", env!("CARGO_PKG_VERSION")))
                .dns_resolver(WalledResolver { reach, resolver: resolver.clone() })
        };
        let client = builder().build().or_else(|error| {
            if reach == Reach::Public {
                return Err(error);
            }
            tracing::warn!(
                error = root_cause(&error),
                "no certificate authorities found: deliveries over https fail, loopback works"
            );
            builder().tls_certs_only([]).build()
        });
        Ok(Egress { client: client.map_err(|error| SetupError(root_cause(&error)))?, reach })
    }

    /// Checks whether the URL itself allows messages to be sent there.
    pub fn check_url(&self, target_url: &str) -> Result<TargetUrl, RefusedUrl> {
        if target_url.len() > limits::MAX_URL_BYTES {
            return Err(RefusedUrl::TooLong);
        }
        let url = Url::parse(target_url).map_err(|_| RefusedUrl::Invalid)?;
        let host = url.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
        let loopback = self.reach == Reach::PublicAndLoopback && is_loopback(&host, literal);
        match url.scheme() {
            "https" => {}
            "http" if loopback => {}
            _ => return Err(RefusedUrl::NotHttps),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(RefusedUrl::Credentials);
        }
        if url.port() == Some(0) {
            return Err(RefusedUrl::PortZero);
        }
        let public = literal.map_or_else(|| is_public_name(&host), is_public);
        if public || loopback { Ok(TargetUrl(url)) } else { Err(RefusedUrl::NotPublic) }
    }

    /// Makes one attempt. A 2xx status counts as delivered, even if the rest of the response fails.
    pub async fn post(
        &self,
        url: &TargetUrl,
        headers: Vec<(&'static str, String)>,
        body: Bytes,
    ) -> Result<u16, SendError> {
        // The client adds `accept`, `user-agent` and `host`.
        let mut fields = HeaderMap::with_capacity(headers.len() + 4);
        fields.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in headers {
            let value = HeaderValue::try_from(value).expect("ids, times and signatures are visible ASCII");
            fields.insert(HeaderName::from_static(name), value);
        }
        let request = || {
            let mut request = Request::new(Method::POST, url.0.clone());
            *request.headers_mut() = fields.clone();
            *request.body_mut() = Some(body.clone().into());
            request
        };
        let answer = send(&self.client, request).await.map_err(|error| fault(&error))?;
        // The peer has already read the message. This check detects a gap in the other two and keeps it from being
        // exploited.
        if !answer.remote_addr().is_some_and(|peer| self.reach.allows(peer.ip())) {
            tracing::error!("a webhook connection reached a refused address");
            return Err(SendError::RefusedAddress);
        }
        let status = answer.status();
        // The status is known already: a slow response body must not delay the next message about the same record.
        drop(timeout(limits::ANSWER_TIMEOUT, read_and_forget(answer)).await);
        if status.is_success() { Ok(status.as_u16()) } else { Err(SendError::Status(status.as_u16())) }
    }
}

/// Sends the request, and retries it on another connection if the server closed an idle connection before anything was
/// sent.
async fn send(client: &Client, request: impl Fn() -> Request) -> Result<Response, reqwest::Error> {
    for _ in 0..limits::UNSENT_TRIES {
        match client.execute(request()).await {
            Err(error) if was_not_sent(&error) => {}
            sent => return sent,
        }
    }
    client.execute(request()).await
}

fn was_not_sent(error: &reqwest::Error) -> bool {
    sources(error).filter_map(|error| error.downcast_ref::<hyper::Error>()).any(hyper::Error::is_canceled)
}

/// Returns the error and its sources, the root cause last.
fn sources<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    iter::successors(Some(error), |&error| error.source())
}

/// Reads a short response to its end so that the connection can be reused. A long response is dropped with its
/// connection.
async fn read_and_forget(mut answer: Response) {
    let mut read = 0;
    while let Ok(Some(chunk)) = answer.chunk().await {
        read += chunk.len();
        if read > limits::MAX_ANSWER_BYTES {
            return;
        }
    }
}

fn is_loopback(host: &str, literal: Option<IpAddr>) -> bool {
    literal.map_or_else(|| host == "localhost", |address| address.is_loopback())
}

/// Rejects names that never leave a network. Other names are checked on resolution.
fn is_public_name(host: &str) -> bool {
    let local = [".localhost", ".local", ".localdomain", ".internal", ".home.arpa", ".lan"];
    host.contains('.') && !local.iter().any(|suffix| host.ends_with(suffix))
}

/// Installs the TLS crypto provider of the process. May be called any number of times.
pub fn install_crypto() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    // An error means that the embedding program has already installed a provider, which is then used.
    ONCE.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
}

/// A resolver that returns only allowed addresses, at the moment of connecting.
struct WalledResolver {
    reach: Reach,
    resolver: Arc<dyn Resolver>,
}

#[derive(Debug, thiserror::Error)]
#[error("all addresses of the host are refused")]
struct AllRefused;

impl Resolve for WalledResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = self.reach;
        let lookup = self.resolver.lookup(name.as_str());
        Box::pin(async move {
            let found = lookup.await?;
            if found.is_empty() {
                return Err(io::Error::from(io::ErrorKind::NotFound).into());
            }
            let allowed: Vec<_> =
                found.into_iter().filter(|ip| reach.allows(*ip)).map(|ip| SocketAddr::new(ip, 0)).collect();
            if allowed.is_empty() {
                return Err(AllRefused.into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

fn fault(error: &reqwest::Error) -> SendError {
    if caused_by::<AllRefused>(error) {
        SendError::RefusedAddress
    } else if error.is_dns() {
        SendError::Dns
    } else if caused_by::<rustls::Error>(error) {
        SendError::Tls
    } else if error.is_connect() {
        SendError::Connect
    } else if error.is_timeout() {
        SendError::Timeout
    } else {
        SendError::NoAnswer
    }
}

/// Checks whether an error of type `E` is in the chain of sources. Also looks inside an `io::Error`, whose `source`
/// skips the wrapped error.
fn caused_by<E: Error + 'static>(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if error.is::<E>() || wrapped.is_some_and(|inner| inner.is::<E>()) {
            return true;
        }
        next = wrapped.map(|inner| inner as &(dyn Error + 'static)).or_else(|| error.source());
    }
    false
}

fn root_cause(error: &(dyn Error + 'static)) -> String {
    sources(error).last().map_or_else(String::new, |error| error.to_string())
}

#[cfg(test)]
mod tests;

//! Temporary credentials obtained by the host: access tokens and sessions. Neither they nor the secret they are
//! obtained with enter the sandbox.

mod grant;
mod oauth;
mod tryton;

use std::{sync::Arc, time::Duration};

use parking_lot::RwLock;
use runtime::clock;
use setup::{login::Login, secret::Secret};
use tokio::time::{Instant, timeout_at};

use self::grant::{Grant, NoGrant};
use super::{HttpRequest, HttpResponse, Transport, TransportError, TransportFuture};

/// Timeout of a request for credentials.
const ASKING: Duration = Duration::from_secs(15);
/// Credentials are renewed this long before they expire, or a tenth of their lifetime, whichever is shorter.
const EARLIER: Duration = Duration::from_secs(60);

fn request(login: &Login) -> Result<HttpRequest, String> {
    match login {
        Login::OAuth(oauth) => oauth::request(oauth, clock::now().0 / 1_000),
        Login::Tryton(session) => Ok(tryton::request(session)),
    }
}

fn granted(login: &Login, answer: &HttpResponse) -> Result<Grant, NoGrant> {
    match login {
        Login::OAuth(oauth) => oauth::granted(oauth, answer),
        Login::Tryton(session) => tryton::granted(session, answer),
    }
}

/// A transport that adds the current credentials to requests. They are obtained on first use, renewed before they
/// expire, and once more if the EHR rejects them. All locations of a data source share the credentials, with one
/// concurrent request for them. Each location has its own connections.
pub struct Authorized {
    inner: Arc<dyn Transport>,
    shared: Arc<SharedLogin>,
}

/// State shared by the locations of a data source.
struct SharedLogin {
    login: Login,
    held: RwLock<Option<Arc<CachedGrant>>>,
    renewing: tokio::sync::Mutex<()>,
}

struct CachedGrant {
    authorization: Secret,
    renew_at: Instant,
}

impl Authorized {
    pub fn new(inner: Arc<dyn Transport>, login: Login) -> Authorized {
        let shared = SharedLogin { login, held: RwLock::default(), renewing: tokio::sync::Mutex::default() };
        Authorized { inner, shared: Arc::new(shared) }
    }

    /// Returns a transport with the same credentials over another inner transport.
    pub fn over(&self, inner: Arc<dyn Transport>) -> Authorized {
        Authorized { inner, shared: self.shared.clone() }
    }

    /// Returns usable credentials; never `spent`, which the EHR rejected.
    async fn credentials(&self, spent: Option<&Arc<CachedGrant>>) -> Result<Arc<CachedGrant>, NoGrant> {
        if let Some(held) = self.current(spent) {
            return Ok(held);
        }
        let _one_at_a_time = self.shared.renewing.lock().await;
        // Another task may have renewed the credentials meanwhile.
        if let Some(held) = self.current(spent) {
            return Ok(held);
        }
        let held = Arc::new(self.request_grant().await?);
        *self.shared.held.write() = Some(held.clone());
        Ok(held)
    }

    fn current(&self, spent: Option<&Arc<CachedGrant>>) -> Option<Arc<CachedGrant>> {
        let held = self.shared.held.read().clone()?;
        let usable = Instant::now() < held.renew_at && !spent.is_some_and(|spent| Arc::ptr_eq(spent, &held));
        usable.then_some(held)
    }

    async fn request_grant(&self) -> Result<CachedGrant, NoGrant> {
        let asked_at = Instant::now();
        let request = request(&self.shared.login).map_err(NoGrant::Later)?;
        let answer = self.inner.send(request, ASKING).await.map_err(|error| NoGrant::Later(error.to_string()))?;
        let Grant { authorization, life } = granted(&self.shared.login, &answer)?;
        Ok(CachedGrant { authorization, renew_at: asked_at + life - EARLIER.min(life / 10) })
    }

    async fn exchange(&self, mut request: HttpRequest, ends: Instant) -> Result<HttpResponse, TransportError> {
        // The host sets this header, whatever the guest sent.
        request.headers.retain(|(name, _)| name != "authorization");
        let mut spent: Option<Arc<CachedGrant>> = None;
        loop {
            let late = || NoGrant::Later("the call's time is up".to_owned());
            let asked = timeout_at(ends, self.credentials(spent.as_ref())).await;
            let held = match asked.unwrap_or_else(|_| Err(late())) {
                Ok(held) => held,
                Err(NoGrant::Later(why)) => return Err(TransportError::NotSent(format!("no access: {why}"))),
                // A client without credentials is unauthorized to the EHR.
                Err(NoGrant::Refused) => {
                    return Ok(HttpResponse { status: 401, headers: Vec::new(), body: Vec::new() });
                }
            };
            let mut carrying = request.clone();
            carrying.headers.push(("authorization".to_owned(), held.authorization.expose().to_owned()));
            let answer = self.inner.send(carrying, ends.saturating_duration_since(Instant::now())).await?;
            // The EHR did not process an unauthorized request, so it can be sent again, once.
            if answer.status != 401 || spent.is_some() {
                return Ok(answer);
            }
            spent = Some(held);
        }
    }
}

impl Transport for Authorized {
    fn send(&self, request: HttpRequest, deadline: Duration) -> TransportFuture<'_> {
        Box::pin(self.exchange(request, Instant::now() + deadline))
    }

    fn secrets(&self) -> Vec<Secret> {
        let held = self.shared.held.read();
        held.iter().map(|held| held.authorization.clone()).collect()
    }
}

//! Tells a page that it is out of date, by server-sent events. Nothing of what is on the page is sent: it is fetched again, under the rights
//! there are then.

use std::{convert::Infallible, sync::Arc, sync::atomic::Ordering, time::Duration};

use actix_web::{
    HttpResponse,
    http::header::CONTENT_TYPE,
    web::{Bytes, Data},
};
use engine::webhooks::model::EndpointId;
use futures_util::stream;
use location::ids::LocationId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    adapters, audit, fleet, location_page,
    page::Failure,
    visit::{Visit, beside},
    webhooks,
};
use crate::{http::errors::ApiError, values::role::Role};

/// Pages that may listen at one time.
const STREAMS: usize = 64;
/// How often a page's data is looked at; what takes longer to look at is looked at less often.
const EVERY: Duration = Duration::from_secs(2);
/// The same of the audit trail. To look at it costs nothing, but nearly every look finds another entry, and the page that is fetched then
/// reads at least one of its files from the beginning.
const AUDIT_EVERY: Duration = Duration::from_secs(5);
/// A proxy closes what says nothing for a minute.
const SAY_SOMETHING: u32 = 10;

pub(super) struct Streams(Arc<Semaphore>);

impl Default for Streams {
    fn default() -> Streams {
        Streams(Arc::new(Semaphore::new(STREAMS)))
    }
}

/// A page that changes.
#[derive(Clone)]
enum Watched {
    Fleet,
    Location(LocationId),
    Webhooks,
    Endpoint(EndpointId),
    Adapters,
    Audit,
}

impl Watched {
    fn of(page: &str) -> Option<Watched> {
        Some(match page {
            "/console" => Watched::Fleet,
            "/console/webhooks" => Watched::Webhooks,
            "/console/adapters" => Watched::Adapters,
            "/console/audit" => Watched::Audit,
            _ => match page.strip_prefix("/console/")?.split_once('/')? {
                ("locations", id) => Watched::Location(LocationId(id.parse().ok()?)),
                ("webhooks", id) => Watched::Endpoint(EndpointId(id.parse().ok()?)),
                _ => return None,
            },
        })
    }

    async fn version(&self, visit: &Visit) -> Result<u64, Failure> {
        match self {
            Watched::Fleet => fleet::version(&visit.api),
            Watched::Location(id) => location_page::version(&visit.api, *id).await,
            Watched::Webhooks => Ok(webhooks::version(&visit.api)),
            Watched::Endpoint(id) => webhooks::version_of_one(&visit.api, *id),
            Watched::Adapters => adapters::version(&visit.api),
            Watched::Audit => Ok(audit::version(&visit.api)),
        }
    }
}

struct Listener {
    visit: Visit,
    watched: Watched,
    seen: u64,
    silent: u32,
    _place: OwnedSemaphorePermit,
}

pub(super) async fn stream(visit: Visit, streams: Data<Streams>) -> Result<HttpResponse, Failure> {
    let watched = visit.asked("page").and_then(Watched::of).ok_or(ApiError::bad("page names no page that changes"))?;
    if matches!(watched, Watched::Audit) {
        visit.needs(Role::Operator)?;
    }
    let seen = visit.asked("seen").and_then(|seen| seen.parse().ok()).ok_or(ApiError::bad("seen must be a number"))?;
    let place = streams.0.clone().try_acquire_owned();
    let place = place.map_err(|_| ApiError::Unavailable { retry_after: 30 })?;
    let listener = Listener { visit, watched, seen, silent: 0, _place: place };
    let events = stream::unfold((listener, true), |(mut listener, first)| async move {
        let said = if first { "retry: 5000\n\n" } else { listener.next().await? };
        Some((Ok::<Bytes, Infallible>(Bytes::from_static(said.as_bytes())), (listener, false)))
    });
    Ok(HttpResponse::Ok().insert_header((CONTENT_TYPE, "text/event-stream")).streaming(Box::pin(events)))
}

impl Listener {
    /// None ends it: the server stops, or the session is over.
    async fn next(&mut self) -> Option<&'static str> {
        loop {
            tokio::time::sleep(if matches!(self.watched, Watched::Audit) { AUDIT_EVERY } else { EVERY }).await;
            let Visit { api, session, .. } = &self.visit;
            if api.leaving.load(Ordering::Relaxed) || self.visit.is_over() || session.ends <= api.engine.now() {
                return None;
            }
            let watched = self.watched.clone();
            // A location that moves, or a store that is away, shows when it is there again.
            let version = beside(&self.visit, |visit| async move { watched.version(&visit).await }).await;
            self.silent += 1;
            if let Ok(version) = version
                && version != self.seen
            {
                (self.seen, self.silent) = (version, 0);
                return Some("event: changed\ndata:\n\n");
            }
            if self.silent >= SAY_SOMETHING {
                self.silent = 0;
                return Some(":\n\n");
            }
        }
    }
}

//! Server-sent events that report changed pages. Events have no content: the browser fetches the page again, with its
//! current permissions.

use std::{convert::Infallible, sync::Arc, sync::atomic::Ordering, time::Duration};

use actix_web::{
    http::header::CONTENT_TYPE,
    web::{Bytes, Data},
};
use engine::webhooks::model::EndpointId;
use futures_util::stream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{adapters, audit, fleet, location_page, prelude::*, webhooks};

/// Maximum number of concurrent event streams.
const STREAMS: usize = 64;
/// Polling interval for changes of a page's data, in addition to the time that a check takes.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Polling interval of the audit page. Almost every check finds new entries, and the page then reads at least one file
/// of the trail from the beginning.
const AUDIT_POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Number of silent polls before a comment is sent, because proxies close connections that are idle for a minute.
const KEEP_ALIVE_POLLS: u32 = 10;

pub(super) struct Streams(Arc<Semaphore>);

impl Default for Streams {
    fn default() -> Streams {
        Streams(Arc::new(Semaphore::new(STREAMS)))
    }
}

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
    fn from_path(page: &str) -> Option<Watched> {
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

    async fn version(&self, visit: &ConsoleRequest) -> Result<u64, ConsoleError> {
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
    visit: ConsoleRequest,
    watched: Watched,
    seen: u64,
    silent: u32,
    _place: OwnedSemaphorePermit,
}

pub(crate) async fn stream(visit: ConsoleRequest, streams: Data<Streams>) -> Result<HttpResponse, ConsoleError> {
    let watched = visit
        .query_value("page")
        .and_then(Watched::from_path)
        .ok_or(ApiError::bad("page names no page that changes"))?;
    if matches!(watched, Watched::Audit) {
        visit.needs(Role::Operator)?;
    }
    let seen =
        visit.query_value("seen").and_then(|seen| seen.parse().ok()).ok_or(ApiError::bad("seen must be a number"))?;
    let place = streams.0.clone().try_acquire_owned();
    let place = place.map_err(|_| ApiError::unavailable(30))?;
    let listener = Listener { visit, watched, seen, silent: 0, _place: place };
    let events = stream::unfold((listener, true), |(mut listener, first)| async move {
        let event = if first { "retry: 5000\n\n" } else { listener.next().await? };
        Some((Ok::<Bytes, Infallible>(Bytes::from_static(event.as_bytes())), (listener, false)))
    });
    Ok(HttpResponse::Ok().insert_header((CONTENT_TYPE, "text/event-stream")).streaming(Box::pin(events)))
}

impl Listener {
    /// Returns the next event, or `None` if the server stops or the session has ended.
    async fn next(&mut self) -> Option<&'static str> {
        loop {
            tokio::time::sleep(if matches!(self.watched, Watched::Audit) {
                AUDIT_POLL_INTERVAL
            } else {
                POLL_INTERVAL
            })
            .await;
            let ConsoleRequest { api, session, .. } = &self.visit;
            if api.leaving.load(Ordering::Relaxed) || self.visit.is_over() || session.ends <= api.engine.now() {
                return None;
            }
            let watched = self.watched.clone();
            // Errors are skipped: a location that moves or a store that is unavailable is checked again later.
            let version = read_blocking(&self.visit, |visit| async move { watched.version(&visit).await }).await;
            self.silent += 1;
            if let Ok(version) = version
                && version != self.seen
            {
                (self.seen, self.silent) = (version, 0);
                return Some("event: changed\ndata:\n\n");
            }
            if self.silent >= KEEP_ALIVE_POLLS {
                self.silent = 0;
                return Some(":\n\n");
            }
        }
    }
}

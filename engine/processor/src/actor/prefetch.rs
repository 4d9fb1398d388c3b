//! The page after one that has arrived, requested while that one is applied. `P` is the answer in flight: a task of the
//! actor, or an answer in the simulation.

use std::sync::Arc;

use location::Resource;
use records::{Ehr, Fault, Page};
use tokio::task::JoinHandle;

pub struct PageRequest<P> {
    pub resource: Resource,
    pub cursor: Option<String>,
    pub page: P,
}

/// A page in flight. Dropping it aborts the request.
pub(super) struct PageTask {
    pub(super) ehr: Arc<dyn Ehr>,
    pub(super) answer: JoinHandle<Result<Page, Fault>>,
}

impl Drop for PageTask {
    fn drop(&mut self) {
        self.answer.abort();
    }
}

/// A page requested ahead. There is at most one: its own successor is requested after the commit that takes it over.
pub struct Prefetch<P> {
    request: Option<PageRequest<P>>,
    /// Cursor of the page that was dropped last. It is not prefetched again, because its predecessor may be applied in
    /// several parts.
    dropped: Option<String>,
    /// `true` if a request was aborted that the quota does not count yet.
    uncounted: bool,
}

impl<P> Default for Prefetch<P> {
    fn default() -> Prefetch<P> {
        Prefetch { request: None, dropped: None, uncounted: false }
    }
}

impl<P> Prefetch<P> {
    /// Returns `true` if the page at this cursor may be prefetched.
    pub fn wants(&self, cursor: &str) -> bool {
        !cursor.is_empty() && self.dropped.as_deref() != Some(cursor)
    }

    pub fn set(&mut self, request: PageRequest<P>) {
        self.request = Some(request);
    }

    /// Returns the answer in flight, if any.
    pub fn page_mut(&mut self) -> Option<&mut P> {
        self.request.as_mut().map(|request| &mut request.page)
    }

    /// Returns the page if it was requested at this cursor.
    pub fn take(&mut self, resource: Resource, cursor: Option<&str>) -> Option<PageRequest<P>> {
        self.request.take_if(|request| request.resource == resource && request.cursor.as_deref() == cursor)
    }

    /// Drops the request, if any, and with it the answer in flight.
    pub fn abort(&mut self) {
        if let Some(request) = self.request.take() {
            self.dropped = request.cursor;
            self.uncounted = true;
        }
    }

    /// Drops the request, if any. Returns `true` if a request was dropped since the last call.
    pub fn take_uncounted(&mut self) -> bool {
        self.abort();
        std::mem::take(&mut self.uncounted)
    }
}

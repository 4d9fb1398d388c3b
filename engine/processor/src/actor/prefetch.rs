//! The page after one that has arrived, requested while that one is applied.

use std::sync::Arc;

use location::pull::Resource;
use records::ehr::{Ehr, Fault, Page};
use tokio::task::JoinHandle;

/// A page in flight. Dropping it aborts the request.
pub(super) struct PageRequest {
    pub(super) ehr: Arc<dyn Ehr>,
    pub(super) resource: Resource,
    pub(super) cursor: Option<String>,
    pub(super) page: JoinHandle<Result<Page, Fault>>,
}

impl Drop for PageRequest {
    fn drop(&mut self) {
        self.page.abort();
    }
}

/// A page requested ahead. There is at most one: its own successor is requested after the commit that takes it over.
#[derive(Default)]
pub(super) struct Prefetch {
    request: Option<PageRequest>,
    /// Cursor of the page that was dropped last. It is not prefetched again, because its predecessor may be applied in
    /// several parts.
    dropped: Option<String>,
    /// `true` if a request was aborted that the quota does not count yet.
    uncounted: bool,
}

impl Prefetch {
    /// Returns `true` if the page at this cursor may be prefetched.
    pub(super) fn wants(&self, cursor: &str) -> bool {
        !cursor.is_empty() && self.dropped.as_deref() != Some(cursor)
    }

    pub(super) fn set(&mut self, request: Option<PageRequest>) {
        self.request = request;
    }

    /// Returns the page if it was requested at this cursor.
    pub(super) fn take(&mut self, resource: Resource, cursor: Option<&str>) -> Option<PageRequest> {
        self.request.take_if(|request| request.resource == resource && request.cursor.as_deref() == cursor)
    }

    /// Aborts the request, if any.
    pub(super) fn abort(&mut self) {
        if let Some(request) = self.request.take() {
            self.dropped.clone_from(&request.cursor);
            self.uncounted = true;
        }
    }

    /// Aborts the request, if any. Returns `true` if a request was aborted since the last call.
    pub(super) fn take_uncounted(&mut self) -> bool {
        self.abort();
        std::mem::take(&mut self.uncounted)
    }
}

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
}

impl Prefetch {
    /// Returns `true` if the page at this cursor may be prefetched.
    pub(super) fn wants(&self, cursor: &str) -> bool {
        !cursor.is_empty() && self.dropped.as_deref() != Some(cursor)
    }

    /// Stores a request, if any, and returns `true` if there is one.
    pub(super) fn set(&mut self, request: Option<PageRequest>) -> bool {
        self.request = request;
        self.request.is_some()
    }

    /// Takes over the page at this cursor. Another page in flight is aborted, because two requests at the same time
    /// would double the load on the EHR.
    pub(super) fn take(&mut self, resource: Resource, cursor: Option<&str>) -> Option<PageRequest> {
        let is_asked = |it: &mut PageRequest| it.resource == resource && it.cursor.as_deref() == cursor;
        let taken = self.request.take_if(is_asked);
        self.request.iter().for_each(|other| other.page.abort());
        taken
    }

    /// Drops the page in flight, and returns `true` if there was one.
    pub(super) fn clear(&mut self) -> bool {
        let Some(request) = self.request.take() else { return false };
        self.dropped.clone_from(&request.cursor);
        true
    }
}

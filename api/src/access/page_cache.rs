//! Cache of list pages, so that polling clients cause no reads while their institution does not change. The API key is
//! part of the cache key, so a page is never shown to another caller.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use actix_web::{
    HttpResponse,
    body::MessageBody,
    http::header::{ETAG, HeaderValue},
    web::Bytes,
};
use location::time::{Millis, SECOND, Timestamp};
use quick_cache::{Weighter, sync::Cache};

use super::shown::{Access, AccessLog, AccessScope};
use crate::{http::notices::IGNORED, values::versions::Version};

/// Maximum age of a page, because its content may depend on the current time.
const MAX_AGE: Millis = 5 * SECOND;
/// Estimated memory per page in addition to its bytes.
const OVERHEAD: u64 = 256;
/// Estimated page size, for the initial number of cache entries.
const ORDINARY: u64 = 16 * 1024;

/// Cached request of one API key.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct CacheKey {
    pub generation: u64,
    pub key: [u8; 32],
    pub version: Version,
    pub path: String,
    pub query: String,
}

#[derive(Clone)]
pub(crate) struct CachedPage {
    stamp: u64,
    at: Timestamp,
    pub ignored: Option<HeaderValue>,
    pub tag: Option<HeaderValue>,
    pub body: Bytes,
    /// Accessed records, for the audit trail.
    pub shown: Arc<[Access]>,
    pub scope: AccessScope,
}

/// Cacheable request without a valid page in the cache.
pub struct CacheMiss {
    pub key: CacheKey,
    /// Version stamp of the institution from before the read.
    pub stamp: u64,
    pub at: Timestamp,
    pub shown: AccessLog,
}

#[derive(Clone)]
struct Weight;

impl Weighter<CacheKey, CachedPage> for Weight {
    fn weight(&self, key: &CacheKey, page: &CachedPage) -> u64 {
        let shown = size_of_val(&*page.shown);
        (key.path.len() + key.query.len() + page.body.len() + shown) as u64 + OVERHEAD
    }
}

pub struct PageCache {
    pages: Cache<CacheKey, CachedPage, Weight>,
    /// Incremented when permissions or open locations change. As part of each cache key, it separates pages that were
    /// read under earlier permissions.
    generation: AtomicU64,
}

impl PageCache {
    /// Creates a cache with a capacity in bytes; 0 disables it.
    pub(crate) fn new(bytes: u64) -> PageCache {
        let pages = Cache::with_weighter((bytes / ORDINARY) as usize, bytes, Weight);
        PageCache { pages, generation: AtomicU64::new(0) }
    }

    pub(crate) fn resize(&self, bytes: u64) {
        self.pages.set_capacity(bytes);
    }

    /// Returns the current generation. Must be read before the permissions of the caller.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// Discards all pages. Must be called after the permissions have changed.
    pub(crate) fn clear(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.pages.clear();
    }

    /// Returns the cached page if nothing in the institution has changed since.
    pub(crate) fn get(&self, key: &CacheKey, stamp: u64, now: Timestamp) -> Option<CachedPage> {
        self.pages.get(key).filter(|page| page.stamp == stamp && now.since(page.at) < MAX_AGE)
    }

    pub fn fill(&self, vacancy: CacheMiss, answer: HttpResponse) -> HttpResponse {
        if answer.status() != 200 {
            return answer;
        }
        let (head, body) = answer.into_parts();
        match body.try_into_bytes() {
            Ok(body) => {
                let (shown, scope) = (vacancy.shown.accesses().into(), vacancy.shown.scope());
                let ignored = head.headers().get(IGNORED).cloned();
                let tag = head.headers().get(ETAG).cloned();
                let (stamp, at) = (vacancy.stamp, vacancy.at);
                let page = CachedPage { stamp, at, ignored, tag, body: body.clone(), shown, scope };
                self.pages.insert(vacancy.key, page);
                head.set_body(body).map_into_boxed_body()
            }
            Err(body) => head.set_body(body),
        }
    }
}

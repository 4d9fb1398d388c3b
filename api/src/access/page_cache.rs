//! Pages of lists, cached as they were answered while nothing of the institution has changed: clients that poll cost no reading. A
//! cached page is the caller's own, so it shows nothing the caller could not read.

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

use super::shown::{Access, Shown, Whose};
use crate::{http::notices::IGNORED, values::versions::Version};

/// What a page says of the time it was asked at is never older than this.
const MAX_AGE: Millis = 5 * SECOND;
/// What one page takes besides its bytes.
const OVERHEAD: u64 = 256;
/// Pages there is room for, if they are as large as an ordinary one.
const ORDINARY: u64 = 16 * 1024;

/// What one caller asks for.
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
    /// The records it shows, for the audit trail.
    pub shown: Arc<[Access]>,
    pub whose: Whose,
}

/// A page that is not cached, or not any more, and may be.
pub struct Vacancy {
    pub key: CacheKey,
    /// Of the institution, from before the page is read.
    pub stamp: u64,
    pub at: Timestamp,
    pub shown: Shown,
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
    /// Rises whenever the rights of keys or the locations that are open change. Part of each cache key: what was read under earlier
    /// rights answers nothing that is asked later.
    generation: AtomicU64,
}

impl PageCache {
    /// Room in bytes; 0 keeps nothing.
    pub(crate) fn new(bytes: u64) -> PageCache {
        let pages = Cache::with_weighter((bytes / ORDINARY) as usize, bytes, Weight);
        PageCache { pages, generation: AtomicU64::new(0) }
    }

    pub(crate) fn resize(&self, bytes: u64) {
        self.pages.set_capacity(bytes);
    }

    /// Read it before the rights of the caller are.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// Rights have changed already.
    pub(crate) fn clear(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.pages.clear();
    }

    /// The page as it is cached, while nothing of the institution has changed since.
    pub(crate) fn get(&self, key: &CacheKey, stamp: u64, now: Timestamp) -> Option<CachedPage> {
        self.pages.get(key).filter(|page| page.stamp == stamp && now.since(page.at) < MAX_AGE)
    }

    pub fn fill(&self, vacancy: Vacancy, answer: HttpResponse) -> HttpResponse {
        if answer.status() != 200 {
            return answer;
        }
        let (head, body) = answer.into_parts();
        match body.try_into_bytes() {
            Ok(body) => {
                let (shown, whose) = (vacancy.shown.accesses().into(), vacancy.shown.whose());
                let ignored = head.headers().get(IGNORED).cloned();
                let tag = head.headers().get(ETAG).cloned();
                let (stamp, at) = (vacancy.stamp, vacancy.at);
                let page = CachedPage { stamp, at, ignored, tag, body: body.clone(), shown, whose };
                self.pages.insert(vacancy.key, page);
                head.set_body(body).map_into_boxed_body()
            }
            Err(body) => head.set_body(body),
        }
    }
}

//! Responses from the page cache.

use actix_web::{
    HttpResponse,
    http::header::{CONTENT_TYPE, ETAG},
};
use location::ids::InstitutionId;

use super::{
    call::ApiCall,
    page_cache::{CacheKey, CacheMiss},
};
use crate::http::notices::IGNORED;

/// Cache state of a call before its handler runs.
pub enum Lookup {
    Hit(HttpResponse),
    Miss(CacheMiss),
    /// The endpoint or call is not cacheable.
    Uncached,
}

impl ApiCall {
    /// Looks up the page. A hit leaves the same audit trail entries as the original response.
    pub fn cached_page(&self, path: &str, query: &str) -> Lookup {
        if !self.endpoint.is_cached() {
            return Lookup::Uncached;
        }
        let Some(institution) = self.institution() else { return Lookup::Uncached };
        let Some(stamp) = self.api.engine.stamp(institution) else { return Lookup::Uncached };
        let at = self.api.engine.now();
        let (path, query) = (path.to_owned(), query.to_owned());
        let key = CacheKey { generation: self.generation, key: self.key.hash, version: self.version, path, query };
        match self.api.page_cache.get(&key, stamp, at) {
            Some(page) => {
                self.shown.set_scope(institution, page.scope.location);
                self.shown.add_all(&page.shown);
                let mut answer = HttpResponse::Ok();
                answer.insert_header((CONTENT_TYPE, "application/json"));
                if let Some(names) = page.ignored {
                    answer.insert_header((IGNORED, names));
                }
                if let Some(tag) = page.tag {
                    answer.insert_header((ETAG, tag));
                }
                Lookup::Hit(answer.body(page.body))
            }
            None => Lookup::Miss(CacheMiss { key, stamp, at, shown: self.shown.clone() }),
        }
    }

    /// Returns the institution that the query names, if the caller may reach it.
    fn institution(&self) -> Option<InstitutionId> {
        let named = self.query_text("subdomain")?;
        let institution = self.directory.institution_named(named)?;
        self.key.reaches_institution(institution).then_some(institution.id)
    }
}

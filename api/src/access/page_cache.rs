//! Pages of lists, kept as they were answered while nothing of the institution has changed: clients that poll cost no reading. A kept
//! page is the caller's own, so it shows nothing the caller could not read.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use actix_web::{
    HttpResponse,
    body::MessageBody,
    http::header::{CONTENT_TYPE, HeaderValue},
    web::Bytes,
};
use location::{
    ids::InstitutionId,
    time::{Millis, SECOND, Timestamp},
};
use quick_cache::{Weighter, sync::Cache};

use crate::{
    access::{
        api::Api,
        audit::{Access, Trail},
        call::Call,
    },
    http::notices::IGNORED,
    values::versions::Version,
};

/// What a page says of the time it was asked at is never older than this.
const STANDS_FOR: Millis = 5 * SECOND;
/// What one page takes besides its bytes.
const OVERHEAD: u64 = 256;
/// Pages there is room for, if they are as large as an ordinary one.
const ORDINARY: u64 = 16 * 1024;

/// One caller's question.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Question {
    generation: u64,
    key: [u8; 32],
    version: Version,
    path: String,
    query: String,
}

#[derive(Clone)]
struct Answer {
    stamp: u64,
    at: Timestamp,
    ignored: Option<HeaderValue>,
    body: Bytes,
    /// The records it shows, for the audit trail.
    shown: Arc<[Access]>,
}

#[derive(Clone)]
struct Weight;

impl Weighter<Question, Answer> for Weight {
    fn weight(&self, question: &Question, answer: &Answer) -> u64 {
        let shown = size_of_val(&*answer.shown);
        (question.path.len() + question.query.len() + answer.body.len() + shown) as u64 + OVERHEAD
    }
}

pub struct Kept {
    pages: Cache<Question, Answer, Weight>,
    /// Rises whenever the rights of keys or the locations that are open change. Part of each question: what was read under earlier
    /// rights answers nothing that is asked later.
    generation: AtomicU64,
}

/// A question whose answer is not kept, or not any more, and may be.
pub struct Open {
    question: Question,
    stamp: u64,
    at: Timestamp,
    trail: Trail,
}

/// What is known of a question before its handler runs.
pub enum Known {
    Answered(HttpResponse),
    Open(Open),
    /// Answers of this kind are not kept.
    Never,
}

impl Kept {
    /// Room in bytes; 0 keeps nothing.
    pub fn new(room: u64) -> Kept {
        let pages = Cache::with_weighter((room / ORDINARY) as usize, room, Weight);
        Kept { pages, generation: AtomicU64::new(0) }
    }

    /// Read it before the rights of the caller are.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// Rights have changed already.
    pub fn clear(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.pages.clear();
    }

    pub fn look_up(&self, api: &Api, call: &Call, path: &str, query: &str) -> Known {
        if !call.route.is_kept() {
            return Known::Never;
        }
        let Some(stamp) = call.institution().and_then(|id| api.engine.stamp(id)) else { return Known::Never };
        let at = api.engine.now();
        let (path, query) = (path.to_owned(), query.to_owned());
        let (generation, key) = (call.generation, call.key.hash);
        let question = Question { generation, key, version: call.version, path, query };
        match self.pages.get(&question) {
            Some(kept) if kept.stamp == stamp && at.since(kept.at) < STANDS_FOR => {
                kept.shown.iter().for_each(|access| access.log(&call.key));
                let mut answer = HttpResponse::Ok();
                answer.insert_header((CONTENT_TYPE, "application/json"));
                if let Some(names) = kept.ignored {
                    answer.insert_header((IGNORED, names));
                }
                Known::Answered(answer.body(kept.body))
            }
            _ => Known::Open(Open { question, stamp, at, trail: call.trail.clone() }),
        }
    }

    pub fn keep(&self, open: Open, answer: HttpResponse) -> HttpResponse {
        if answer.status() != 200 {
            return answer;
        }
        let (head, body) = answer.into_parts();
        match body.try_into_bytes() {
            Ok(body) => {
                let shown = open.trail.take().into();
                let ignored = head.headers().get(IGNORED).cloned();
                let answer = Answer { stamp: open.stamp, at: open.at, ignored, body: body.clone(), shown };
                self.pages.insert(open.question, answer);
                head.set_body(body).map_into_boxed_body()
            }
            Err(body) => head.set_body(body),
        }
    }
}

impl Call {
    /// The institution the query names, where the caller may reach it.
    fn institution(&self) -> Option<InstitutionId> {
        let named = self.query_text("subdomain")?;
        let institution = self.api.directory.institution(named)?;
        let own = self.key.institutions.contains(&institution.id) && institution.environment == self.key.environment;
        own.then_some(institution.id)
    }
}

//! The answers of a call that succeeded: in the envelope, with the status the table has for the endpoint.

use std::collections::BTreeMap;

use actix_web::{
    HttpResponse, HttpResponseBuilder,
    http::{
        StatusCode,
        header::{HeaderName, HeaderValue},
    },
};
use serde::Serialize;

use super::call::Call;
use crate::http::{
    envelope::Envelope,
    paging::{ListInfo, Page},
};

const REPLAY: HeaderName = HeaderName::from_static("idempotent-replay");

impl Call {
    /// One record, with the status the table has for the route.
    pub fn show<T: Serialize>(&self, data: T) -> HttpResponse {
        self.show_as(self.endpoint.status, data)
    }

    /// With the other status of success.
    pub(crate) fn show_as<T: Serialize>(&self, status: u16, data: T) -> HttpResponse {
        self.build(status).json(Envelope::success(self.description(), data))
    }

    /// What the first request with this Idempotency-Key made, shown again.
    pub fn replayed<T: Serialize>(&self, data: T) -> HttpResponse {
        mark_replayed(self.show(data))
    }

    /// What was made, or what an earlier request made that was the same.
    pub(crate) fn made<T: Serialize>(&self, replay: bool, data: T) -> HttpResponse {
        if replay { self.replayed(data) } else { self.show(data) }
    }

    /// The same of several records.
    pub(crate) fn made_all<T: Serialize>(&self, replay: bool, rows: &[T]) -> HttpResponse {
        let answer = self.list(rows);
        if replay { mark_replayed(answer) } else { answer }
    }

    /// A list that is not paginated.
    pub(crate) fn list<T: Serialize>(&self, rows: &[T]) -> HttpResponse {
        let envelope = Envelope::success(self.description(), rows);
        self.build(self.endpoint.status).json(Envelope { count: Some(rows.len()), ..envelope })
    }

    /// A page of a list: with cursors, or in v2.2.2 with the number of its records.
    pub(crate) fn page<T: Serialize>(&self, page: &Page<T>) -> HttpResponse {
        let mut answer = self.build(self.endpoint.status);
        match &page.info {
            ListInfo::Cursors(info) => {
                let envelope = Envelope::success(self.description(), &page.rows);
                answer.json(Envelope { page_info: Some(info), ..envelope })
            }
            ListInfo::Count(count) => {
                let (count, description) = (Some(*count), self.description());
                match self.endpoint.nested_as() {
                    Some(name) => {
                        let nested = BTreeMap::from([(name, &page.rows)]);
                        answer.json(Envelope { count, ..Envelope::success(description, nested) })
                    }
                    None => answer.json(Envelope { count, ..Envelope::success(description, &page.rows) }),
                }
            }
        }
    }

    /// A page of records, each as `view` shows it.
    pub(crate) fn page_of<'a, R, T: Serialize>(&self, page: &'a Page<R>, view: impl FnMut(&'a R) -> T) -> HttpResponse {
        self.page(&Page { rows: page.rows.iter().map(view).collect(), info: page.info.clone() })
    }

    /// Success without a body.
    pub fn empty(&self) -> HttpResponse {
        self.build(self.endpoint.status).finish()
    }

    fn build(&self, status: u16) -> HttpResponseBuilder {
        HttpResponse::build(StatusCode::from_u16(status).unwrap_or(StatusCode::OK))
    }
}

fn mark_replayed(mut answer: HttpResponse) -> HttpResponse {
    answer.headers_mut().insert(REPLAY, HeaderValue::from_static("true"));
    answer
}

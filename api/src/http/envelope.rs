//! The one shape of all answers (specification 2.1).

use std::collections::BTreeMap;

use actix_web::{
    HttpResponse, HttpResponseBuilder,
    http::{
        StatusCode,
        header::{HeaderName, HeaderValue},
    },
};
use serde::Serialize;

use crate::{
    access::call::Call,
    http::paging::{Found, Page, PageInfo},
    values::reasons::Reason,
};

pub const REPLAY: HeaderName = HeaderName::from_static("idempotent-replay");

#[derive(Serialize)]
pub struct Envelope<'a, T> {
    pub code: bool,
    /// Of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    pub description: Option<&'a str>,
    pub error: &'a [String],
    pub data: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_info: Option<&'a PageInfo>,
}

impl<'a> Envelope<'a, ()> {
    pub fn failure(error: &'a [String], reason: Reason, description: Option<&'a str>) -> Envelope<'a, ()> {
        Envelope { code: false, reason: Some(reason), description, error, data: None, count: None, page_info: None }
    }
}

impl<'a, T> Envelope<'a, T> {
    pub fn success(description: Option<&'a str>, data: T) -> Envelope<'a, T> {
        Envelope { code: true, reason: None, description, error: &[], data: Some(data), count: None, page_info: None }
    }
}

impl Call {
    /// One record, with the status the table has for the route.
    pub fn show<T: Serialize>(&self, data: T) -> HttpResponse {
        self.show_as(self.route.status, data)
    }

    /// With the other status of success.
    pub fn show_as<T: Serialize>(&self, status: u16, data: T) -> HttpResponse {
        self.build(status).json(Envelope::success(self.description(), data))
    }

    /// What the first request with this Idempotency-Key made, shown again.
    pub fn replayed<T: Serialize>(&self, data: T) -> HttpResponse {
        let mut answer = self.show(data);
        answer.headers_mut().insert(REPLAY, HeaderValue::from_static("true"));
        answer
    }

    /// A list that is not paginated.
    pub fn list<T: Serialize>(&self, rows: &[T]) -> HttpResponse {
        let envelope = Envelope::success(self.description(), rows);
        self.build(self.route.status).json(Envelope { count: Some(rows.len()), ..envelope })
    }

    /// A page of a list: with cursors, or in v2.2.2 with the number of its records.
    pub fn page<T: Serialize>(&self, page: &Page<T>) -> HttpResponse {
        let mut answer = self.build(self.route.status);
        match &page.found {
            Found::Cursors(info) => {
                let envelope = Envelope::success(self.description(), &page.rows);
                answer.json(Envelope { page_info: Some(info), ..envelope })
            }
            Found::Count(count) => {
                let (count, description) = (Some(*count), self.description());
                match self.route.nested_as() {
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
    pub fn page_of<'a, R, T: Serialize>(&self, page: &'a Page<R>, view: impl FnMut(&'a R) -> T) -> HttpResponse {
        self.page(&Page { rows: page.rows.iter().map(view).collect(), found: page.found.clone() })
    }

    /// Success without a body.
    pub fn empty(&self) -> HttpResponse {
        self.build(self.route.status).finish()
    }

    fn build(&self, status: u16) -> HttpResponseBuilder {
        HttpResponse::build(StatusCode::from_u16(status).unwrap_or(StatusCode::OK))
    }
}

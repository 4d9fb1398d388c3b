//! The one shape of all answers (specification 2.1).

use actix_web::{HttpResponse, http::StatusCode};
use serde::Serialize;

use crate::{
    pages::{Found, Page, PageInfo},
    scope::Call,
};

#[derive(Serialize)]
pub struct Envelope<'a, T> {
    pub code: bool,
    pub description: Option<&'a str>,
    pub error: &'a [String],
    pub data: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_info: Option<&'a PageInfo>,
}

impl<'a> Envelope<'a, ()> {
    pub fn failure(error: &'a [String], description: Option<&'a str>) -> Envelope<'a, ()> {
        Envelope { code: false, description, error, data: None, count: None, page_info: None }
    }
}

impl<'a, T> Envelope<'a, T> {
    pub fn success(description: Option<&'a str>, data: T) -> Envelope<'a, T> {
        Envelope { code: true, description, error: &[], data: Some(data), count: None, page_info: None }
    }
}

impl Call {
    pub fn ok<T: Serialize>(&self, data: T) -> HttpResponse {
        HttpResponse::Ok().json(Envelope::success(self.description(), data))
    }

    pub fn created<T: Serialize>(&self, data: T) -> HttpResponse {
        HttpResponse::build(StatusCode::CREATED).json(Envelope::success(self.description(), data))
    }

    /// A list that is not paginated.
    pub fn list<T: Serialize>(&self, rows: &[T]) -> HttpResponse {
        HttpResponse::Ok().json(Envelope { count: Some(rows.len()), ..Envelope::success(self.description(), rows) })
    }

    /// A page of a list; in v2.2.2 nested under its name.
    pub fn page<T: Serialize>(&self, name: &str, page: &Page<T>) -> HttpResponse {
        match &page.found {
            Found::Cursors(info) => {
                let envelope = Envelope::success(self.description(), &page.rows);
                HttpResponse::Ok().json(Envelope { page_info: Some(info), ..envelope })
            }
            Found::Count(count) => {
                let nested = std::collections::BTreeMap::from([(name, &page.rows)]);
                HttpResponse::Ok()
                    .json(Envelope { count: Some(*count), ..Envelope::success(self.description(), nested) })
            }
        }
    }
}

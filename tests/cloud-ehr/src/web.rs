//! Requests of a browser and their answers.

use actix_web::web::Query;
use serde_json::Value;

/// One request.
#[derive(Clone, Debug, Default)]
pub struct WebRequest {
    pub method: String,
    pub path: String,
    pub query: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl WebRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(held, _)| held.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub fn cookie(&self, name: &str) -> Option<&str> {
        let pairs = self.header("cookie")?.split(';').filter_map(|pair| pair.trim().split_once('='));
        pairs.into_iter().find(|(held, _)| *held == name).map(|(_, value)| value)
    }

    /// Returns a query parameter unless it is empty.
    pub fn parameter(&self, name: &str) -> Option<String> {
        field(&self.query, name).filter(|value| !value.is_empty())
    }

    /// Returns a field of the sent form.
    pub fn form(&self, name: &str) -> Option<String> {
        field(std::str::from_utf8(&self.body).ok()?, name)
    }

    pub fn is_call(&self) -> bool {
        self.path.starts_with("/app/api/")
    }

    pub fn changes(&self) -> bool {
        !matches!(self.method.as_str(), "GET" | "HEAD")
    }
}

fn field(encoded: &str, name: &str) -> Option<String> {
    let fields = Query::<Vec<(String, String)>>::from_query(encoded).ok()?.into_inner();
    fields.into_iter().find(|(held, _)| held == name).map(|(_, value)| value)
}

#[derive(Clone, Debug)]
pub struct WebResponse {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl WebResponse {
    pub fn new(status: u16, media_type: &str, body: impl Into<Vec<u8>>) -> WebResponse {
        WebResponse { status, headers: vec![("content-type", media_type.to_owned())], body: body.into() }
    }

    pub fn html(status: u16, page: String) -> WebResponse {
        WebResponse::new(status, "text/html; charset=utf-8", page)
    }

    pub fn json(status: u16, body: &Value) -> WebResponse {
        WebResponse::new(status, "application/json", body.to_string())
    }

    /// Redirects with 303, so that the browser continues with GET.
    pub fn go(to: &str) -> WebResponse {
        WebResponse { status: 303, headers: vec![("location", to.to_owned())], body: Vec::new() }
    }

    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> WebResponse {
        self.headers.push((name, value.into()));
        self
    }
}

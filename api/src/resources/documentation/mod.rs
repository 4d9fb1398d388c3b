//! GET /openapi.json, and GET /docs: a page that reads it and lets people try the calls. Nothing on it comes from elsewhere.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS},
};

use super::Answer;
use crate::{errors::ApiError, openapi, query::Params, versions::Version};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// `?version=v2.2.2` asks for the document of that version.
pub async fn document(request: HttpRequest) -> Answer {
    let mut query = Params::parse(request.query_string());
    let version = query.optional("version", crate::kinds::one_of(Version::NAMES));
    let problems = query.take_problems();
    if !problems.is_empty() {
        return Err(ApiError::BadRequest(problems));
    }
    let v2 = version.is_some_and(Version::is_v2);
    Ok(file("application/json", if v2 { &openapi::V2 } else { &openapi::V3 }))
}

pub async fn page(_: HttpRequest) -> Answer {
    Ok(file("text/html; charset=utf-8", include_str!("page.html")))
}

pub async fn style(_: HttpRequest) -> Answer {
    Ok(file("text/css; charset=utf-8", include_str!("style.css")))
}

pub async fn script(_: HttpRequest) -> Answer {
    Ok(file("text/javascript; charset=utf-8", include_str!("script.js")))
}

fn file(kind: &'static str, text: &'static str) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, kind))
        .insert_header((CONTENT_SECURITY_POLICY, POLICY))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((REFERRER_POLICY, "no-referrer"))
        .insert_header((CACHE_CONTROL, "no-cache"))
        .body(text)
}

//! GET /openapi.json, and GET /docs: a page that reads it and lets people try the calls, and one about receiving webhooks. Nothing on
//! them comes from elsewhere.

use std::sync::LazyLock;

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
    let mut query = Params::parse(request.query_string()).map_err(ApiError::bad)?;
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

/// How to receive webhooks. The snippets are files of their own, which tests run.
pub async fn webhooks(_: HttpRequest) -> Answer {
    Ok(file("text/html; charset=utf-8", &WEBHOOKS))
}

static WEBHOOKS: LazyLock<String> = LazyLock::new(|| {
    let mut shown = String::new();
    for (language, code) in SNIPPETS {
        let code = code.replace('&', "&amp;").replace('<', "&lt;");
        shown += &format!("    <h3>{language}</h3>\n    <pre><code>{code}</code></pre>\n");
    }
    include_str!("webhooks.html").replace("<!-- snippets -->\n", &shown)
});

const SNIPPETS: [(&str, &str); 5] = [
    ("Node.js", include_str!("snippets/verify.mjs")),
    ("Python", include_str!("snippets/verify.py")),
    ("Ruby", include_str!("snippets/verify.rb")),
    ("Go", include_str!("snippets/verify.go")),
    ("Rust", include_str!("snippets/verify.rs")),
];

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

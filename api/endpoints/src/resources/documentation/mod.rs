//! GET /openapi.json, and GET /docs: a page that reads the document and sends calls, pages about webhooks and the
//! sandbox, and the texts of `api/docs` for clients. No page loads external content.

mod pages;

use std::{collections::BTreeMap, sync::LazyLock};

use actix_web::{
    HttpMessage, HttpRequest, HttpResponse,
    http::header::{
        CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETag, EntityTag, IfNoneMatch, LOCATION, REFERRER_POLICY,
    },
};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use framework::{
    access::authentication::for_operators,
    http::{
        errors::{ApiError, HttpResult},
        query::Params,
        response_body::StaticBody,
    },
    values::{audience::Audience, kinds::one_of, versions::Version},
};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The OpenAPI documents, injected at the start of the server, because they are generated from the table of routes.
#[derive(Clone, Copy)]
pub struct Documents(pub fn(Audience, Option<Version>) -> &'static str);

/// Returns a document. `?version=v2.2.2` selects that version; the default document has v3.0.0 and v3.1.0.
/// `?for=operators` selects the document for operators.
pub async fn document(request: HttpRequest) -> HttpResult {
    let mut query = Params::parse(request.query_string()).map_err(ApiError::bad)?;
    let version = query.optional("version", one_of(Version::NAMES));
    let audience = query.optional("for", one_of(Audience::NAMES)).unwrap_or(Audience::Clients);
    let problems = query.take_problems();
    if !problems.is_empty() {
        return Err(ApiError::invalid(problems));
    }
    let Documents(text) = request.app_data::<Documents>().ok_or_else(ApiError::internal)?;
    Ok(file(&request, "application/json", text(audience, version)))
}

const HTML: &str = "text/html; charset=utf-8";

/// Declares the handlers that answer with a text of the program, each with its media type.
macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident: $kind:expr, $text:expr;)*) => {$(
        $(#[$doc])*
        pub async fn $name(request: HttpRequest) -> HttpResult {
            Ok(file(&request, $kind, $text))
        }
    )*};
}

texts! {
    page: HTML, include_str!("page.html");
    guide: HTML, pages::GUIDE.html();
    moving: HTML, pages::MOVING.html();
    rules: HTML, pages::RULES.html();
    glossary: HTML, pages::GLOSSARY.html();
    /// Explains how to receive webhooks. The snippets are separate files, which tests run.
    webhooks: HTML, &WEBHOOKS;
    /// Explains how to simulate failures in the sandbox.
    sandbox: HTML, include_str!("sandbox.html");
    style: "text/css; charset=utf-8", include_str!("style.css");
    script: "text/javascript; charset=utf-8", include_str!("script.js");
}

/// Returns a text for operators, for the console.
pub fn operator_page(request: &HttpRequest, name: &str) -> HttpResult {
    let page = pages::operator_page(name).ok_or_else(|| ApiError::not_found("Page"))?;
    Ok(file(request, HTML, page))
}

/// Redirects the root path: operators to the console, clients to the documentation.
pub async fn elsewhere(request: HttpRequest) -> HttpResult {
    let to = if request.path() == "/" && for_operators(&request) { "/console" } else { "/docs" };
    Ok(HttpResponse::TemporaryRedirect().insert_header((LOCATION, to)).finish())
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

/// Returns the entity tag of a text. Each text is hashed once, keyed by its address, because all texts are static.
fn tag(text: &'static str) -> String {
    static TAGS: Mutex<BTreeMap<usize, String>> = Mutex::new(BTreeMap::new());
    let mut tags = TAGS.lock();
    let new = || hex::encode(&Sha256::digest(text)[..16]);
    tags.entry(text.as_ptr().addr()).or_insert_with(new).clone()
}

/// Answers with a file of the program, or with 304 if the client's copy is current.
fn file(request: &HttpRequest, kind: &'static str, text: &'static str) -> HttpResponse {
    let tag = EntityTag::new_strong(tag(text));
    let same = match request.get_header::<IfNoneMatch>() {
        Some(IfNoneMatch::Any) => true,
        Some(IfNoneMatch::Items(known)) => known.iter().any(|known| known.weak_eq(&tag)),
        None => false,
    };
    if same {
        return HttpResponse::NotModified()
            .insert_header(ETag(tag))
            .insert_header((CACHE_CONTROL, "no-cache"))
            .finish();
    }
    let mut response = HttpResponse::Ok()
        .insert_header(ETag(tag))
        .insert_header((CONTENT_TYPE, kind))
        .insert_header((CONTENT_SECURITY_POLICY, POLICY))
        .insert_header((REFERRER_POLICY, "no-referrer"))
        .insert_header((CACHE_CONTROL, "no-cache"))
        .body(text);
    response.extensions_mut().insert(StaticBody);
    response
}

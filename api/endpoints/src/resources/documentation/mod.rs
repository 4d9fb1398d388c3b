//! GET /openapi.json, and GET /docs: a page that reads the document and sends calls, and the texts of `api/docs` for
//! clients, as HTML and as Markdown. GET /llms.txt is the index of the texts. No page loads external content.

mod pages;

use std::collections::BTreeMap;

use actix_web::{
    HttpMessage, HttpRequest, HttpResponse,
    http::header::{
        CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETag, EntityTag, HeaderValue, IfNoneMatch, LINK,
        LOCATION, REFERRER_POLICY,
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
    values::{audience::Audience, failures::Failure, kinds::one_of, versions::Version},
};

use pages::DocumentationPage;

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
const MARKDOWN: &str = "text/markdown; charset=utf-8";

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
    /// Returns the index of the texts, for language models.
    index: "text/plain; charset=utf-8", &pages::INDEX;
    /// Returns the index as the Markdown form of `/docs`.
    markdown: MARKDOWN, &pages::INDEX;
    style: "text/css; charset=utf-8", include_str!("style.css");
    script: "text/javascript; charset=utf-8", include_str!("script.js");
}

/// Returns the interactive page.
pub async fn page(request: HttpRequest) -> HttpResult {
    Ok(with_markdown(file(&request, HTML, &pages::REFERENCE_PAGE), "/docs"))
}

/// Returns a text for clients: as HTML, or as Markdown if the path ends in `.md`.
pub async fn text(request: HttpRequest) -> HttpResult {
    let name = request.path().rsplit('/').next().unwrap_or_default();
    one_of_pages(&request, &pages::CLIENT_PAGES, name).ok_or_else(|| Failure::UnknownPath.into())
}

/// Returns a text for operators, for the console, in the same two forms.
pub fn operator_page(request: &HttpRequest, name: &str) -> HttpResult {
    one_of_pages(request, &pages::OPERATOR_PAGES, name).ok_or_else(|| ApiError::not_found("Page"))
}

fn one_of_pages(request: &HttpRequest, pages: &'static [DocumentationPage], name: &str) -> Option<HttpResponse> {
    let (name, is_markdown) = name.strip_suffix(".md").map_or((name, false), |name| (name, true));
    let page = pages.iter().find(|page| page.name == name)?;
    Some(match is_markdown {
        true => file(request, MARKDOWN, page.markdown()),
        false => with_markdown(file(request, HTML, page.html()), &page.path()),
    })
}

/// Adds the address of the Markdown form to a page (RFC 8288).
fn with_markdown(mut response: HttpResponse, path: &str) -> HttpResponse {
    let link = format!("<{path}.md>; rel=\"alternate\"; type=\"text/markdown\"");
    let link = HeaderValue::try_from(link).expect("the paths of the pages are valid in a header");
    response.headers_mut().insert(LINK, link);
    response
}

/// Redirects the root path: operators to the console, clients to the documentation.
pub async fn redirect_root(request: HttpRequest) -> HttpResult {
    let to = if request.path() == "/" && for_operators(&request) { "/console" } else { "/docs" };
    Ok(HttpResponse::TemporaryRedirect().insert_header((LOCATION, to)).finish())
}

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

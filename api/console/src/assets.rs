//! Style and script of all pages.

use std::{fmt::Write, sync::LazyLock};

use actix_web::{
    HttpResponse,
    http::header::{CACHE_CONTROL, CONTENT_TYPE},
};
use framework::http::response_body::StaticBody;

use crate::location_page::{LANES, STEPS};

/// The stylesheet with a class for each position in a day's calendar. The content security policy forbids inline
/// styles.
static STYLE: LazyLock<String> = LazyLock::new(|| {
    let mut style = include_str!("style.css").to_owned();
    for step in 0..STEPS {
        let next = step + 1;
        let _ = writeln!(style, ".at-{step} {{ grid-row-start: {next} }} .for-{next} {{ grid-row-end: span {next} }}");
    }
    for lane in 0..LANES {
        let _ = writeln!(style, ".lane-{lane} {{ grid-column: {} }}", lane + 1);
    }
    style
});

fn file(kind: &'static str, text: &'static str) -> HttpResponse {
    // Revalidated on each use, because pages and assets must have the same version.
    let mut response =
        HttpResponse::Ok().insert_header((CONTENT_TYPE, kind)).insert_header((CACHE_CONTROL, "no-cache")).body(text);
    response.extensions_mut().insert(StaticBody);
    response
}

pub(crate) async fn style() -> HttpResponse {
    file("text/css; charset=utf-8", &STYLE)
}

pub(crate) async fn script() -> HttpResponse {
    file("text/javascript; charset=utf-8", include_str!("script.js"))
}

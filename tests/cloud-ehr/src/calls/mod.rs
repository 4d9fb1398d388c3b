//! The JSON calls of the pages' script. They are not a public API: names change with the markup.
//!
//! | call | purpose |
//! |---|---|
//! | `GET /app/api/session` | the user, the CSRF token, the current mark; not activity |
//! | `GET /app/api/changes?of=KIND&since=MARK&limit=N` | records changed and removed since a mark; without a mark all
//! |
//! | `GET /app/api/KIND`, `.../patients?q=&reference=`, `.../appointments?day=&reference=` | lists |
//! | `GET /app/api/patients/ID`, `/app/api/appointments/ID` | one record |
//! | `POST /app/api/patients`, `/app/api/appointments` | a new record |
//! | `PATCH /app/api/patients/ID`, `/app/api/appointments/ID` | change of the given fields |
//!
//! KIND is `patients`, `providers`, `operatories`, `types`, `hours` or `appointments`. A change requires JSON and the
//! headers `X-CSRF-Token` and `X-Markup`.

mod appointments;
mod form;
mod lists;
mod patients;
mod result;

pub use lists::span;
pub use patients::fits;
use serde_json::{Value, json};

use self::result::{CallResult, mark};
use crate::{
    FormRefusal, Markup,
    application::{Application, Visitor},
    web::{WebRequest, WebResponse},
};

const BASE: &str = "/app/api/";
const SESSION: &str = "/app/api/session";

/// Returns whether the call checks the session.
pub fn is_probe(asked: &WebRequest) -> bool {
    asked.path == SESSION
}

/// Returns `None` if the session is not open.
pub fn handle(application: &mut Application, now: i64, asked: &WebRequest) -> Option<WebResponse> {
    let probe = is_probe(asked);
    let visitor = application.visitor(now, asked, !probe)?;
    let markup = application.markup;
    if probe {
        return Some(respond(markup, Ok(session(application, &visitor))));
    }
    if let Err(after) = application.quota.take(&visitor.user.name, now) {
        application.counts.throttled += 1;
        let refusal = FormRefusal::new(429, "too_many_calls", "You are working too fast. Please wait a moment.");
        return Some(refused(markup, &refusal).header("retry-after", after.to_string()));
    }
    Some(respond(markup, judged(application, asked, &visitor)))
}

pub fn refused(markup: Markup, refusal: &FormRefusal) -> WebResponse {
    let body = markup.framed(&json!({"error": refusal.code, "message": refusal.words}));
    WebResponse::json(refusal.status, &body)
}

fn respond(markup: Markup, result: CallResult) -> WebResponse {
    match result {
        Ok(value) => WebResponse::json(200, &markup.framed(&value)),
        Err(refusal) => refused(markup, &refusal),
    }
}

fn session(application: &Application, visitor: &Visitor) -> Value {
    json!({"user": visitor.user.display_name, "csrf": visitor.csrf, "mark": mark(application)})
}

fn judged(application: &mut Application, asked: &WebRequest, visitor: &Visitor) -> CallResult {
    let path: Vec<&str> = asked.path.strip_prefix(BASE).unwrap_or_default().split('/').collect();
    if !asked.changes() {
        return match path.as_slice() {
            ["changes"] => lists::changes(application, asked),
            [kind] => lists::list(application, kind, asked),
            ["patients", id] => patients::show(application, id),
            ["appointments", id] => appointments::show(application, id),
            _ => Err(FormRefusal::not_found("page")),
        };
    }
    let sent = body(application, asked, visitor)?;
    match (asked.method.as_str(), path.as_slice()) {
        ("POST", ["patients"]) => patients::create(application, &sent),
        ("PATCH", ["patients", id]) => patients::change(application, id, &sent),
        ("POST", ["appointments"]) => appointments::create(application, &sent),
        ("PATCH", ["appointments", id]) => appointments::change(application, id, &sent),
        _ => Err(FormRefusal::not_found("page")),
    }
}

/// Returns the JSON of a permitted change.
fn body(application: &Application, asked: &WebRequest, visitor: &Visitor) -> Result<Value, FormRefusal> {
    if asked.header("x-csrf-token") != Some(visitor.csrf.as_str()) {
        return Err(FormRefusal::new(403, "csrf", "This page is no longer valid. Please reload it."));
    }
    if asked.header("x-markup") != Some(application.markup.word()) {
        return Err(FormRefusal::new(409, "page_outdated", "The application was updated. Please reload the page."));
    }
    let json = asked.header("content-type").is_some_and(|media_type| media_type.starts_with("application/json"));
    let sent = if json { serde_json::from_slice(&asked.body).ok() } else { None };
    sent.filter(Value::is_object).ok_or_else(|| FormRefusal::new(400, "not_understood", "This was not understood."))
}

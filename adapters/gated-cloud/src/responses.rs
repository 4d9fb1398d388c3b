//! What the application answers: JSON of a release, or one of its pages.

use adapter_sdk::{http::Response, redact};
use serde::Deserialize;
use serde_json::Value;

use crate::markup::{Lacking, Markup, Names, REFUSAL};

/// An answer of the application's own, in a release we know.
#[derive(Clone, Debug)]
pub struct Told {
    pub markup: Markup,
    body: Value,
}

/// Why an answer tells nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// The page that asks for user name and password: the session is over.
    LoginPage,
    /// Another page, or nothing of the application's.
    Foreign,
    /// A release we do not know, by its name.
    Release(String),
    /// It does not have what its release should have.
    Lacking(Lacking),
}

impl Told {
    pub fn of(answer: &Response) -> Result<Told, Unreadable> {
        let Ok(body) = serde_json::from_slice::<Value>(&answer.body) else {
            return Err(if is_login_page(&answer.body) { Unreadable::LoginPage } else { Unreadable::Foreign });
        };
        let word = body.get("markup").and_then(Value::as_str).ok_or(Unreadable::Foreign)?;
        match Markup::of(word) {
            Some(markup) => Ok(Told { markup, body }),
            None => Err(Unreadable::Release(redact::word(word))),
        }
    }

    /// The frame around the records.
    pub fn frame(&self, names: Names) -> Result<Value, Unreadable> {
        self.own(names, &self.body)
    }

    pub fn own(&self, names: Names, shown: &Value) -> Result<Value, Unreadable> {
        self.markup.own(names, shown).map_err(Unreadable::Lacking)
    }

    /// The application's word for why it says no.
    pub fn refusal(&self) -> Option<String> {
        self.frame(REFUSAL).ok()?["code"].as_str().map(redact::word)
    }
}

/// It asks for a password, however it is written.
fn is_login_page(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body).to_ascii_lowercase();
    let page = text.trim_start().starts_with('<');
    page && (text.contains("data-page=\"login\"") || text.contains("type=\"password\""))
}

#[derive(Debug, Deserialize)]
pub struct Session {
    pub csrf: String,
}

#[derive(Debug, Deserialize)]
pub struct Listed {
    pub items: Vec<Value>,
    pub removed: Vec<String>,
    pub mark: String,
    pub more: bool,
    pub total: u64,
}

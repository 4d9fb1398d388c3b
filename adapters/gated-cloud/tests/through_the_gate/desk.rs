//! A workstation with a logged-in staff member. The application responds from a list; its requests are recorded.

use std::{cell::RefCell, collections::VecDeque, rc::Rc};

use adapter_sdk::{
    http::{Error, Request, Response},
    testing::Host,
};
use serde_json::{Value, json};

/// Method and path with the body.
pub type SentRequests = Rc<RefCell<Vec<(String, Value)>>>;
pub type DeskReply = Result<Response, Error>;

/// Responds to one request after the other. Requests outside the gate fail.
pub fn desk(replies: Vec<DeskReply>) -> (Host, SentRequests) {
    let asked: SentRequests = Rc::default();
    let (seen, mut replies) = (asked.clone(), VecDeque::from(replies));
    let host = Host::new().answer(|request| panic!("{} goes past the gate", request.path));
    let host = host.answer_gate(move |request: &Request| {
        let body = request.body.as_deref().map(|body| serde_json::from_slice(body).unwrap()).unwrap_or_default();
        seen.borrow_mut().push((format!("{} {}", request.method, request.path), body));
        replies.pop_front().unwrap_or_else(|| panic!("unexpected request {} {}", request.method, request.path))
    });
    (host, asked)
}

pub fn answer(status: u16, body: impl ToString) -> DeskReply {
    Ok(Response { status, headers: Vec::new(), body: body.to_string().into_bytes() })
}

pub fn session(csrf: &str) -> DeskReply {
    answer(200, json!({"markup": "v3", "user": "Robin", "csrf": csrf, "mark": "e.1"}))
}

pub fn nothing() -> DeskReply {
    answer(200, json!({"markup": "v3", "items": []}))
}

pub fn refusal(status: u16, code: &str) -> DeskReply {
    answer(status, json!({"markup": "v3", "error": code, "message": "Chair 1 is taken (Zoë O’Brien)."}))
}

pub fn login_page() -> DeskReply {
    answer(200, include_str!("../fixtures/login.html"))
}

pub fn fixture(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

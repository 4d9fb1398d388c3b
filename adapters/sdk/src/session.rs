//! The session of a web application reached through the [`gate`](crate::gate), and the faults of an expired session.

use crate::{
    Fault,
    http::{Response, retry_after},
};

/// Default delay of a 429 without `Retry-After`, in seconds.
const MINUTE: u32 = 60;

/// Maps a status that is not the web application's own response or refusal to a fault; `None` otherwise. An expired
/// session closes the gate for a read. For a write in flight the outcome is unknown.
///
/// ```
/// use adapter_sdk::{Fault, session, http::{Header, Response}};
///
/// let to_login = Response { status: 302, headers: vec![Header::new("location", "/login")], body: Vec::new() };
/// assert_eq!(session::fault_of_status(&to_login, true), Some(Fault::GateClosed));
/// assert!(matches!(session::fault_of_status(&to_login, false), Some(Fault::Unknown(_))));
/// assert_eq!(session::fault_of_status(&Response { status: 409, ..to_login }, false), None);
/// ```
pub fn fault_of_status(answer: &Response, reads: bool) -> Option<Fault> {
    let (status, after) = (answer.status, retry_after(answer));
    let later = |reason: String| Fault::retry_later(reason, after);
    let leads_to_login = || answer.header("location").is_some_and(|to| to.to_ascii_lowercase().contains("login"));
    let reason = format!("the EHR answered {status}");
    match status {
        // An unauthenticated request was not executed.
        401 => Some(Fault::GateClosed),
        408 | 425 => Some(later(reason)),
        429 => Some(Fault::retry_later("the EHR bears no more calls in this minute", after.or(Some(MINUTE)))),
        503 if after.is_some() => Some(later(reason)),
        300..=399 if reads && leads_to_login() => Some(Fault::GateClosed),
        300..=399 | 500..=599 if reads => Some(later(reason)),
        300..=399 | 500..=599 => Some(Fault::unknown(reason)),
        _ => None,
    }
}

/// Returns `true` if a response is a login page: it has a password field, or contains one of `signs`, which are in
/// lower case.
///
/// ```
/// use adapter_sdk::{session, http::Response};
///
/// let answer = |body: &str| Response { status: 200, headers: Vec::new(), body: body.into() };
/// assert!(session::is_login_page(&answer("<html><input TYPE=\"password\"></html>"), &[]));
/// assert!(session::is_login_page(&answer("<html id=Login>"), &["id=login"]));
/// assert!(!session::is_login_page(&answer("{\"says\": \"type=\\\"password\\\"\"}"), &[]));
/// ```
pub fn is_login_page(answer: &Response, signs: &[&str]) -> bool {
    let text = String::from_utf8_lossy(&answer.body).to_ascii_lowercase();
    let shows = |sign: &&str| text.contains(*sign);
    text.trim_start().starts_with('<') && (shows(&"type=\"password\"") || signs.iter().any(shows))
}

/// The fault of a login page. A write may have been executed before the session expired.
pub fn fault_of_login_page(reads: bool) -> Fault {
    if reads { Fault::GateClosed } else { Fault::unknown("the EHR answered with its login page") }
}

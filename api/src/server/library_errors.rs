//! Errors that the HTTP library sends before there is a request, such as for invalid HTTP or a head that is too large
//! or slow. The library sends an empty body; the client receives the envelope and a request id instead.

use actix_web::web::Bytes;
use uuid::Uuid;

use framework::{
    http::{context::REQUEST_ID, errors::FailureEnvelope},
    values::failures::Failure,
};

/// Maximum length of the library's head: a status line and up to three short headers.
const LONGEST: usize = 256;
const START: &[u8] = b"HTTP/1.1 ";

/// Returns the offset of an error at the end of the bytes that the library is about to send. Responses of the
/// application have a request id and never match.
pub(super) fn find(bytes: &[u8]) -> Option<usize> {
    if !bytes.ends_with(b"\r\n\r\n") {
        return None;
    }
    let from = bytes.len().saturating_sub(LONGEST);
    let start = from + bytes[from..].windows(START.len()).rposition(|window| window == START)?;
    let mut lines = std::str::from_utf8(&bytes[start..]).ok()?.split("\r\n");
    let is_error = lines.next()?.as_bytes().get(START.len()).is_some_and(|digit| b"45".contains(digit));
    let mut is_empty = false;
    for line in lines.filter(|line| !line.is_empty()) {
        match line.split_once(": ")? {
            ("content-length", "0") => is_empty = true,
            ("connection" | "date", _) => {}
            _ => return None,
        }
    }
    (is_error && is_empty).then_some(start)
}

/// Returns the response that replaces the error.
pub(super) fn in_envelope(head: &[u8]) -> Bytes {
    let head = String::from_utf8_lossy(head);
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap_or_default();
    let date = lines.find(|line| line.starts_with("date: ")).map_or(String::new(), |date| format!("{date}\r\n"));
    let (failure, description) = explain(status);
    let errors = [failure.message(&[])];
    let body = serde_json::to_string(&FailureEnvelope::new(&errors, failure, description)).unwrap_or_default();
    let (id, length) = (Uuid::new_v4(), body.len());
    let response = format!(
        "{status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n{REQUEST_ID}: {id}\r\n\
         cache-control: no-store\r\nx-content-type-options: nosniff\r\n{date}\r\n{body}"
    );
    response.into()
}

fn explain(status: &str) -> (Failure, Option<&'static str>) {
    match status.split(' ').nth(1) {
        Some("400") => (
            Failure::MalformedHttp,
            Some(
                "Percent-encode the path and the query: `é` is written `%C3%A9`. A request has one Content-Length or is chunked, \
                 and its address has at most 64 KiB.",
            ),
        ),
        Some("408") => (Failure::RequestTimeout, None),
        Some("431") => (Failure::HeadTooLarge, None),
        _ => (Failure::InternalError, None),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const ERROR: &str = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\
                         date: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n";

    #[test]
    fn an_error_of_the_library_is_found_behind_other_bytes() {
        assert_eq!(find(ERROR.as_bytes()), Some(0));
        assert_eq!(find(format!("{{}}{ERROR}").as_bytes()), Some(2));
    }

    #[test]
    fn responses_of_the_application_are_left_as_they_are() {
        let own = ERROR.replace("date", "x-request-id: 1\r\ndate");
        let success = ERROR.replace("400 Bad Request", "200 OK");
        let with_body = ERROR.replace("content-length: 0", "content-length: 9");
        let more = format!("{ERROR}HTTP/1.1 100 Continue\r\n\r\n");
        for bytes in [own, success, with_body, more, "\r\n\r\n".to_owned(), String::new()] {
            assert_eq!(find(bytes.as_bytes()), None, "{bytes}");
        }
    }

    #[test]
    fn the_envelope_keeps_status_and_date() {
        let sent = String::from_utf8(in_envelope(ERROR.as_bytes()).to_vec()).unwrap();
        let (head, body) = sent.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 400 Bad Request\r\n") && head.contains("date: Thu, 01"), "{head}");
        assert!(
            head.contains(&format!("content-length: {}\r\n", body.len())) && head.contains("x-request-id: "),
            "{head}"
        );
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!((&body["code"], &body["reason"]), (&false.into(), &"invalid_request".into()));
    }
}

//! Requests to the EHR, and the faults of their failures.
//!
//! [`get`], [`post`], [`put`], [`patch`] and [`delete`] start a [`Call`]. [`Call::send`] maps every failure to the
//! [`Fault`] with the right next step of the engine. [`request`] is the raw import.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::{Serialize, de::DeserializeOwned};

pub use crate::bindings::practice_sync::ehr::http::{Error, Header, Method, Request, Response};
use crate::{Fault, clock, gate, records::Instant, time};

/// All characters except the unreserved ones of RFC 3986.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Sends one request unchanged, within the deadline of the adapter call.
pub fn request(request: &Request) -> Result<Response, Error> {
    #[cfg(target_arch = "wasm32")]
    return crate::bindings::practice_sync::ehr::http::send(request);
    #[cfg(not(target_arch = "wasm32"))]
    crate::testing::send(request)
}

/// Starts a request that reads.
pub fn get(path: impl Into<String>) -> Call {
    Call::new(Method::Get, path, true)
}

/// Starts a request that writes, unless marked with [`Call::reading`].
pub fn post(path: impl Into<String>) -> Call {
    Call::new(Method::Post, path, false)
}

/// Starts a request that writes.
pub fn put(path: impl Into<String>) -> Call {
    Call::new(Method::Put, path, false)
}

/// Starts a request that writes.
pub fn patch(path: impl Into<String>) -> Call {
    Call::new(Method::Patch, path, false)
}

/// Starts a request that writes.
pub fn delete(path: impl Into<String>) -> Call {
    Call::new(Method::Delete, path, false)
}

/// Reads JSON.
pub fn get_json<T: DeserializeOwned>(path: impl Into<String>) -> Result<T, Fault> {
    get(path).send()?.json()
}

/// Writes JSON and reads the JSON of the response.
pub fn post_json<T: DeserializeOwned>(path: impl Into<String>, body: &impl Serialize) -> Result<T, Fault> {
    post(path).json(body)?.send()?.written_json()
}

/// A request to send. A lost response to a read is retried; a write with a lost response is looked up first.
#[derive(Clone, Debug)]
#[must_use]
pub struct Call {
    request: Request,
    reads: bool,
    gated: bool,
}

impl Call {
    fn new(method: Method, path: impl Into<String>, reads: bool) -> Call {
        let headers = vec![Header::new("accept", "application/json")];
        Call { request: Request { method, path: path.into(), headers, body: None }, reads, gated: false }
    }

    /// Sets a header, replacing an earlier one of that name.
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Call {
        self.request.headers.retain(|held| !held.name.eq_ignore_ascii_case(name));
        self.request.headers.push(Header::new(name.to_ascii_lowercase(), value));
        self
    }

    /// Sets the body.
    pub fn body(mut self, media_type: &str, body: impl Into<Vec<u8>>) -> Call {
        self.request.body = Some(body.into());
        self.header("content-type", media_type)
    }

    /// Sets a JSON body.
    pub fn json(self, body: &impl Serialize) -> Result<Call, Fault> {
        let body = serde_json::to_vec(body).map_err(|e| Fault::rejected(format!("cannot be written as JSON: {e}")))?;
        Ok(self.body("application/json", body))
    }

    /// Sets a form-encoded body.
    pub fn form<N: AsRef<str>, V: AsRef<str>>(self, fields: &[(N, V)]) -> Call {
        self.body("application/x-www-form-urlencoded", form(fields))
    }

    /// Marks the request as a read whatever its method, such as a search by POST.
    pub fn reading(mut self) -> Call {
        self.reads = true;
        self
    }

    /// Sends the request inside the session of a staff member logged in at a workstation, see [`gate`].
    pub fn through_gate(mut self) -> Call {
        self.gated = true;
        self
    }

    /// Returns `true` if the request changes nothing in the EHR.
    pub fn reads(&self) -> bool {
        self.reads
    }

    /// Sends the request and returns a response of any status. Only a missing response is a fault.
    pub fn send_any(self) -> Result<Response, Fault> {
        match self.gated {
            true => gate::send(&self.request).map_err(|error| gate::fault_of_error(error, self.reads)),
            false => request(&self.request).map_err(|error| fault_of_error(error, self.reads)),
        }
    }

    /// Sends the request and returns a response with a status of 200 to 299. Any other status is a fault, see
    /// [`fault_of_status`].
    pub fn send(self) -> Result<Response, Fault> {
        self.send_judged(fault_of_status)
    }

    /// Sends the request and returns a response with a status of 200 to 299. `fault` maps other responses; its second
    /// argument is `true` for a read. It handles the EHR's own error codes and leaves the rest to [`fault_of_status`].
    ///
    /// ```
    /// use adapter_sdk::{Fault, http::{self, Response, fault_of_status}, redact};
    ///
    /// fn fault(answer: &Response, reads: bool) -> Fault {
    ///     match answer.status {
    ///         409 => {
    ///             let known = [("overlap", "the operatory is occupied at that time")];
    ///             Fault::rejected(redact::refusal("overlap", &known))
    ///         }
    ///         _ => fault_of_status(answer, reads),
    ///     }
    /// }
    ///
    /// fn book(body: &str) -> Result<Response, Fault> {
    ///     http::post("/appointments").json(&body)?.send_judged(fault)
    /// }
    /// ```
    pub fn send_judged(self, fault: impl FnOnce(&Response, bool) -> Fault) -> Result<Response, Fault> {
        let reads = self.reads;
        let answer = self.send_any()?;
        if answer.is_success() { Ok(answer) } else { Err(fault(&answer, reads)) }
    }
}

impl Header {
    /// Creates a header; the engine accepts names in any case.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Header {
        Header { name: name.into(), value: value.into() }
    }
}

impl From<(String, String)> for Header {
    fn from((name, value): (String, String)) -> Header {
        Header { name, value }
    }
}

impl From<Header> for (String, String) {
    fn from(Header { name, value }: Header) -> (String, String) {
        (name, value)
    }
}

impl Method {
    /// Returns the HTTP name: `GET`.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Response {
    /// Returns `true` for a status of 200 to 299.
    pub fn is_success(&self) -> bool {
        (200..=299).contains(&self.status)
    }

    /// Returns the first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|held| held.name.eq_ignore_ascii_case(name)).map(|held| held.value.as_str())
    }

    /// Returns the EHR's clock according to the `date` header.
    pub fn now(&self) -> Option<Instant> {
        self.header("date").and_then(time::http_date)
    }

    /// Parses the body of a response to a read. A body that cannot be parsed is retried.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        self.parse().map_err(|reason| Fault::retry_later(reason, None))
    }

    /// Parses the body of a response to a write. A body that cannot be parsed proves nothing, so the write is looked
    /// up.
    pub fn written_json<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        self.parse().map_err(Fault::unknown)
    }

    /// Parses the body. Errors contain only kind and position, because serde_json's messages may quote the EHR's text.
    fn parse<T: DeserializeOwned>(&self) -> Result<T, String> {
        let json = self.body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&self.body);
        serde_json::from_slice(json).map_err(|e| {
            let (kind, line, column) = (e.classify(), e.line(), e.column());
            format!(
                "the EHR's answer (status {}) is not as expected: {kind:?} error at line {line} column {column}",
                self.status
            )
        })
    }
}

/// A byte order mark, sent by some servers before JSON. RFC 8259 allows a reader to ignore it.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Maps a missing response to a fault. Not sent or a lost read: try again. A lost write: look it up. Refused by the
/// engine: never try again.
pub fn fault_of_error(error: Error, reads: bool) -> Fault {
    match error {
        Error::NotSent(why) => Fault::retry_later(why, None),
        Error::NoAnswer(why) => Fault::lost(why, reads),
        Error::Refused(why) => Fault::rejected(why),
    }
}

/// Maps a response other than 200 to 299 to a fault. 401 and 403: unauthorized. 408, 425, 429, and 503 with
/// `Retry-After`: not done, try again. 501: unsupported. Redirects and other 5xx: a read is tried again, a write may
/// have happened. The rest: rejected.
pub fn fault_of_status(answer: &Response, reads: bool) -> Fault {
    let status = answer.status;
    let after = retry_after(answer);
    let reason = format!("the EHR answered {status}");
    match status {
        401 | 403 => Fault::unauthorized(reason),
        408 | 425 | 429 => Fault::retry_later(reason, after),
        503 if after.is_some() => Fault::retry_later(reason, after),
        501 => Fault::unsupported(reason),
        // A redirect is not followed. It may be an intermediary's, to a page of maintenance, and is not a refusal.
        300..=399 | 500..=599 if reads => Fault::retry_later(reason, after),
        300..=399 | 500..=599 => Fault::unknown(reason),
        _ => Fault::rejected(reason),
    }
}

/// Returns the seconds of a `Retry-After` header, which contains a number or a date. A longer wait than the contract
/// can represent is its longest.
pub fn retry_after(answer: &Response) -> Option<u32> {
    let value = answer.header("retry-after")?.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(value.parse().unwrap_or(u32::MAX));
    }
    let wait = time::http_date(value)?.saturating_sub(clock::now()).max(0);
    Some(u32::try_from(wait).unwrap_or(u32::MAX))
}

/// Encodes names and values as a query or form body.
///
/// ```
/// assert_eq!(adapter_sdk::http::form(&[("name", "Zoë & Ash"), ("limit", "5")]), "name=Zo%C3%AB%20%26%20Ash&limit=5");
/// ```
pub fn form<'a, N: AsRef<str> + 'a, V: AsRef<str> + 'a>(pairs: impl IntoIterator<Item = &'a (N, V)>) -> String {
    let pairs = pairs.into_iter().map(|(name, value)| format!("{}={}", encode(name.as_ref()), encode(value.as_ref())));
    pairs.collect::<Vec<_>>().join("&")
}

/// Percent-encodes a value for a path segment or a query.
pub fn encode(value: &str) -> String {
    utf8_percent_encode(value, UNRESERVED).to_string()
}

/// The inverse of [`encode`]; text that was not encoded is unchanged.
///
/// ```
/// use adapter_sdk::http::{decode, encode};
///
/// assert_eq!(decode(&encode("a b/ü|?")), "a b/ü|?");
/// assert_eq!(decode("100% of 5%2"), "100% of 5%2");
/// ```
pub fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

//! Events that an EHR sends to the engine, and their authentication.

use crate::secret::Secret;

location::settings! {
    /// Authentication of the events of a data source.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct EhrEvents {
        /// `None`, the default, accepts no event. An empty secret would accept any.
        secret: Option<Secret> = None, parsed(long_enough).credential().optional().required() =>
            reload, "The secret of the events, which the EHR sends, or signs with.";
        scheme: EventScheme = EventScheme::Header,
            word(&[("header", EventScheme::Header), ("hmac", EventScheme::Hmac)]) =>
            reload, "`header`: the header has the secret. `hmac`: it has the HMAC-SHA256 of the body in hex or Base64.";
        /// In lower case.
        header: String = String::new(), text(header_name).required() =>
            reload, "The name of the header, such as `X-Event-Secret`.";
    }
}

/// The contents of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventScheme {
    /// The secret itself.
    Header,
    /// HMAC-SHA256 of the body in hex or Base64, with or without `sha256=` before it.
    Hmac,
}

/// Shortest accepted secret of events, because callers may guess it.
const EVENT_SECRET: usize = 16;

fn long_enough(text: &str) -> Result<Secret, String> {
    match text.len() {
        0..EVENT_SECRET => Err(format!("must have at least {EVENT_SECRET} characters")),
        _ => Ok(Secret::new(text)),
    }
}

/// Parses the name of a header (RFC 9110, 5.1) into lower case.
pub(crate) fn header_name(text: &str) -> Result<String, String> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    match !text.is_empty() && text.bytes().all(is_plain) {
        true => Ok(text.to_ascii_lowercase()),
        false => Err("must be the name of a header, such as \"X-Event-Secret\"".into()),
    }
}

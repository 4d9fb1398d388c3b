//! Conditional requests: `ETag` on responses to GET, 304 without a body if `If-None-Match` contains the tag.
//!
//! Tags are strong: they cover every byte of the response, after all permission checks. A client that lost a permission
//! is refused, or gets a different tag. Rate limits and audit treat the call like any other. The tag of a page covers
//! digests of its rows (`respond`), so that the rows of a large page are not hashed for each response.

use actix_web::{
    HttpRequest, HttpResponse,
    body::MessageBody,
    http::{
        StatusCode,
        header::{CONTENT_TYPE, ETAG, EntityTag, Header, HeaderValue, IF_NONE_MATCH, IfNoneMatch},
    },
};

use super::keys::ApiKey;
use crate::values::{
    secret::{MacKey, Secret},
    versions::Version,
};

/// Bytes of a tag, enough to avoid collisions.
const LENGTH: usize = 16;

/// Entity tag generator. Tags are keyed hashes, so that a tag in a log reveals nothing about the records.
pub struct Tags(MacKey);

pub struct Tagging {
    key: MacKey,
    caller: [u8; 32],
    version: Version,
}

impl Tags {
    pub fn new(secret: &Secret) -> Tags {
        Tags(secret.key("entity tag"))
    }

    pub fn for_caller(&self, caller: &ApiKey, version: Version) -> Tagging {
        Tagging { key: self.0.clone(), caller: caller.hash, version }
    }
}

impl Tagging {
    /// Adds a tag to a successful response without one; returns any other unchanged.
    pub fn tag(&self, answer: HttpResponse) -> HttpResponse {
        if answer.status() != StatusCode::OK || answer.headers().contains_key(ETAG) {
            return answer;
        }
        let (mut head, body) = answer.into_parts();
        match body.try_into_bytes() {
            Ok(body) => {
                head.headers_mut().insert(ETAG, self.entity_tag(&body));
                head.set_body(body).map_into_boxed_body()
            }
            Err(body) => head.set_body(body),
        }
    }

    pub(super) fn entity_tag(&self, body: &[u8]) -> HeaderValue {
        let tag = self.key.tag(&[&self.caller, self.version.name().as_bytes(), &[0], body]);
        let tag = format!("\"{}\"", hex::encode(&tag[..LENGTH]));
        HeaderValue::from_str(&tag).expect("quoted hexadecimal digits are a valid header value")
    }
}

/// Returns the response, or 304 if the client already has it (RFC 9110, 13.1.2).
pub fn unless_known(request: &HttpRequest, answer: HttpResponse) -> HttpResponse {
    if !request.headers().contains_key(IF_NONE_MATCH) {
        return answer;
    }
    let tag = answer.headers().get(ETAG).and_then(|tag| tag.to_str().ok()?.parse::<EntityTag>().ok());
    // An unreadable header matches no tag.
    let (Some(tag), Ok(known)) = (tag, IfNoneMatch::parse(request)) else { return answer };
    let is_known = match known {
        IfNoneMatch::Any => true,
        IfNoneMatch::Items(known) => known.iter().any(|known| known.weak_eq(&tag)),
    };
    if is_known { not_modified(answer) } else { answer }
}

fn not_modified(answer: HttpResponse) -> HttpResponse {
    let mut without_body = answer.drop_body();
    *without_body.status_mut() = StatusCode::NOT_MODIFIED;
    without_body.headers_mut().remove(CONTENT_TYPE);
    without_body.map_into_boxed_body()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_differ_by_caller_and_version() {
        let tags = Tags::new(&Secret::from_bytes([1; 32]));
        let of = |caller, version, body: &[u8]| {
            Tagging { key: tags.0.clone(), caller: [caller; 32], version }.entity_tag(body)
        };
        let one = of(1, Version::V3_0_0, b"{}");
        assert_eq!(one, of(1, Version::V3_0_0, b"{}"));
        assert_ne!(one, of(1, Version::V3_0_0, b"{ }"));
        assert_ne!(one, of(2, Version::V3_0_0, b"{}"));
        assert_ne!(one, of(1, Version::V3_1_0, b"{}"));
    }
}

//! The version a request asks for (specification 9).

use actix_web::http::header::{ACCEPT, HeaderMap, HeaderName};

use super::errors::ApiError;
use crate::values::{reasons::Reason, versions::Version};

pub(crate) const VERSION: HeaderName = HeaderName::from_static("svc-api-version");

/// No version, or one that is not known: as if there were no such resource.
pub(crate) fn asked_for(headers: &HeaderMap) -> Result<Version, ApiError> {
    let (asked, otherwise) = match headers.get(VERSION) {
        Some(value) => (value.to_str().ok().and_then(|name| Version::named(name.trim())), Reason::VersionUnknown),
        None => {
            let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
            (accept.and_then(accepted), Reason::VersionMissing)
        }
    };
    asked.ok_or(ApiError::NoSuchRoute.because(otherwise))
}

/// `application/vnd.<anything>+json;version=2`
fn accepted(accept: &str) -> Option<Version> {
    accept.split(',').find_map(|media| {
        let mut parts = media.split(';').map(str::trim);
        let vendor = parts.next().is_some_and(|kind| kind.starts_with("application/vnd.") && kind.ends_with("+json"));
        (vendor && parts.any(|parameter| parameter == "version=2")).then_some(Version::V2_2_2)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use actix_web::http::header::{HeaderName, HeaderValue};

    use super::*;

    fn asked(name: &'static str, value: &'static str) -> Option<Version> {
        let mut headers = HeaderMap::new();
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        asked_for(&headers).ok()
    }

    #[test]
    fn versions_and_their_aliases() {
        assert_eq!(asked("svc-api-version", "v3.0.0"), Some(Version::V3_0_0));
        assert_eq!(asked("svc-api-version", "v20240412"), Some(Version::V3_0_0));
        assert_eq!(asked("svc-api-version", "v3.1.0"), Some(Version::V3_1_0));
        assert_eq!(asked("svc-api-version", "v2"), Some(Version::V2_2_2));
        assert_eq!(asked("accept", "text/html, application/vnd.Svc+json;version=2"), Some(Version::V2_2_2));
        assert_eq!(asked("accept", "application/vnd.Svc+json; version=2"), Some(Version::V2_2_2));
        for unknown in ["", "3.0.0", "v3", "V3.0.0", "v3.0.0, v2", "v9"] {
            assert_eq!(asked("svc-api-version", unknown), None, "{unknown}");
        }
        for unknown in ["application/json", "application/vnd.Svc+json;version=3", "application/vnd.Svc+json", "*/*"] {
            assert_eq!(asked("accept", unknown), None, "{unknown}");
        }
    }
}

//! The requested API version (specification 9).

use std::iter;

use actix_web::http::header::{ACCEPT, HeaderMap, HeaderName};

use super::{compatibility::Compatibility, errors::ApiError};
use crate::values::{failures::Failure, versions::Version};

pub const VERSION: HeaderName = HeaderName::from_static("svc-api-version");

/// Returns the requested version. A missing or unknown version is answered like an unknown path.
pub fn requested_version(headers: &HeaderMap, rules: &Compatibility) -> Result<Version, ApiError> {
    let own = VERSION;
    let mut names = iter::once(&own).chain(&rules.version_headers);
    let Some((header, value)) = names.find_map(|name| Some((name, headers.get(name)?))) else {
        let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
        let version = accept.and_then(accepted).or(rules.default_version);
        return version.ok_or_else(|| Failure::VersionMissing.into());
    };
    let named = |name: &str| Version::named(name).or_else(|| rules.version_values.get(name).copied());
    value.to_str().ok().and_then(|name| named(name.trim())).ok_or_else(|| {
        let unknown = ApiError::from(Failure::VersionUnknown);
        if *header == own {
            return unknown;
        }
        unknown.explained(Failure::VersionUnknown.advice().replace("Svc-Api-Version", header.as_str()))
    })
}

/// Parses `application/vnd.<anything>+json;version=2`.
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

    fn requested(name: &'static str, value: &'static str) -> Option<Version> {
        let mut headers = HeaderMap::new();
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        requested_version(&headers, &Compatibility::default()).ok()
    }

    #[test]
    fn versions_and_their_aliases() {
        assert_eq!(requested("svc-api-version", "v3.0.0"), Some(Version::V3_0_0));
        assert_eq!(requested("svc-api-version", "v20240412"), Some(Version::V3_0_0));
        assert_eq!(requested("svc-api-version", "v3.1.0"), Some(Version::V3_1_0));
        assert_eq!(requested("svc-api-version", "v2"), Some(Version::V2_2_2));
        assert_eq!(requested("accept", "text/html, application/vnd.Svc+json;version=2"), Some(Version::V2_2_2));
        assert_eq!(requested("accept", "application/vnd.Svc+json; version=2"), Some(Version::V2_2_2));
        for unknown in ["", "3.0.0", "v3", "V3.0.0", "v3.0.0, v2", "v9"] {
            assert_eq!(requested("svc-api-version", unknown), None, "{unknown}");
        }
        for unknown in ["application/json", "application/vnd.Svc+json;version=3", "application/vnd.Svc+json", "*/*"] {
            assert_eq!(requested("accept", unknown), None, "{unknown}");
        }
    }

    #[test]
    fn other_version_headers_values_and_a_default_need_configuration() {
        let other = HeaderName::from_static("other-api-version");
        let rules = Compatibility {
            version_headers: vec![other.clone()],
            version_values: [("2024-04-12".to_owned(), Version::V3_0_0)].into(),
            default_version: Some(Version::V2_2_2),
            ..Compatibility::default()
        };
        let read = |given: &[(&HeaderName, &'static str)], rules: &Compatibility| {
            let headers = given.iter().map(|(name, value)| ((*name).clone(), HeaderValue::from_static(value)));
            requested_version(&HeaderMap::from_iter(headers), rules).ok()
        };
        assert_eq!(read(&[(&other, "v3.1.0")], &rules), Some(Version::V3_1_0));
        assert_eq!(read(&[(&other, "2024-04-12")], &rules), Some(Version::V3_0_0));
        assert_eq!(read(&[(&VERSION, "2024-04-12")], &rules), Some(Version::V3_0_0));
        assert_eq!(read(&[(&other, "v2"), (&VERSION, "v3.0.0")], &rules), Some(Version::V3_0_0));
        assert_eq!(read(&[], &rules), Some(Version::V2_2_2));
        // An unknown version is not replaced by the default.
        assert_eq!(read(&[(&other, "v9")], &rules), None);
        let strict = Compatibility::default();
        for given in [&[][..], &[(&other, "v3.1.0")], &[(&VERSION, "2024-04-12")]] {
            assert_eq!(read(given, &strict), None);
        }
    }
}

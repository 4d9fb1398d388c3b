//! Versions of the API (specification 9). Which routes a version has is said in the table of routes; one that is not redefined in
//! v3.1.0 behaves there as in v3.0.0.

use actix_web::http::header::{ACCEPT, HeaderMap};

use crate::{http::errors::ApiError, values::reasons::Reason};

pub const HEADER: &str = "svc-api-version";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    V2_2_2,
    V3_0_0,
    V3_1_0,
}

impl Version {
    /// The version a request asks for. None of them, or one that is not known: as if there were no such resource.
    pub fn of(headers: &HeaderMap) -> Result<Version, ApiError> {
        let (asked, otherwise) = match headers.get(HEADER) {
            Some(value) => (value.to_str().ok().and_then(|name| Version::named(name.trim())), Reason::VersionUnknown),
            None => {
                let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
                (accept.and_then(Version::accepted), Reason::VersionMissing)
            }
        };
        asked.ok_or(ApiError::NoSuchRoute.because(otherwise))
    }

    /// With their aliases.
    pub const NAMES: &[(&str, Version)] = &[
        ("v2.2.2", Version::V2_2_2),
        ("v2", Version::V2_2_2),
        ("v3.0.0", Version::V3_0_0),
        ("v20240412", Version::V3_0_0),
        ("v3.1.0", Version::V3_1_0),
    ];

    fn named(name: &str) -> Option<Version> {
        Version::NAMES.iter().find(|(known, _)| *known == name).map(|(_, version)| *version)
    }

    /// One that something was kept under; a version that is no more goes on as the stable one.
    pub fn kept(name: &str) -> Version {
        Version::named(name).unwrap_or(Version::V3_0_0)
    }

    /// `application/vnd.<anything>+json;version=2`
    fn accepted(accept: &str) -> Option<Version> {
        accept.split(',').find_map(|media| {
            let mut parts = media.split(';').map(str::trim);
            let vendor =
                parts.next().is_some_and(|kind| kind.starts_with("application/vnd.") && kind.ends_with("+json"));
            (vendor && parts.any(|parameter| parameter == "version=2")).then_some(Version::V2_2_2)
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Version::V2_2_2 => "v2.2.2",
            Version::V3_0_0 => "v3.0.0",
            Version::V3_1_0 => "v3.1.0",
        }
    }

    /// v2.2.2 has pages by number, and records of an older shape.
    pub fn is_v2(self) -> bool {
        self == Version::V2_2_2
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use actix_web::http::header::{HeaderName, HeaderValue};

    use crate::values::versions::*;

    fn asked(name: &'static str, value: &'static str) -> Option<Version> {
        let mut headers = HeaderMap::new();
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        Version::of(&headers).ok()
    }

    #[test]
    fn versions_and_their_aliases() {
        assert_eq!(asked(HEADER, "v3.0.0"), Some(Version::V3_0_0));
        assert_eq!(asked(HEADER, "v20240412"), Some(Version::V3_0_0));
        assert_eq!(asked(HEADER, "v3.1.0"), Some(Version::V3_1_0));
        assert_eq!(asked(HEADER, "v2"), Some(Version::V2_2_2));
        assert_eq!(asked("accept", "text/html, application/vnd.Svc+json;version=2"), Some(Version::V2_2_2));
        assert_eq!(asked("accept", "application/vnd.Svc+json; version=2"), Some(Version::V2_2_2));
        for unknown in ["", "3.0.0", "v3", "V3.0.0", "v3.0.0, v2", "v9"] {
            assert_eq!(asked(HEADER, unknown), None, "{unknown}");
        }
        for unknown in ["application/json", "application/vnd.Svc+json;version=3", "application/vnd.Svc+json", "*/*"] {
            assert_eq!(asked("accept", unknown), None, "{unknown}");
        }
    }
}

//! The rules for a guest's requests: permitted paths and headers, the target host, and credentials that never enter the
//! sandbox.

use percent_encoding::percent_decode_str;
use reqwest::Url;
use setup::secret::Secret;

use super::{
    GateRequest, GuestLimits, HttpRequest,
    bindings::practice_sync::ehr::http::{Header, Method, Request},
    limits,
    manifest::{IDENTITY_HEADERS, RequestedAccess},
};

/// Headers reserved for the connection and the engine.
const DENIED_HEADERS: [&str; 10] = [
    "host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade", "expect",
    "http2-settings",
];

/// Prefixes of headers by which servers and proxies take a request for another one: with another path, method, sender
/// or host.
const MISLEADING_HEADERS: [&str; 18] = [
    "proxy-", "forwarded", "via", "x-forward", "x-original-", "x-originating-", "x-rewrite-", "x-real-ip", "x-host",
    "x-http-host", "x-http-method", "x-method", "x-client-ip", "x-cluster-client-ip", "x-remote-", "true-client-ip",
    "client-ip", "cf-connecting-ip",
];

type Headers = Vec<(String, String)>;

/// The reason why the address of a location is unusable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("the base URL is not an address: {0}")]
    BaseUrl(String),
    #[error("the base URL must begin with http:// or https:// and hold no user name, query or fragment")]
    BaseUrlForm,
    #[error("the allowed path {0:?} must begin with `/`")]
    AllowedPath(String),
    #[error("the header {0:?} has a name or value that HTTP does not allow")]
    Header(String),
}

/// The address of a location's EHR, and the paths that may be requested.
pub(crate) struct OutboundAddress {
    base: Url,
    /// Header names in lower case.
    credentials: Vec<(String, Secret)>,
    allowed_paths: Vec<String>,
}

impl OutboundAddress {
    pub(crate) fn new(
        base: &str,
        headers: Vec<(String, Secret)>,
        allowed_paths: Vec<String>,
    ) -> Result<OutboundAddress, AddressError> {
        let base = Url::parse(base).map_err(|e| AddressError::BaseUrl(e.to_string()))?;
        let plain = base.username().is_empty()
            && base.password().is_none()
            && base.query().is_none()
            && base.fragment().is_none();
        if !plain || !matches!(base.scheme(), "http" | "https") || !base.has_host() {
            return Err(AddressError::BaseUrlForm);
        }
        if let Some(path) = allowed_paths.iter().find(|path| !path.starts_with('/')) {
            return Err(AddressError::AllowedPath(path.clone()));
        }
        let mut credentials = Vec::new();
        for (name, value) in headers {
            if !is_header_name(&name) || !is_header_value(value.expose()) {
                return Err(AddressError::Header(name));
            }
            credentials.push((name.to_ascii_lowercase(), value));
        }
        Ok(OutboundAddress { base, credentials, allowed_paths })
    }

    pub(crate) fn credentials(&self) -> impl Iterator<Item = Secret> {
        self.credentials.iter().map(|(_, value)| value.clone())
    }

    /// Returns the complete request, or the rule it breaks. `asks` has the path prefixes and headers of the adapter's
    /// manifest.
    pub(crate) fn request(
        &self,
        asked: Request,
        asks: &RequestedAccess<'_>,
        limits: &GuestLimits,
    ) -> Result<HttpRequest, String> {
        let (method, url, mut headers) = self.admitted(&asked, asks, limits)?;
        headers.extend(self.credentials.iter().map(|(name, value)| (name.clone(), value.expose().to_string())));
        let max_response_body = limits.response_body;
        Ok(HttpRequest { method: method.to_string(), url, headers, body: asked.body, max_response_body })
    }

    /// Like `request`, for a request through a workstation: below the base URL there, and without credentials.
    pub(crate) fn gate_request(
        &self,
        asked: Request,
        asks: &RequestedAccess<'_>,
        limits: &GuestLimits,
    ) -> Result<GateRequest, String> {
        let (method, _, headers) = self.admitted(&asked, asks, limits)?;
        let max_response_body = limits.response_body;
        let Request { path, body, .. } = asked;
        Ok(GateRequest { method: method.to_string(), path, headers, body, max_response_body, write: None })
    }

    fn admitted(
        &self,
        asked: &Request,
        asks: &RequestedAccess<'_>,
        limits: &GuestLimits,
    ) -> Result<(&'static str, Url, Headers), String> {
        let method = match asked.method {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        };
        let url = self.join(&asked.path)?;
        let path = asked.path.split('?').next().unwrap_or_default();
        if !is_under(path, &self.allowed_paths) || !is_under(path, asks.paths) {
            return Err("its path is outside what the location allows this adapter".into());
        }
        if asked.body.as_ref().is_some_and(|body| body.len() > limits.request_body) {
            return Err(format!("its body is longer than {} bytes", limits.request_body));
        }
        Ok((method, url, self.headers(&asked.headers, asks)?))
    }

    fn join(&self, path: &str) -> Result<Url, String> {
        let (before_query, _) = path.split_once('?').unwrap_or((path, ""));
        // Characters that clients and servers interpret differently, or that end a line, must be percent-encoded.
        let plain = path.bytes().all(|byte| byte.is_ascii_graphic() && !b"\\#".contains(&byte));
        if path.len() > limits::PATH_BYTES || !plain {
            return Err("its path is too long or holds characters that must be percent-encoded".into());
        }
        if !path.starts_with('/') || before_query.contains("//") || climbs(before_query) {
            return Err("its path must begin with one `/` and hold neither `//` nor `.` or `..` segments".into());
        }
        if !is_plainly_encoded(before_query) {
            return Err("its path is percent-encoded so that servers may read it in different ways".into());
        }
        let base_path = self.base.path().trim_end_matches('/');
        let joined = Url::parse(&format!("{}{base_path}{path}", self.base.origin().ascii_serialization()))
            .map_err(|_| "its path does not make an address")?;
        // Checks the parsed result again: the same host, and still below the base.
        if joined.origin() != self.base.origin() || !joined.path().starts_with(&format!("{base_path}/")) {
            return Err("its path leaves the location's base URL".into());
        }
        Ok(joined)
    }

    fn headers(&self, asked: &[Header], asks: &RequestedAccess<'_>) -> Result<Headers, String> {
        if asked.len() > limits::REQUEST_HEADERS {
            return Err(format!("it has more than {} headers", limits::REQUEST_HEADERS));
        }
        let mut headers = Vec::with_capacity(asked.len() + self.credentials.len());
        for Header { name, value } in asked {
            let lower = name.to_ascii_lowercase();
            if !is_plain_name(name) || !is_header_value(value) {
                return Err("a header's name or value is too long or holds characters that HTTP does not allow".into());
            }
            if DENIED_HEADERS.contains(&lower.as_str()) {
                return Err(format!("the header {lower} is the engine's"));
            }
            if self.credentials.iter().any(|(held, _)| *held == lower) {
                return Err(format!("the header {lower} is set by the location's configuration"));
            }
            if MISLEADING_HEADERS.iter().any(|start| lower.starts_with(start)) || lower.contains("override") {
                return Err(format!("the header {lower} could make another request of it"));
            }
            if IDENTITY_HEADERS.contains(&lower.as_str()) && !asks.headers.contains(&lower) {
                return Err(format!("the header {lower} is not among the `headers` of the adapter's manifest"));
            }
            headers.push((lower, value.clone()));
        }
        Ok(headers)
    }
}

/// Returns `true` if a prefix covers the path up to the end of a segment.
fn is_under(path: &str, prefixes: &[String]) -> bool {
    prefixes.iter().any(|prefix| {
        path.strip_prefix(prefix.as_str())
            .is_some_and(|rest| rest.is_empty() || prefix.ends_with('/') || rest.starts_with('/'))
    })
}

/// Returns prefixes that cover the paths which a prefix of each list covers.
pub fn common_paths(allowed: &[String], declared: &[String]) -> Vec<String> {
    let mut common = Vec::new();
    for (one, other) in [(allowed, declared), (declared, allowed)] {
        for path in one.iter().filter(|path| is_under(path, other)) {
            if !common.contains(path) {
                common.push(path.clone());
            }
        }
    }
    common
}

/// Returns `true` if a segment is `.` or `..` for a server that decodes before it splits. Parameters (`..;a=b`) and
/// blanks are ignored.
fn climbs(path: &str) -> bool {
    let decoded: Vec<u8> = percent_decode_str(path).collect();
    decoded.split(|byte| matches!(byte, b'/' | b'\\')).any(|segment| {
        let name = segment.split(|byte| *byte == b';').next().unwrap_or_default();
        name.contains(&b'.') && name.iter().all(|byte| matches!(byte, b'.' | b' '))
    })
}

/// Returns `false` for paths that some servers decode twice, decode despite invalid UTF-8, or cut at a NUL.
fn is_plainly_encoded(path: &str) -> bool {
    let once: Vec<u8> = percent_decode_str(path).collect();
    let Ok(text) = std::str::from_utf8(&once) else { return false };
    let escapes = path.bytes().filter(|byte| *byte == b'%').count();
    // Invalid escapes (`%u002e`) are kept as they are.
    let whole = path.len() - once.len() == escapes * 2;
    let steers = |byte: &u8| byte.is_ascii_control() || matches!(byte, b'.' | b'/' | b'\\' | b';' | b'%');
    let again = hidden(text).iter().any(steers);
    whole && !again && !text.bytes().any(|byte| byte.is_ascii_control())
}

/// Returns the bytes that a second decoding would reveal.
fn hidden(text: &str) -> Vec<u8> {
    let escape = |at: usize| text.as_bytes().get(at + 1..at + 3).and_then(|pair| hex::decode(pair).ok());
    text.match_indices('%').filter_map(|(at, _)| escape(at)).flatten().collect()
}

fn is_header_name(name: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    (1..=limits::HEADER_NAME_BYTES).contains(&name.len()) && name.bytes().all(token)
}

/// Permits letters, digits and hyphens. CGI and its successors treat `_`, and some also `.`, as `-`, and so a guest's
/// header as the location's.
fn is_plain_name(name: &str) -> bool {
    is_header_name(name) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn is_header_value(value: &str) -> bool {
    value.len() <= limits::HEADER_VALUE_BYTES
        && value.bytes().all(|byte| (b' '..=b'~').contains(&byte) || byte == b'\t')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn address(base: &str) -> OutboundAddress {
        let credentials = vec![("Authorization".to_string(), Secret::new("Bearer s3cret"))];
        OutboundAddress::new(base, credentials, vec!["/fhir/R4".into(), "/files/".into()]).unwrap()
    }

    fn get_request(path: &str) -> Request {
        Request { method: Method::Get, path: path.into(), headers: vec![], body: None }
    }

    fn header(name: &str, value: &str) -> Header {
        Header { name: name.into(), value: value.into() }
    }

    fn sent(base: &str, request: Request) -> Result<HttpRequest, String> {
        let paths = ["/".to_string()];
        address(base).request(request, &RequestedAccess { paths: &paths, headers: &[] }, &GuestLimits::default())
    }

    #[test]
    fn a_path_is_joined_below_the_base() {
        for (base, path, expected) in [
            (
                "https://ehr.example",
                "/fhir/R4/Patient?a=http://x//y",
                "https://ehr.example/fhir/R4/Patient?a=http://x//y",
            ),
            ("https://ehr.example:8443/tenant/7/", "/fhir/R4", "https://ehr.example:8443/tenant/7/fhir/R4"),
            ("http://10.0.0.4/t", "/files/a%2Fb", "http://10.0.0.4/t/files/a%2Fb"),
            (
                "http://10.0.0.4/t",
                "/files/50%25%20off;v=1.5?x=%252e",
                "http://10.0.0.4/t/files/50%25%20off;v=1.5?x=%252e",
            ),
            ("http://10.0.0.4/t", "/files/%C3%BC..b", "http://10.0.0.4/t/files/%C3%BC..b"),
        ] {
            let request = sent(base, get_request(path)).unwrap();
            assert_eq!(request.url.as_str(), expected);
            assert_eq!(request.headers, [("authorization".to_string(), "Bearer s3cret".to_string())]);
        }
    }

    #[test]
    fn common_paths_are_covered_by_both_lists() {
        let list = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
        let cases: [(&[&str], &[&str], &[&str]); 5] = [
            (&["/api/"], &["/"], &["/api/"]),
            (&["/", "/admin"], &["/api/"], &["/api/"]),
            (&["/api", "/files"], &["/api/v1", "/files/"], &["/api/v1", "/files/"]),
            (&["/api"], &["/api"], &["/api"]),
            (&["/api"], &["/apis", "/b"], &[]),
        ];
        for (allowed, declared, common) in cases {
            assert_eq!(common_paths(&list(allowed), &list(declared)), list(common), "{allowed:?} {declared:?}");
        }
    }

    #[test]
    fn no_path_escapes_the_base_or_the_allow_list() {
        for path in [
            "",
            "fhir/R4",
            "//evil.example/fhir/R4",
            "/fhir/R4//x",
            "https://evil.example/",
            "/fhir/R4/../admin",
            "/fhir/R4/./x",
            "/fhir/R4/%2e%2E/admin",
            "/fhir/R4/%2e./admin",
            "/files/..%2f..%2fadmin",
            "/files/..%5cadmin",
            "/files/..\\admin",
            "/files/..;/admin",
            "/files/..;a=b/admin",
            "/files/.%2e;/admin",
            "/files/%2e%2e%3b/admin",
            "/files/..%20/admin",
            "/files/%252e%252e/admin",
            "/files/.%252e/admin",
            "/files/..%252fadmin",
            "/files/a%255cadmin",
            "/files/%25252e%25252e/admin",
            "/files/%c0%ae%c0%ae/admin",
            "/files/%ff",
            "/files/%u002e%u002e/admin",
            "/files/a%00.json",
            "/files/a%0d%0ab",
            "/files/50%",
            "/files/\\evil",
            "/files/a b",
            "/files/a\r\nHost: evil",
            "/files/ü",
            "/files/a#b",
            "/@evil.example/",
            "/admin",
            "/fhir/R4evil",
            "/filesystem",
            "?x=1",
            "/",
        ] {
            assert!(sent("https://ehr.example/base", get_request(path)).is_err(), "{path:?} was let through");
        }
        assert!(
            sent("https://ehr.example", get_request(&format!("/files/{}", "x".repeat(limits::PATH_BYTES)))).is_err()
        );
        let narrowed = {
            let asks = RequestedAccess { paths: &["/fhir".to_string()], headers: &[] };
            address("https://e.example").request(get_request("/files/a"), &asks, &GuestLimits::default())
        };
        assert!(narrowed.unwrap_err().contains("outside"));
    }

    #[test]
    fn headers_and_bodies_are_bounded() {
        let with = |name: &str, value: &str| Request { headers: vec![header(name, value)], ..get_request("/files/a") };
        let denied = |request: Request| sent("https://ehr.example", request).unwrap_err();
        assert!(denied(with("Host", "evil")).contains("engine's"));
        assert!(denied(with("Transfer-Encoding", "chunked")).contains("engine's"));
        assert!(denied(with("AUTHORIZATION", "Bearer mine")).contains("configuration"));
        assert!(denied(with("x-a", "1\r\nx-b: 2")).contains("header"));
        assert!(denied(with("x a", "1")).contains("header"));
        assert!(denied(with("x-a", &"v".repeat(limits::HEADER_VALUE_BYTES + 1))).contains("header"));
        assert!(denied(Request { headers: vec![header("a", "b"); 65], ..get_request("/files/a") }).contains("64"));
        for name in ["x_acme_token", "x.acme.token", "X-Acme~Token"] {
            assert!(denied(with(name, "mine")).contains("header"), "{name}");
        }
        for name in [
            "X-Original-URL", "X-Rewrite-URL", "X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method",
            "X-Forwarded-Host", "X-Forwarded-For", "Forwarded", "X-Real-IP", "X-Host", "Via", "True-Client-IP",
            "X-Some-Override", "Proxy-Authorization", "Proxy-Connection",
        ] {
            assert!(denied(with(name, "x")).contains("another request"), "{name}");
        }
        let body = Some(vec![0; GuestLimits::default().request_body + 1]);
        assert!(denied(Request { body, ..get_request("/files/a") }).contains("body"));
        assert_eq!(sent("https://ehr.example", with("X-Trace", "1")).unwrap().headers[0].0, "x-trace");
    }

    #[test]
    fn identity_headers_are_sent_only_if_the_manifest_lists_them() {
        let plain = OutboundAddress::new("https://ehr.example", vec![], vec!["/".into()]).unwrap();
        let (paths, listed) = (["/".to_string()], ["cookie".to_string()]);
        for (name, headers, sent) in
            [("Cookie", &[][..], false), ("Authorization", &listed, false), ("Cookie", &listed, true)]
        {
            let request = Request { headers: vec![header(name, "mine")], ..get_request("/a") };
            let ended = plain.request(request, &RequestedAccess { paths: &paths, headers }, &GuestLimits::default());
            assert_eq!(ended.is_ok(), sent, "{name} {headers:?}");
            assert!(ended.err().is_none_or(|why| why.contains("`headers` of the adapter's manifest")));
        }
    }

    #[test]
    fn an_invalid_address_is_rejected_with_its_reason() {
        let refused = |base: &str| OutboundAddress::new(base, vec![], vec!["/".into()]).err().unwrap();
        assert!(matches!(refused("ehr"), AddressError::BaseUrl(_)));
        for base in
            ["ftp://e.example", "https://u:p@e.example", "https://e.example/?a", "https://e.example/#a", "data:x"]
        {
            assert_eq!(refused(base), AddressError::BaseUrlForm, "{base}");
        }
        let allowed = OutboundAddress::new("https://e.example", vec![], vec!["fhir".into()]).err();
        assert_eq!(allowed, Some(AddressError::AllowedPath("fhir".into())));
        let header = OutboundAddress::new("https://e.example", vec![("a b".into(), Secret::new("x"))], vec![]).err();
        assert_eq!(header, Some(AddressError::Header("a b".into())));
    }
}

//! The tables `[http]`, `[operators]`, `[compatibility]` and `[rate_limits]`.

use actix_web::http::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST, HeaderName, IF_NONE_MATCH,
    TRANSFER_ENCODING, USER_AGENT,
};
use endpoints::routes::table;
use framework::{
    http::{
        compatibility::Compatibility,
        context::REQUEST_ID,
        rules::{HttpRules, TlsFiles},
        version_header::VERSION,
    },
    values::versions::Version,
};
use location::keys::{ConfigKey, KeyReader, KeyTable};

use crate::{
    kinds::{integer, parsed},
    reader::{Located, Section},
};

/// Headers with a fixed meaning, which cannot name the version.
const TAKEN: [HeaderName; 13] = [
    ACCEPT,
    AUTHORIZATION,
    CONNECTION,
    CONTENT_LENGTH,
    CONTENT_TYPE,
    COOKIE,
    HOST,
    IF_NONE_MATCH,
    TRANSFER_ENCODING,
    USER_AGENT,
    REQUEST_ID,
    VERSION,
    HeaderName::from_static("idempotency-key"),
];

pub(crate) fn read(root: &Section<'_, '_>) -> HttpRules {
    let mut http = HttpRules::default();
    edge(&root.table_or_empty(ConfigKey::reload("http", "The edge of the server.")), &mut http);
    let about = "Where operators call: `/metrics` and their calls are served there and nowhere else, and API keys \
                 open nothing there. Keep it on loopback or in the operators' network.";
    operators(&root.table_or_empty(ConfigKey::reload("operators", about)), &mut http);
    let about = "What is accepted so that clients that were written for another system need not change. A deviation \
                 is accepted for all clients, so it hides the mistakes of the others.";
    compatibility(&root.table_or_empty(ConfigKey::reload("compatibility", about)), &mut http.compatibility);
    let about = "Each limit is a bucket of that many calls that refills all the time: in the first minute nearly \
                 twice as many pass.";
    rate_limits(&root.table_or_empty(ConfigKey::reload("rate_limits", about)), &mut http);
    http
}

fn edge(s: &Section<'_, '_>, http: &mut HttpRules) {
    http.tls = tls(s);
    http.read_keys(s);
    if http.max_workstations >= http.max_connections {
        s.report_key("max_workstations", "`max_workstations` must leave some of `max_connections` to API clients");
    }
}

/// Reads the files of a certificate. Their contents are checked when they are loaded.
fn tls(s: &Section<'_, '_>) -> Option<TlsFiles> {
    let (mut certificate, mut key) = (None, None);
    let about = "The listener's certificate and those between it and its authority, PEM: it then speaks TLS.";
    s.path(ConfigKey::restart("tls_certificate", about), &mut certificate);
    s.path(ConfigKey::restart("tls_key", "The certificate's private key, PEM."), &mut key);
    if certificate.is_some() && key.is_none() {
        s.report_key("tls_certificate", "`tls_certificate` needs `tls_key`, the file with its private key");
    }
    if certificate.is_none() && key.is_some() {
        s.report_key("tls_key", "`tls_key` needs `tls_certificate`, the file with the certificate of this key");
    }
    Some(TlsFiles { certificate: certificate?, key: key? })
}

fn operators(s: &Section<'_, '_>, http: &mut HttpRules) {
    http.operators.tls = tls(s);
    http.operators.read_keys(s);
    if http.operators.listen == http.listen && http.listen.port() != 0 {
        s.report_key("listen", "`listen` of [operators] must be another address than that of [http]");
    }
}

fn compatibility(s: &Section<'_, '_>, rules: &mut Compatibility) {
    let about = "Further headers that name the version; those named first count first, `Svc-Api-Version` before all. \
                 Off: a version in a header that nobody reads should be noticed.";
    s.texts(ConfigKey::reload("version_headers", about), &mut rules.version_headers, header);
    rules.read_keys(s);
    if let Some(values) = s.table(ConfigKey::reload("version_values", "Further names of versions.")) {
        let kind = parsed(Version::parse).described("`v2.2.2`, `v3.0.0`, `v3.1.0`", "\"v3.0.0\"");
        for (name, version) in values.entries(ConfigKey::reload("NAME", "Such as `stable = \"v3.0.0\"`."), &kind) {
            match version {
                _ if Version::named(&name.value).is_some() => {
                    values.document.report(name.at, format!("`{}` is the name of a version already", name.value));
                }
                version => rules.version_values.extend(version.map(|version| (name.value, version))),
            }
        }
    }
    let about = "First products of a User-Agent that are refused; by default those of common libraries.";
    if let Some(agents) = s.strings(ConfigKey::reload("refused_user_agents", about)) {
        // A trailing slash has always marked the end of the name.
        let product = |agent: Located<String>| agent.value.trim_end_matches('/').to_owned();
        rules.refused_user_agents = Some(agents.into_iter().map(product).collect());
    }
    let mut user_agent_rule = true;
    s.flag(ConfigKey::reload("user_agent_rule", "Whether clients must name their application."), &mut user_agent_rule);
    if !user_agent_rule {
        rules.refused_user_agents = None;
    }
}

fn header(text: &str) -> Result<HeaderName, String> {
    let name: HeaderName =
        text.parse().map_err(|_| "must be the name of a header, such as \"Api-Version\"".to_owned())?;
    if TAKEN.contains(&name) { Err(format!("must not be `{text}`: this header is reserved")) } else { Ok(name) }
}

fn rate_limits(s: &Section<'_, '_>, http: &mut HttpRules) {
    http.rate_limits.read_keys(s);
    let Some(s) = s.table(ConfigKey::reload("endpoints", "Stricter limits for single endpoints.")) else { return };
    let about = "Calls per second to this endpoint per API key. By default 10 of `GET /appointments`, \
                 `GET /available_slots`, `GET /appointment_slots` and `POST /intent/booking/search`.";
    let kind = integer::<u32>(0..=1_000_000).described("0 to 1,000,000", "10");
    for (endpoint, limit) in s.entries(ConfigKey::reload("\"GET /appointments\"", about), &kind) {
        if !table::endpoints().any(|known| known == endpoint.value) {
            let problem =
                format!("unknown endpoint `{}`; endpoints are written as in \"GET /appointments\"", endpoint.value);
            s.document.report(endpoint.at, problem);
        }
        if let Some(limit) = limit {
            s.derived(ConfigKey::reload(&endpoint.value, ""), limit);
            http.rate_limits.endpoints.insert(endpoint.value, limit);
        }
    }
}

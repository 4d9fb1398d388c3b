//! The table `[compatibility]`.

use actix_web::http::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST, HeaderName, IF_NONE_MATCH,
    TRANSFER_ENCODING, USER_AGENT,
};

use super::reader::{Located, Section};
use crate::{
    http::{compatibility::Compatibility, context::REQUEST_ID, version_header::VERSION},
    values::versions::Version,
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

pub(super) fn read(s: &Section<'_, '_>, rules: &mut Compatibility) {
    rules.version_headers = s
        .about(
            "Further headers that name the version; those named first count first, `Svc-Api-Version` before \
             all. Off: a version in a header that nobody reads should be noticed.",
        )
        .texts_as("version_headers", header)
        .unwrap_or_default();
    if let Some(values) = s.about("Further names of versions.").table("version_values") {
        values.about("Such as `stable = \"v3.0.0\"`.").note_any("NAME", "`v2.2.2`, `v3.0.0`, `v3.1.0`", "\"v3.0.0\"");
        for name in values.keys() {
            let known = Version::named(&name.value);
            if known.is_some() {
                values.problems.add(name.at, format!("`{}` is the name of a version already", name.value));
            }
            let means = values.parsed(&name.value, version);
            rules.version_values.extend(means.filter(|_| known.is_none()).map(|means| (name.value, means.value)));
        }
    }
    rules.default_version = s
        .about(
            "The version of calls that name none; unset, they are refused. Off: a client without a version \
             would change its behaviour with this line.",
        )
        .parsed("default_version", version)
        .map(|placed| placed.value);
    s.about(
        "An API key is accepted where a bearer token is due, with `Bearer` or without. Off: a key does \
         not expire, and is sent with every call.",
    )
    .flag("raw_keys", &mut rules.raw_keys);
    if let Some(agents) = s
        .about("First products of a User-Agent that are refused; by default those of common libraries.")
        .texts("refused_user_agents")
    {
        // A trailing slash has always marked the end of the name.
        let product = |agent: Located<String>| agent.value.trim_end_matches('/').to_owned();
        rules.refused_user_agents = Some(agents.into_iter().map(product).collect());
    }
    let mut user_agent_rule = true;
    s.about("Whether clients must name their application.").flag("user_agent_rule", &mut user_agent_rule);
    if !user_agent_rule {
        rules.refused_user_agents = None;
    }
}

fn header(text: &str) -> Result<HeaderName, String> {
    let name: HeaderName =
        text.parse().map_err(|_| "must be the name of a header, such as \"Api-Version\"".to_owned())?;
    if TAKEN.contains(&name) { Err(format!("must not be `{text}`: this header is reserved")) } else { Ok(name) }
}

fn version(text: &str) -> Result<Version, String> {
    Version::named(text).ok_or_else(|| "must be \"v2.2.2\", \"v3.0.0\" or \"v3.1.0\"".to_owned())
}

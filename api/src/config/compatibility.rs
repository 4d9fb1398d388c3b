//! The table `[compatibility]`.

use actix_web::http::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST, HeaderName, IF_NONE_MATCH,
    TRANSFER_ENCODING, USER_AGENT,
};

use super::reader::{Placed, Section};
use crate::{
    http::{compatibility::Compatibility, context::REQUEST_ID, version_header::VERSION},
    values::versions::Version,
};

/// Headers whose meaning is another one.
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
    rules.version_headers = s.texts_as("version_headers", header).unwrap_or_default();
    if let Some(values) = s.table("version_values") {
        for name in values.keys() {
            let known = Version::named(&name.value);
            if known.is_some() {
                values.problems.add(name.at, format!("`{}` is the name of a version already", name.value));
            }
            let means = values.parsed(&name.value, version);
            rules.version_values.extend(means.filter(|_| known.is_none()).map(|means| (name.value, means.value)));
        }
    }
    rules.default_version = s.parsed("default_version", version).map(|placed| placed.value);
    s.flag("raw_keys", &mut rules.raw_keys);
    if let Some(agents) = s.texts("refused_user_agents") {
        // A slash at the end has always marked the end of the name.
        let product = |agent: Placed<String>| agent.value.trim_end_matches('/').to_owned();
        rules.refused_user_agents = Some(agents.into_iter().map(product).collect());
    }
    let mut user_agent_rule = true;
    s.flag("user_agent_rule", &mut user_agent_rule);
    if !user_agent_rule {
        rules.refused_user_agents = None;
    }
}

fn header(text: &str) -> Result<HeaderName, String> {
    let name: HeaderName =
        text.parse().map_err(|_| "must be the name of a header, such as \"Api-Version\"".to_owned())?;
    if TAKEN.contains(&name) {
        Err(format!("must not be `{text}`: this header has a meaning already"))
    } else {
        Ok(name)
    }
}

fn version(text: &str) -> Result<Version, String> {
    Version::named(text).ok_or_else(|| "must be \"v2.2.2\", \"v3.0.0\" or \"v3.1.0\"".to_owned())
}

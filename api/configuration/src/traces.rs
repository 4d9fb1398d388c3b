//! The table `[traces]`: the export of request spans.

use location::keys::ConfigKey;

use crate::{
    kinds::{number, parsed},
    reader::Section,
    tracing_export::TraceRules,
};

/// The path of an OTLP receiver.
const PATH: &str = "/v1/traces";

pub(crate) fn read(root: &Section<'_, '_>, node: Option<String>) -> Option<TraceRules> {
    let about = "Traces of requests, sent by OTLP (protobuf over HTTP). Without this table none are made.";
    let s = root.table(ConfigKey::restart("traces", about))?;
    let about = "The collector, such as `http://127.0.0.1:4318`; `/v1/traces` is added where it does not end so.";
    let endpoint = s.required(ConfigKey::restart("endpoint", about), &parsed(endpoint));
    let about = "The part of requests that is traced, chosen by request id. By default all.";
    let ratio = s.read(ConfigKey::restart("ratio", about), &number(0.0..=1.0)).unwrap_or(1.0);
    Some(TraceRules { endpoint: endpoint?, ratio, node })
}

fn endpoint(text: &str) -> Result<String, String> {
    let url = reqwest::Url::parse(text).ok().filter(|url| {
        ["http", "https"].contains(&url.scheme()) && url.has_host() && url.query().is_none() && url.fragment().is_none()
    });
    let url = url.ok_or("must be where a collector takes OTLP over HTTP, such as \"http://127.0.0.1:4318\"")?;
    let url = url.as_str().trim_end_matches('/');
    Ok(if url.ends_with(PATH) { url.to_owned() } else { format!("{url}{PATH}") })
}

//! The table `[node]`: this process as one of several that serve from the same database.

use std::{net::SocketAddr, time::Duration};

use engine::setup::{EngineRules, NodeRules, StoreEngine};
use framework::{nodes::rules::NodeListener, values::secret::Secret};
use location::{
    keys::{ConfigKey, KeyReader},
    time::{MINUTE, SECOND},
};

use crate::{
    kinds::{credential, from_environment, parsed},
    reader::Section,
};

/// Returns the node and its internal listener.
pub(crate) fn read(
    root: &Section<'_, '_>,
    rules: &EngineRules,
    token_secret: Option<&Secret>,
) -> Option<(NodeRules, NodeListener)> {
    let about = "One of several processes that serve from the same database, with `store_engine = \"postgres\"` and \
                 `token_secret`.";
    let s = root.table(ConfigKey::restart("node", about))?;
    let about = "No other node has it: a second process of a name waits until the first has ended. May be `env:NAME`.";
    let name = s.required(ConfigKey::restart("name", about), &parsed(name));
    let about = "Where the other nodes reach `listen`, as `http://host:port`. May be `env:NAME`.";
    let address = s.required(ConfigKey::restart("address", about), &parsed(address));
    let about = "The internal listener, in a network of the nodes' own. May be `env:NAME`.";
    let listen = s.required(ConfigKey::restart("listen", about), &parsed(listen));
    let about = "64 hexadecimal digits, the same on all nodes.";
    let secret = s.required(ConfigKey::restart("secret", about), &credential(|text| secret(&text)));
    let mut period = Duration::from_secs(10);
    let about = "Duration of the node's lease, counted from the start of a renewal.";
    s.std_duration(ConfigKey::restart("period", about), &mut period, 2 * SECOND..=5 * MINUTE);
    if rules.store_engine != StoreEngine::Postgres {
        s.report("[node] needs a store that several processes share: set store_engine = \"postgres\" in [engine]");
    }
    if token_secret.is_none() {
        s.report("[node] needs the same `token_secret` on all nodes, because tokens are valid at every node");
    }
    let rules = NodeRules { name: name?, address: address?, period };
    Some((rules, NodeListener { listen: listen?, secret: secret? }))
}

/// Parses a secret of 64 hexadecimal digits.
pub(crate) fn secret(text: &str) -> Result<Secret, String> {
    Secret::parse(text).ok_or("must hold 64 hexadecimal digits".into())
}

// Nodes may share one file, so their own values can come from environment variables.

fn listen(text: &str) -> Result<SocketAddr, String> {
    from_environment(text)?.parse().map_err(|_| "must be an address such as 10.0.0.5:8081".into())
}

fn name(text: &str) -> Result<String, String> {
    let text = from_environment(text)?;
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    let valid = (1..=63).contains(&text.len()) && text.bytes().all(allowed);
    if valid { Ok(text) } else { Err("must be 1 to 63 letters, digits, `-`, `_` or `.`".into()) }
}

fn address(text: &str) -> Result<String, String> {
    let url = reqwest::Url::parse(&from_environment(text)?).ok();
    let plain =
        |url: &reqwest::Url| url.scheme() == "http" && url.has_host() && url.path() == "/" && url.query().is_none();
    match url.filter(plain) {
        Some(url) => Ok(url.as_str().trim_end_matches('/').to_owned()),
        None => Err("must be where the other nodes reach `listen`, such as \"http://10.0.0.5:8081\"".into()),
    }
}

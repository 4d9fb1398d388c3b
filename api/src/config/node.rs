//! The table `[node]`: this process as one of several that serve from the same database.

use std::net::SocketAddr;

use engine::setup::{EngineRules, NodeRules, StoreEngine};
use location::time::{MINUTE, Millis, SECOND};

use super::reader::{Located, Section, from_environment};
use crate::{nodes::rules::NodeListener, values::secret::Secret};

/// Default duration of a node's lease.
const PERIOD: Millis = 10 * SECOND;

/// Returns the node and its internal listener.
pub(super) fn read(
    root: &Section<'_, '_>,
    rules: &EngineRules,
    token_secret: Option<&Secret>,
) -> Option<(NodeRules, NodeListener)> {
    let s = root
        .about(
            "One of several processes that serve from the same database, with `store_engine = \"postgres\"` \
             and `token_secret`.",
        )
        .at_start()
        .table("node")?;
    let name = s.required(
        "name",
        s.about("No other node has it: a second process of a name waits until the first has ended. May be `env:NAME`.")
            .parsed("name", name),
    );
    let address = s.required(
        "address",
        s.about("Where the other nodes reach `listen`, as `http://host:port`. May be `env:NAME`.")
            .parsed("address", address),
    );
    let listen = s.required(
        "listen",
        s.about("The internal listener, in a network of the nodes' own. May be `env:NAME`.").parsed("listen", listen),
    );
    let secret = s.required(
        "secret",
        s.about("64 hexadecimal digits, the same on all nodes.").credential("secret", |text| secret(&text)),
    );
    let mut period = PERIOD;
    s.about("Duration of the node's lease, counted from the start of a renewal.").duration(
        "period",
        2 * SECOND..=5 * MINUTE,
        &mut period,
    );
    if rules.store_engine != StoreEngine::Postgres {
        s.problems.add(
            s.at,
            "[node] needs a store that several processes share: set store_engine = \"postgres\" in [engine]",
        );
    }
    if token_secret.is_none() {
        s.problems
            .add(s.at, "[node] needs the same `token_secret` on all nodes, because tokens are valid at every node");
    }
    let period = std::time::Duration::from_millis(period.unsigned_abs());
    let (name, address): (Located<String>, Located<String>) = (name?, address?);
    let rules = NodeRules { name: name.value, address: address.value, period };
    Some((rules, NodeListener { listen: listen?.value, secret: secret?.value }))
}

/// Parses a secret of 64 hexadecimal digits.
pub(super) fn secret(text: &str) -> Result<Secret, String> {
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

//! The contents of a configuration.

use std::path::PathBuf;

use engine::setup::{NodeRules, Setup};
use framework::{
    access::{keys::ApiKey, operators::OperatorToken},
    http::rules::HttpRules,
    nodes::rules::NodeListener,
    values::secret::Secret,
};

use tracing_subscriber::EnvFilter;
use url::Url;

use crate::values::Values;

/// The default name of the key file, in the folder of the main file.
pub(crate) const KEYS_FILE: &str = "keys.toml";

location::settings! {
    /// The settings of `serve`.
    #[derive(Clone)]
    pub struct Config {
        data_dir: PathBuf = "data".into(), path() => restart, "The folder of all persistent data.";
        keys_file: PathBuf = KEYS_FILE.into(), path() => restart, "The key file, described below.";
        log: String = "info".to_owned(), text(|directives| log_filter(directives).map(|_| directives.to_owned())) =>
            reload, "Log level, or pairs of a target and its level, such as `info,processor=debug`. `RUST_LOG` wins. \
                     Lines of adapters have the target `adapter::ID`.";
        log_format: LogFormat = LogFormat::Text, word(&[("text", LogFormat::Text), ("json", LogFormat::Json)]) =>
            restart, "The log format; `json` writes one object per line.";
        watch: bool = true, flag() =>
            reload, "Applies changed files automatically. With `false`, changes are applied only on SIGHUP and \
                     `practice-sync config reload`, also those of revoked keys.";
        /// `None` if the secret is created in the data directory at the first start.
        secret: Option<Secret> = None, parsed(Secret::parse_configured).credential().optional() =>
            restart "token_secret", "64 hexadecimal digits that sign tokens, cursors and slot tokens. By default made \
                                     at the first start and kept in `data_dir/token.secret`. Processes that serve the \
                                     same clients need the same one.";
        http: HttpRules = HttpRules::default(), nested() => reload, "The edge of the server.";
        setup: Setup = Setup::default(), same_table() => reload, "The keys that the engine reads.";
        access: KeyFileContents = KeyFileContents::default();
        traces: Option<TraceRules> = None, table() =>
            restart, "Traces of requests, sent by OTLP (protobuf over HTTP). Without this table none are made.";
        audit: AuditRules = AuditRules::default(), nested() =>
            restart, "The audit trail.", |config| AuditRules { folder: config.data_dir.join("audit"), ..config.audit };
        /// The listener for other nodes; `None` if this process runs alone.
        node: Option<NodeListener> = None;
        /// The values of the files, for comparison with later ones.
        values: Values = Values::default();
    }

    /// The audit trail of this process.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct AuditRules {
        folder: PathBuf = PathBuf::new(), path().without_default() =>
            restart, "The folder of its files, which no other server uses; by default `audit` in `data_dir`.";
        keep_days: Option<u32> = None, integer(1..=36_500).optional() =>
            restart, "Retention in days. Older files are deleted, and the trail records it. Default: no deletion.";
    }

    /// The export of traces.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TraceRules {
        endpoint: String = String::new(), text(collector).required() =>
            restart, "The URL of the collector, such as `http://127.0.0.1:4318`; `/v1/traces` is added if it is \
                      missing.";
        ratio: f64 = 1.0, number(0.0..=1.0) =>
            restart, "The share of requests that are traced, selected by request id. Default: all.";
    }

    /// This process as one of several that serve from the same database.
    pub(crate) struct NodeKeys {
        rules: NodeRules = NodeRules::default(), same_table() => restart, "The keys that the engine reads.";
        listener: NodeListener = NodeListener::default(), same_table() => restart, "The keys that the server reads.";
    }
}

/// The format of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    /// One object per line.
    Json,
}

/// Parses the directives of a log.
pub fn log_filter(directives: &str) -> Result<EnvFilter, String> {
    let problem = "must be a level, or pairs such as \"info,processor=debug\"";
    EnvFilter::try_new(directives).map_err(|error| format!("{problem}: {error}"))
}

/// The path of an OTLP receiver.
const OTLP_PATH: &str = "/v1/traces";

/// Parses the address of a collector, and completes it with the path of an OTLP receiver.
fn collector(text: &str) -> Result<String, String> {
    let url = Url::parse(text).ok().filter(|url| {
        ["http", "https"].contains(&url.scheme()) && url.has_host() && url.query().is_none() && url.fragment().is_none()
    });
    let url = url.ok_or("must be where a collector takes OTLP over HTTP, such as \"http://127.0.0.1:4318\"")?;
    let url = url.as_str().trim_end_matches('/');
    Ok(if url.ends_with(OTLP_PATH) { url.to_owned() } else { format!("{url}{OTLP_PATH}") })
}

/// The API keys and operators.
#[derive(Clone, Debug, Default)]
pub struct KeyFileContents {
    pub keys: Vec<ApiKey>,
    pub operators: Vec<OperatorToken>,
}

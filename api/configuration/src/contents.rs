//! The contents of a configuration.

use std::path::PathBuf;

use engine::setup::Setup;
use framework::{
    access::{keys::ApiKey, operators::OperatorToken},
    http::rules::HttpRules,
    nodes::rules::NodeListener,
    values::secret::Secret,
};

use crate::{
    logging::{self, LogFormat},
    tracing_export::TraceRules,
    values::Values,
};

/// The default name of the key file, in the folder of the main file.
pub(crate) const KEYS_FILE: &str = "keys.toml";

location::settings! {
    /// The settings of `serve`.
    #[derive(Clone)]
    pub struct Config("") {
        data_dir: PathBuf = "data".into(), path_or_default() => restart, "The folder of all persistent data.";
        keys_file: PathBuf = KEYS_FILE.into(), path_or_default() => restart, "The key file, described below.";
        log: String = "info".to_owned(), text(logging::checked) =>
            reload, "Log level, or pairs of a target and its level, such as `info,processor=debug`. `RUST_LOG` wins. \
                     Lines of adapters have the target `adapter::ID`.";
        log_format: LogFormat = LogFormat::Text, word(&[("text", LogFormat::Text), ("json", LogFormat::Json)]) =>
            restart, "The log format; `json` writes one object per line.";
        watch: bool = true, flag() =>
            reload, "Whether a running server takes over changed files by itself. With `false` only on SIGHUP and \
                     `practice-sync config reload`, revoked keys included.";
        /// `None` if the secret is created in the data directory at the first start.
        secret: Option<Secret> = None;
        http: HttpRules = HttpRules::default();
        setup: Setup = Setup::default();
        keys: Vec<ApiKey> = Vec::new();
        operators: Vec<OperatorToken> = Vec::new();
        audit: AuditRules = AuditRules::default();
        /// `None` if traces are disabled.
        traces: Option<TraceRules> = None;
        /// The listener for other nodes; `None` if this process runs alone.
        node: Option<NodeListener> = None;
        /// The values of the files, for comparison with later ones.
        values: Values = Values::default();
    }
}

/// The audit trail of this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditRules {
    pub folder: PathBuf,
    /// Retention in days; `None` keeps all files.
    pub keep_days: Option<u32>,
}

/// The API keys and operators.
#[derive(Clone, Debug, Default)]
pub struct KeyFileContents {
    pub keys: Vec<ApiKey>,
    pub operators: Vec<OperatorToken>,
}

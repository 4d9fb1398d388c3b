//! The contents of a configuration.

use std::path::PathBuf;

use engine::setup::Setup;
use framework::{
    access::{keys::ApiKey, operators::OperatorToken},
    http::rules::HttpRules,
    nodes::rules::NodeListener,
    values::secret::Secret,
};

use crate::{logging::LogFormat, tracing_export::TraceRules, values::Values};

/// The settings of `serve`.
#[derive(Clone)]
pub struct Config {
    pub setup: Setup,
    pub http: HttpRules,
    pub keys: Vec<ApiKey>,
    pub operators: Vec<OperatorToken>,
    /// The file of keys and operators.
    pub keys_file: PathBuf,
    pub data_dir: PathBuf,
    /// `true` if a running server reloads changed files automatically.
    pub watch: bool,
    /// `None` if the secret is created in the data directory at the first start.
    pub secret: Option<Secret>,
    pub log: String,
    pub log_format: LogFormat,
    pub audit: AuditRules,
    /// `None` if traces are disabled.
    pub traces: Option<TraceRules>,
    /// The listener for other nodes; `None` if this process runs alone.
    pub node: Option<NodeListener>,
    /// The values of the files, for comparison with later ones.
    pub values: Values,
}

/// The audit trail of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
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

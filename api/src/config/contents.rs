//! What a configuration file says.

use std::path::PathBuf;

use engine::setup::Setup;

use super::values::Values;
use crate::{
    access::{keys::ApiKey, operators::OperatorToken},
    http::rules::HttpRules,
    logging::LogFormat,
    nodes::rules::NodeListener,
    traces::TraceRules,
    values::secret::Secret,
};

/// What `serve` needs to know.
#[derive(Clone)]
pub struct Config {
    pub setup: Setup,
    pub http: HttpRules,
    pub keys: Vec<ApiKey>,
    pub operators: Vec<OperatorToken>,
    /// Where keys and operators were read.
    pub keys_file: PathBuf,
    pub data_dir: PathBuf,
    /// A running server takes over changed files by itself.
    pub watch: bool,
    /// None: one is made in the data directory at the first start.
    pub secret: Option<Secret>,
    pub log: String,
    pub log_format: LogFormat,
    pub audit: AuditRules,
    /// None: no traces are made.
    pub traces: Option<TraceRules>,
    /// Where other nodes call; none where this process is alone.
    pub node: Option<NodeListener>,
    /// What the files say, to compare it with what they say later.
    pub values: Values,
}

/// The audit trail of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRules {
    pub folder: PathBuf,
    /// None: for ever.
    pub keep_days: Option<u32>,
}

/// Who may call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Access {
    pub keys: Vec<ApiKey>,
    pub operators: Vec<OperatorToken>,
}

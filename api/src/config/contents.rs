//! What a configuration file says.

use std::path::PathBuf;

use engine::setup::Setup;

use crate::{
    access::{directory::Statuses, keys::ApiKey, operators::OperatorToken},
    http::rules::HttpRules,
    logging::LogFormat,
    nodes::rules::NodeListener,
    values::secret::Secret,
};

/// What `serve` needs to know.
#[derive(Clone)]
pub struct Config {
    pub setup: Setup,
    pub http: HttpRules,
    pub keys: Vec<ApiKey>,
    pub operators: Vec<OperatorToken>,
    pub data_dir: PathBuf,
    /// None: one is made in the data directory at the first start.
    pub secret: Option<Secret>,
    pub log: String,
    pub log_format: LogFormat,
    pub audit: AuditRules,
    /// Where other nodes call; none where this process is alone.
    pub node: Option<NodeListener>,
}

/// The audit trail of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRules {
    pub folder: PathBuf,
    /// None: for ever.
    pub keep_days: Option<u32>,
}

/// What of a file takes effect while the service runs.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub keys: Vec<ApiKey>,
    pub operators: Vec<OperatorToken>,
    pub statuses: Statuses,
}

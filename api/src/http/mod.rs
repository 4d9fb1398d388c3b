//! HTTP.

pub mod body;
pub mod cors;
pub mod describe;
pub mod envelope;
pub mod errors;
pub mod metrics;
pub mod notices;
pub mod paging;
pub mod proxies;
pub mod query;
pub mod rate_limit;
pub mod rejected_callers;

//! One request and one answer, whoever asks: reading under limits, problems by name, paging, errors, counters. Knows no API key, no
//! institution and no record.
//!
//! ```text
//!  query ─┐                                       ┌─► envelope ◄── errors ◄── rejected_callers, version_header
//!  body ──┼─► paging ─► notices                   │
//!         └─► describe (what was asked for)       └── reasons and messages of every failure
//!  endpoint   what the table declares of an endpoint, without its handler
//!  context    what is learnt of a request on its way ─► metrics
//!  rules      what an operator may tune ─► rate_limit
//!  cors, proxies
//! ```

pub(crate) mod body;
pub(crate) mod context;
pub mod cors;
pub(crate) mod describe;
pub mod endpoint;
pub(crate) mod envelope;
pub mod errors;
pub(crate) mod metrics;
pub(crate) mod notices;
pub(crate) mod paging;
pub mod proxies;
pub(crate) mod query;
pub(crate) mod rate_limit;
pub(crate) mod rejected_callers;
pub mod rules;
pub(crate) mod version_header;

//! Current rules of the HTTP edge, with the counters that apply them.

use std::sync::Arc;

use crate::http::{rate_limit::RateLimits, rejected_callers::RejectedCallers, rules::HttpRules};

/// Snapshot for the duration of one call.
pub struct Edge {
    pub rules: HttpRules,
    pub rate_limits: Arc<RateLimits>,
    pub rejected_callers: Arc<RejectedCallers>,
}

impl Edge {
    pub(crate) fn new(rules: HttpRules) -> Edge {
        Edge {
            rate_limits: Arc::new(RateLimits::new(&rules.rate_limits)),
            rejected_callers: Arc::new(RejectedCallers::new(rules.refused_per_minute)),
            rules,
        }
    }

    /// Replaces the rules. Counters whose limits did not change are kept.
    pub(crate) fn with(&self, rules: HttpRules) -> Edge {
        let mut edge = Edge::new(rules);
        if edge.rules.rate_limits == self.rules.rate_limits {
            edge.rate_limits = self.rate_limits.clone();
        }
        if edge.rules.refused_per_minute == self.rules.refused_per_minute {
            edge.rejected_callers = self.rejected_callers.clone();
        }
        edge
    }
}

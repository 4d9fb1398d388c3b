//! Current rules of the HTTP edge, with the counters that apply them.

use std::sync::Arc;

use crate::http::{
    find_limits::FindLimits, rate_limit::RateLimits, rejected_callers::RejectedCallers, rules::HttpRules,
};

/// Snapshot for the duration of one call.
pub struct Edge {
    pub rules: HttpRules,
    pub rate_limits: Arc<RateLimits>,
    pub rejected_callers: Arc<RejectedCallers>,
    pub find_limits: Arc<FindLimits>,
}

impl Edge {
    pub(crate) fn new(rules: HttpRules) -> Edge {
        Edge {
            rate_limits: Arc::new(RateLimits::new(&rules.rate_limits)),
            rejected_callers: Arc::new(RejectedCallers::new(rules.refused_per_minute)),
            find_limits: Arc::new(FindLimits::new(rules.finds_per_minute, rules.finds_per_contact)),
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
        let finds = |rules: &HttpRules| (rules.finds_per_minute, rules.finds_per_contact);
        if finds(&edge.rules) == finds(&self.rules) {
            edge.find_limits = self.find_limits.clone();
        }
        edge
    }
}

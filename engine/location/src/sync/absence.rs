//! Records that a whole pass did not show. One pass proves nothing: a record that changes, appears or disappears
//! between two pages can push another one from a page that is still to come onto one that was already read. So a record
//! is deleted only if two complete passes in a row did not show it. The second pass follows after
//! [`PullRules::confirm_after`](crate::settings::PullRules::confirm_after).

use std::collections::BTreeSet;

use crate::{Location, resource::Resource, sync::page::Page};

/// Missing records of a resource that are remembered for the second pass. More of them need another pair of passes.
pub(crate) const MISSING_AT_ONCE: usize = 10_000;

impl Location {
    /// Divides absent records into those that the complete pass before this one did not show either, and the others.
    pub(super) fn confirmed(&self, resource: Resource, absent: &[u64]) -> (BTreeSet<u64>, BTreeSet<u64>) {
        let before = self.state.pulls.missing.get(&resource);
        absent.iter().partition(|id| before.is_some_and(|before| before.contains(id)))
    }

    /// Returns `true` if the last page of a whole pass contradicts it: the EHR announced more records than the pass has
    /// shown. Its absences count for nothing.
    pub(super) fn is_short(&self, resource: Resource, page: &Page) -> bool {
        let before = self.state.pulls.passes.get(&resource).map_or(0, |pass| pass.shown + pass.others);
        let shown = before + u64::from(page.distinct) + u64::from(page.others);
        page.whole && page.last && page.estimate.is_some_and(|announced| shown < announced)
    }

    /// Missing records that a page shows again.
    pub(super) fn shown_again(&self, resource: Resource, page: &Page) -> Vec<u64> {
        let Some(missing) = self.state.pulls.missing.get(&resource) else { return Vec::new() };
        page.seen.iter().copied().filter(|id| missing.contains(id)).collect()
    }
}

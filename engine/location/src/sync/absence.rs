//! Records that a whole pass did not show. One pass proves nothing: a record that changes, appears or disappears
//! between two pages can push another one from a page that is still to come onto one that was already read. So a record
//! is deleted only if two complete passes in a row did not show it. The second pass follows after
//! [`PullRules::confirm_after`](crate::settings::PullRules::confirm_after).

use std::collections::BTreeSet;

use crate::{
    Location,
    resource::Resource,
    sync::{page::Page, pulls::Pass},
};

/// Missing records of a resource that are remembered for the second pass. More of them need another pair of passes.
pub(crate) const MISSING_AT_ONCE: usize = 10_000;

impl Location {
    /// Divides absent records into those that the complete pass before this one did not show either, and the others.
    pub(super) fn confirmed(&self, resource: Resource, absent: &[u64]) -> (BTreeSet<u64>, BTreeSet<u64>) {
        let before = self.state.pulls.missing.get(&resource);
        absent.iter().partition(|id| before.is_some_and(|before| before.contains(id)))
    }

    /// Returns `true` if the last page of a whole pass contradicts it: the EHR announced more records than the pass has
    /// shown, or the total that it announces has changed while a pass was read whose absences would count. The absences
    /// of such a pass count for nothing.
    pub fn is_short(&self, resource: Resource, page: &Page) -> bool {
        let pulls = &self.state.pulls;
        let pass = pulls.passes.get(&resource);
        let written = || pulls.calling.iter().flat_map(|call| &call.written_during_pull);
        let unseen = written().filter(|id| !page.seen.contains(id)).count() as u64;
        let before = pass.map_or(0, |pass| pass.entries + pass.written.len() as u64);
        let shown = before + unseen + u64::from(page.distinct) + u64::from(page.others);
        let fewer = page.estimate.is_some_and(|announced| shown < announced);
        let by_absence = self.plan().iter().any(|plan| plan.resource == resource && plan.deletions_by_absence);
        let reached = |pass: &Pass| pass.written.len() + written().count();
        let changed = |pass: &Pass| pass.total_changed || pass.contradicts(page.estimate, reached(pass));
        page.whole && page.last && (fewer || by_absence && pass.is_some_and(changed))
    }

    /// Returns `true` if a full pass can be read soon that confirms missing records.
    pub(super) fn must_confirm(&self) -> bool {
        let pulls = &self.state.pulls;
        self.plan().iter().map(|plan| plan.resource).any(|resource| {
            pulls.missing.contains_key(&resource)
                && pulls.needs_full_pass.contains(&resource)
                && self.state.queue.inserts_on_their_way(resource).next().is_none()
        })
    }

    /// Missing records that a page shows again.
    pub(super) fn shown_again(&self, resource: Resource, page: &Page) -> Vec<u64> {
        let Some(missing) = self.state.pulls.missing.get(&resource) else { return Vec::new() };
        page.seen.iter().copied().filter(|id| missing.contains(id)).collect()
    }
}

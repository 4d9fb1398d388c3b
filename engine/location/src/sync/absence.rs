//! Detection of deleted records by absence from a whole pass. A single pass is not enough: changes between two pages
//! can move a record from an unread page to one that was read already. A record is deleted only if two consecutive
//! complete passes lack it. The second pass follows after
//! [`PullRules::confirm_after`](crate::settings::PullRules::confirm_after).

use std::collections::BTreeSet;

use crate::{
    Location, Resource,
    sync::{page::PulledPage, pulls::PullPass},
};

/// Maximum number of missing records of a resource that wait for the second pass. Further ones need another pair of
/// passes.
pub(crate) const MISSING_AT_ONCE: usize = 10_000;

impl Location {
    /// Splits absent records into those that the previous complete pass lacked too, and the others.
    pub(super) fn confirmed(&self, resource: Resource, absent: &[u64]) -> (BTreeSet<u64>, BTreeSet<u64>) {
        let before = self.state.pulls.missing.get(&resource);
        absent.iter().partition(|id| before.is_some_and(|before| before.contains(id)))
    }

    /// Returns `true` if the last page of a whole pass contradicts the pass. Either the pass contained fewer records
    /// than announced, or the announced total changed in a pass whose absences would count. The absences of such a pass
    /// are ignored.
    pub fn is_short(&self, resource: Resource, page: &PulledPage) -> bool {
        let pulls = &self.state.pulls;
        let pass = pulls.passes.get(&resource);
        // The pass counts earlier writes already.
        let counted = pass.map(|pass| &pass.written);
        let is_new = move |id: &&u64| counted.is_none_or(|counted| !counted.contains(*id));
        let written = || pulls.calling.iter().flat_map(|call| &call.written_during_pull).filter(is_new);
        let unseen = written().filter(|id| !page.seen.contains(id)).count() as u64;
        let before = pass.map_or(0, |pass| pass.entries + pass.written.len() as u64);
        let shown = before + unseen + u64::from(page.distinct) + u64::from(page.others);
        let fewer = page.estimate.is_some_and(|announced| shown < announced);
        let by_absence = self.deletes_by_absence(resource);
        let reached = |pass: &PullPass| pass.written.len() + written().count();
        let changed = |pass: &PullPass| pass.total_changed || pass.contradicts(page.estimate, reached(pass));
        page.whole && page.last && (fewer || by_absence && pass.is_some_and(changed))
    }

    /// Returns `true` if records missing from whole passes over a resource were deleted.
    pub(super) fn deletes_by_absence(&self, resource: Resource) -> bool {
        self.plan().iter().any(|plan| plan.resource == resource && plan.deletions_by_absence)
    }

    /// Returns `true` if a whole pass can be read soon to confirm missing records.
    pub(super) fn must_confirm(&self) -> bool {
        let pulls = &self.state.pulls;
        self.plan().iter().map(|plan| plan.resource).any(|resource| {
            pulls.missing.contains_key(&resource)
                && pulls.needs_full_pass.contains(&resource)
                && self.state.queue.inserts_on_their_way(resource).next().is_none()
        })
    }

    /// Returns the missing records that a page contains.
    pub(super) fn reappeared_on_page(&self, resource: Resource, page: &PulledPage) -> Vec<u64> {
        let Some(missing) = self.state.pulls.missing.get(&resource) else { return Vec::new() };
        page.seen.iter().copied().filter(|id| missing.contains(id)).collect()
    }
}

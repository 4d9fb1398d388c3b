//! The processor's record of whole passes, for tests of the state machine alone.

use std::collections::{BTreeMap, BTreeSet};

use location::{
    Location,
    command::{Command, PulledPage},
    event::Event,
    resource::Resource,
    time::Timestamp,
};

/// The ids that each pass has shown.
#[derive(Clone, Default)]
pub struct Passes(BTreeMap<(Resource, u64), BTreeSet<u64>>);

impl Passes {
    /// Fills in the fields of a page that the processor computes: records new to its pass, and known records that the
    /// pass lacks.
    pub fn complete(&self, location: &Location, now: Timestamp, command: &Command) -> Command {
        let mut command = command.clone();
        if let Command::Pulled { resource, outcome: Ok(page), .. } = &mut command
            && page.whole
        {
            let before = self.0.get(&(*resource, location.state.pulls.pass_number(*resource)));
            let shown_before = |id: &u64| before.is_some_and(|before| before.contains(id));
            let distinct: BTreeSet<&u64> = page.seen.iter().filter(|id| !shown_before(id)).collect();
            page.distinct = distinct.len() as u32;
            page.news = page.distinct > 0;
            let pulls = &location.settings.capabilities.pulls;
            let by_absence = pulls.iter().any(|plan| plan.resource == *resource && plan.deletions_by_absence);
            if page.last && by_absence && !resource.shared() {
                let shown = shows(location, page);
                let known = location.known(now, *resource);
                page.absent = known.into_iter().filter(|id| !shown.contains(id) && !shown_before(id)).collect();
            }
        }
        command
    }

    /// Stores the ids that a decision adds to a pass.
    pub fn keep(&mut self, before: &Location, command: &Command, events: &[Event]) {
        for (resource, id) in events.iter().filter_map(Event::reached) {
            if let Some(pass) = before.state.pulls.passes.get(&resource) {
                self.0.entry((resource, pass.number)).or_default().insert(id);
            }
        }
        if let Command::Pulled { resource, outcome: Ok(page), .. } = command
            && events.iter().any(|event| matches!(event, Event::PageApplied { whole: true, last: false, .. }))
        {
            let pass = (*resource, before.state.pulls.pass_number(*resource));
            self.0.entry(pass).or_default().extend(shows(before, page));
        }
    }
}

/// Returns the ids on a page, plus those written while it was read.
fn shows(location: &Location, page: &PulledPage) -> BTreeSet<u64> {
    let written = location.state.pulls.calling.iter().flat_map(|call| &call.written_during_pull);
    page.seen.iter().chain(written).copied().collect()
}

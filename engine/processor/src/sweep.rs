//! The search for records that a whole pass has missed. Each step reads a bounded number of known records.

use std::ops::Bound;

use location::{DecisionContext, Resource, command::SweepStep};
use records::document::{DocumentKind, Link};
use store::{Direction, keys};

use crate::{Processor, Reject, UnitOfWork, pass::ReadPass};

/// Records per step of a sweep. Each deleted one costs about ten keys, and a commit holds 100,000.
pub(crate) const SWEPT_AT_ONCE: usize = 1_000;

impl Processor {
    pub(crate) fn next_sweep_step(
        &self,
        cx: DecisionContext,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<Option<SweepStep>, Reject> {
        let Some(sweep) = &self.machine.state.pulls.sweep else { return Ok(None) };
        let mut pass = ReadPass::current(self, sweep.resource);
        self.sweep_step(cx, sweep.resource, &mut pass, sweep.from.as_deref(), unit).map(Some)
    }

    /// Checks the next known records against the pass. The machine knows the records of the location; shared ones have
    /// links.
    pub(crate) fn sweep_step(
        &self,
        cx: DecisionContext,
        resource: Resource,
        pass: &mut ReadPass,
        from: Option<&str>,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<SweepStep, Reject> {
        let mut step = SweepStep::default();
        if !resource.shared() {
            let after = from.and_then(|from| from.parse::<u64>().ok()).map_or(Bound::Unbounded, Bound::Excluded);
            let all = self.machine.known(cx.now, resource);
            let mut known = all.range((after, Bound::Unbounded)).copied();
            for id in known.by_ref().take(SWEPT_AT_ONCE) {
                step.known += 1;
                if !pass.has_shown(unit, id)? {
                    step.absent.push(id);
                }
                step.next = Some(id.to_string());
            }
            step.next = step.next.filter(|_| known.next().is_some());
            return Ok(step);
        }
        let Some(source) = self.source() else { return Ok(step) };
        let kind = DocumentKind::Of(resource).byte();
        let mut range = keys::links(source, kind);
        if let Some(from) = from {
            range = range.after(&keys::link(source, kind, from.as_bytes()));
        }
        let links = self.deps.store.scan(range, Direction::Forward, SWEPT_AT_ONCE)?;
        for (_, value) in &links {
            let Some(link) = pulled(value) else { continue };
            step.known += 1;
            if !pass.has_shown(unit, link.id)? {
                step.absent.push(link.id);
            }
        }
        let last = links.last().filter(|_| links.len() == SWEPT_AT_ONCE).and_then(|(key, _)| keys::parse_link(key));
        step.next = last.map(|(_, _, foreign_id)| String::from_utf8_lossy(foreign_id).into_owned());
        Ok(step)
    }
}

/// Decodes the link of a record that the EHR has shown and not deleted.
pub(crate) fn pulled(value: &[u8]) -> Option<Link> {
    Link::from_bytes(value).filter(|link| link.pulled())
}

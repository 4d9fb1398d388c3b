//! A page of the EHR's records taken in: decided by the machine, stored only if it applies. `intake` turns each record into ours.

mod intake;
mod record;

use std::collections::BTreeSet;

use location::{
    command::{Command, Cx, Failure, Outcome, Page},
    decision::{Decision, Reply},
    event::Event,
    ids::{AppointmentId, WriteId},
    pull::Resource,
};
use records::{
    self,
    document::{Kind, Link},
    ehr,
    record::Record,
};
use store::{Direction, keys};

use self::intake::Intake;
use crate::{
    error::Reject,
    ingest::record::{Unread, put_appointment},
    pass::Pass,
    processor::Processor,
    request::Request,
    sweep::{SWEPT_AT_ONCE, pulled},
    unit_of_work::UnitOfWork,
};

/// A pull call came back, in the EHR's words.
pub struct IngestPage {
    pub resource: Resource,
    pub call: u64,
    pub outcome: Outcome<Box<ehr::Page>>,
}

impl Request for IngestPage {
    type Reply = ();

    fn reads(&self) -> bool {
        true
    }

    fn records(&self) -> usize {
        self.outcome.as_ref().map_or(0, |page| page.records.len() + page.deleted.len().max(SWEPT_AT_ONCE))
    }

    fn prepare(&self, at: &Processor, cx: Cx, unit: &mut UnitOfWork<'_>) -> Result<(Decision, ()), Reject> {
        self.ingest(at, cx, unit, None)
    }

    fn prepare_part(
        &self,
        at: &Processor,
        cx: Cx,
        unit: &mut UnitOfWork<'_>,
        most: usize,
    ) -> Result<(Decision, ()), Reject> {
        self.ingest(at, cx, unit, Some(most))
    }
}

impl IngestPage {
    /// `part`: no more than so many of its records; if they all fit, no more deletions than what remains.
    fn ingest(
        &self,
        at: &Processor,
        cx: Cx,
        unit: &mut UnitOfWork<'_>,
        part: Option<usize>,
    ) -> Result<(Decision, ()), Reject> {
        let source = at.source().ok_or(Reject::Damaged("a page for a location without EHR"))?;
        let (mut appointments, mut tombstones) = (Vec::new(), Vec::new());
        let outcome = match &self.outcome {
            Err(failure) => Err(failure.clone()),
            Ok(page) => {
                let mut intake = Intake {
                    processor: at,
                    source,
                    cx,
                    unit: &mut *unit,
                    page: Page::default(),
                    tombstones: Vec::new(),
                    appointments: Vec::new(),
                };
                match intake.take(self.resource, page, part) {
                    Ok(()) => {
                        (appointments, tombstones) = (intake.appointments, intake.tombstones);
                        Ok(intake.page)
                    }
                    Err(Unread::Invalid(reason)) => Err(Failure::RetryLater { reason, after: None }),
                    Err(Unread::Rejected(reject)) => return Err(reject),
                }
            }
        };
        let decision = at.machine.decide(cx, &Command::Pulled { resource: self.resource, call: self.call, outcome });
        match &decision.reply {
            Reply::PageApplied { keep } => {
                for (mut record, before) in appointments {
                    let id = AppointmentId(record.id);
                    let ours = at.machine.state.appointments.get(&id).filter(|_| keep.contains(&id));
                    if let Some(ours) = ours {
                        record.placement = ours.placement;
                        record.cancelled = ours.cancelling;
                        record.cancelled_at = before.as_ref().and_then(|before| before.cancelled_at);
                    }
                    put_appointment(record, before.as_ref(), unit)?;
                }
            }
            // Nothing of a page that came too late, that the guard stopped, or that is asked for again may be stored.
            _ => unit.discard(),
        }
        at.bury(self.resource, &decision, &tombstones, unit);
        Ok((decision, ()))
    }
}

impl Processor {
    /// What the page says is deleted is so from now on: said again it is no news, and should it come back, it is. Of a page that is asked
    /// for again that goes for what was taken in of it.
    fn bury(&self, resource: Resource, decision: &Decision, tombstones: &[(String, u64)], unit: &mut UnitOfWork<'_>) {
        let Some(source) = self.source() else { return };
        let applied = matches!(decision.reply, Reply::PageApplied { .. });
        let gone: BTreeSet<u64> = decision.events.iter().filter_map(Event::gone).collect();
        for (foreign_id, id) in tombstones.iter().filter(|(_, id)| applied || gone.contains(id)) {
            unit.put_link(source, resource, foreign_id, Link::gone(*id));
        }
    }

    /// The appointment a write key of ours was made for.
    pub fn written_by(&self, key: &str, unit: &mut UnitOfWork<'_>) -> Result<Option<AppointmentId>, Reject> {
        let mut parts = key.strip_prefix("ps-").unwrap_or_default().split('-');
        let (location, write) = (parts.next(), parts.next());
        let (Some(Ok(location)), Some(Ok(write))) = (location.map(str::parse::<u32>), write.map(str::parse::<u64>))
        else {
            return Ok(None);
        };
        if location != self.setup.id.0 {
            return Ok(None);
        }
        if let Some(queued) = self.machine.state.queue.get(WriteId(write)) {
            return Ok(queued.work.appointment().filter(|_| queued.key == key));
        }
        let finished = unit.get::<records::Write>(location, write)?;
        Ok(finished.filter(|write| write.key == key).and_then(|write| write.work.appointment()))
    }
}

impl Intake<'_, '_, '_> {
    fn take(&mut self, resource: Resource, page: &ehr::Page, part: Option<usize>) -> Result<(), Unread> {
        let part = part.map(|most| most.checked_sub(page.records.len()).ok_or(most));
        let records = part.and_then(Result::err).unwrap_or(usize::MAX);
        for (position, record) in page.records.iter().take(records).enumerate() {
            if record.resource() != resource {
                return Err(Unread::Invalid(format!("record {position} of the page is not one of {resource:?}")));
            }
            self.record(record).map_err(|unread| match unread {
                Unread::Invalid(reason) => Unread::Invalid(format!("record {position} of the page: {reason}")),
                rejected @ Unread::Rejected(_) => rejected,
            })?;
        }
        match part {
            // What is gone is seen when it comes to all of it.
            Some(Err(_)) => {
                (self.page.part, self.page.whole) = (true, page.whole);
                return Ok(());
            }
            Some(Ok(deletions)) => self.page.deletions_at_once = Some(deletions),
            None => {}
        }
        for foreign_id in &page.deleted {
            if let Some(link) = self.unit.link(self.source, resource, foreign_id)? {
                if self.is_deleted(resource, link)? {
                    self.tombstones.push((foreign_id.clone(), link.id));
                }
            } else if matches!(resource, Resource::Appointments | Resource::WorkingHours) {
                self.page.unmatched += 1;
                if self.processor.machine.state.queue.creates(resource) {
                    // It may be what a write made whose answer comes later: then the answer finds that it is gone.
                    self.unit.id_of(self.source, resource, foreign_id)?;
                }
            }
        }
        self.page.cursor.clone_from(&page.cursor);
        self.page.last = page.last;
        self.page.whole = page.whole;
        // One that comes twice counts once, as it came last.
        let shown: BTreeSet<u64> = self.page.seen.iter().copied().collect();
        self.page.records = u32::try_from(shown.len()).unwrap_or(u32::MAX);
        self.page.distinct = self.page.records;
        self.page.others = u32::try_from(page.deleted.len()).unwrap_or(u32::MAX);
        self.skipped(resource, page)?;
        self.page.estimate = page.estimate;
        let by_absence = |plan: &location::settings::PullPlan| plan.resource == resource && plan.deletions_by_absence;
        let settings = self.processor.settings();
        let by_absence = settings.capabilities.pulls.iter().any(by_absence);
        let before = self.processor.machine.state.pulls.deleted.get(&resource).copied().unwrap_or_default();
        let many_deleted = before + self.page.deleted.len() as u64 >= u64::from(settings.pull.guard_at_least);
        if page.whole {
            self.of_pass(resource, page.last, by_absence)?;
        }
        if resource.shared() && many_deleted && self.page.known == 0 {
            self.known(resource)?;
        }
        Ok(())
    }

    /// Records that are there and cannot be read: what is known of them stays, and absence is not said of them.
    fn skipped(&mut self, resource: Resource, page: &ehr::Page) -> Result<(), Reject> {
        for skipped in &page.skipped {
            match self.unit.link(self.source, resource, &skipped.id)?.filter(|link| !link.is_gone()) {
                Some(link) => self.page.seen.push(link.id),
                None => self.page.others = self.page.others.saturating_add(1),
            }
        }
        self.page.skipped.clone_from(&page.skipped);
        if let Some(before) = self.processor.machine.state.pulls.skipped.get(&resource) {
            let shown = page.records.iter().map(|record| record.id()).chain(page.deleted.iter().map(String::as_str));
            let shown = shown.filter(|id| before.contains_key(*id));
            self.page.read_again = shown.map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect();
        }
        Ok(())
    }

    /// The EHR says that a record is deleted. Whether that is so of it, and new: an appointment that staff moved is deleted only where it
    /// was, and said to be gone there though it went from the other location too meanwhile.
    fn is_deleted(&mut self, resource: Resource, link: Link) -> Result<bool, Reject> {
        if resource != Resource::Appointments {
            self.page.deleted.extend((!link.is_gone()).then_some(link.id));
            return Ok(!link.is_gone());
        }
        let before = self.unit.get::<Record<records::Appointment>>(0, link.id)?;
        let here = before.as_ref().is_none_or(|before| before.location() == self.processor.setup.id.0);
        if here && link.is_gone() {
            return Ok(false);
        }
        if self.processor.machine.state.appointments.contains_key(&AppointmentId(link.id)) {
            self.page.deleted.push(link.id);
        } else if here && before.is_some_and(|before| !before.cancelled) {
            // So long past that the machine forgot it: only its document can say that it is gone.
            self.page.past_deleted.push(link.id);
        }
        Ok(here)
    }

    /// What a page of a whole pass shows besides its records: what its pass has not shown before, and at the end what the pass missed.
    fn of_pass(&mut self, resource: Resource, last: bool, by_absence: bool) -> Result<(), Reject> {
        let mut pass = Pass::of(self.processor, resource);
        let calling = self.processor.machine.state.pulls.calling.as_ref();
        let written = calling.into_iter().flat_map(|call| &call.written_during_pull);
        self.page.distinct = 0;
        for id in &self.page.seen {
            self.page.distinct += u32::from(pass.shows(self.unit, *id)?);
        }
        self.page.news = self.page.distinct > 0;
        for id in written {
            pass.shows(self.unit, *id)?;
        }
        let shown_before = self.page.deleted.clone().into_iter().map(|id| pass.has_shown(self.unit, id));
        let shown_before =
            shown_before.collect::<Result<Vec<bool>, Reject>>()?.into_iter().filter(|shown| *shown).count();
        self.page.others = self.page.others.saturating_sub(shown_before as u32);
        if last && by_absence && !self.processor.machine.is_short(resource, &self.page) {
            let step = self.processor.sweep_step(self.cx, resource, &mut pass, (None, SWEPT_AT_ONCE), self.unit)?;
            (self.page.known, self.page.absent, self.page.sweep_on) = (step.known, step.absent, step.next);
        }
        if self.page.sweep_on.is_some() {
            // The sweep comes to the deleted records too.
            self.tombstones.retain(|(_, id)| self.page.past_deleted.contains(id));
        }
        if !last || self.page.sweep_on.is_some() {
            pass.keep(self.unit)?;
        }
        Ok(())
    }

    /// Counts the records known of a shared resource, as far as the guard needs it.
    fn known(&mut self, resource: Resource) -> Result<(), Reject> {
        let enough = self.processor.machine.known_enough(resource, self.page.deleted.len() as u64);
        let mut range = keys::links(self.source, Kind::Of(resource).byte());
        while self.page.known < enough {
            let links = self.processor.deps.store.scan(range.clone(), Direction::Forward, SWEPT_AT_ONCE)?;
            self.page.known += links.iter().filter(|(_, value)| pulled(value).is_some()).count() as u64;
            match links.last().filter(|_| links.len() == SWEPT_AT_ONCE) {
                Some((last, _)) => range = range.after(last),
                None => return Ok(()),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

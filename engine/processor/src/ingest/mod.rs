//! Ingests a page of the EHR's records. The machine decides, and the page is stored only if it applies. `page_ingest`
//! converts each record.

mod page_ingest;
mod record;
mod replaced;

use std::collections::{BTreeMap, BTreeSet};

use location::{
    AppointmentId, Command, Decision, DecisionContext, Event, Reply, Resource, WriteId, WriteIntent,
    command::{Failure, Outcome, PulledPage},
    replacement::Replaced,
};
use records::{
    self, Record,
    document::{DocumentKind, Link},
    ehr,
};
use store::{Direction, keys};

use self::page_ingest::PageIngest;
use crate::{
    Prepared, Processor, Reject, Request, UnitOfWork,
    ingest::record::{IngestError, put_appointment},
    pass::ReadPass,
    projections::cancellation::cancellation_pending,
    sweep::{SWEPT_AT_ONCE, pulled},
};

/// The answer to a pull call, as the EHR sent it.
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

    /// An empty page of changes needs no blocking thread. At the end of a whole pass, missing records are searched for.
    fn is_long(&self) -> bool {
        let entries = |page: &ehr::Page| page.records.len() + page.deleted.len() + page.skipped.len();
        self.outcome.as_ref().is_ok_and(|page| page.whole || entries(page) > 0)
    }

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<()> {
        let source = at.source().ok_or(Reject::Damaged("a page for a location without EHR"))?;
        let mut page_ingest = PageIngest {
            processor: at,
            source,
            cx,
            unit: &mut *unit,
            page: PulledPage::default(),
            tombstones: Vec::new(),
            appointments: Vec::new(),
            replacements: BTreeMap::new(),
            others: 0,
        };
        let taken = match &self.outcome {
            Err(failure) => Err(failure.clone()),
            Ok(page) => match page_ingest.take(self.resource, page) {
                Ok(()) => Ok(()),
                Err(IngestError::Invalid(reason)) => Err(Failure::RetryLater { reason, after: None }),
                Err(IngestError::Rejected(reject)) => return Err(reject),
            },
        };
        let PageIngest { page, appointments, tombstones, replacements, .. } = page_ingest;
        let outcome = taken.map(|()| page);
        let decision = at.machine.decide(cx, &Command::Pulled { resource: self.resource, call: self.call, outcome });
        match &decision.reply {
            Reply::PageApplied { keep } => {
                for (mut record, before) in appointments {
                    let id = AppointmentId(record.id);
                    let local = at.machine.state.appointments.get(&id).filter(|_| keep.contains(&id));
                    if let Some(local) = local {
                        record.placement = local.placement;
                        record.cancelled = local.cancelling && !local.gone;
                        record.cancelled_at = before.as_ref().and_then(|before| before.cancelled_at);
                        record.cancel_reason = before.as_ref().and_then(|before| before.cancel_reason.clone());
                        if record.cancelled {
                            cancellation_pending(&mut record);
                        }
                    }
                    let replaces = replacements.contains_key(&id.0);
                    if replaces && at.machine.state.appointments.get(&id).is_some_and(|visit| visit.gone) {
                        // The visit stays cancelled, and its new appointment is cancelled next.
                        continue;
                    }
                    if let Some(before) = before.as_ref().filter(|_| replaces) {
                        // The event of the replacement turns the old identifier into a replaced one.
                        record.foreign_id.clone_from(&before.foreign_id);
                        record.version.clone_from(&before.version);
                    }
                    put_appointment(record, before.as_ref(), unit)?;
                }
            }
            // Nothing may be stored of a page that came too late, was stopped by the guard, or is requested again.
            _ => unit.discard(),
        }
        at.mark_tombstones(self.resource, &decision, &tombstones, unit);
        Ok((decision, ()))
    }
}

impl Processor {
    /// Turns the links of records deleted by the page into tombstones. A repeated deletion then changes nothing, and a
    /// record that comes back counts as a change. For a page that is requested again, only applied deletions count.
    fn mark_tombstones(
        &self,
        resource: Resource,
        decision: &Decision,
        tombstones: &[(String, u64)],
        unit: &mut UnitOfWork<'_>,
    ) {
        let Some(source) = self.source() else { return };
        let applied = matches!(decision.reply, Reply::PageApplied { .. });
        let gone: BTreeSet<u64> = decision.events.iter().filter_map(Event::gone).collect();
        for (foreign_id, id) in tombstones.iter().filter(|(_, id)| applied || gone.contains(id)) {
            unit.put_link(source, resource, foreign_id, Link::gone(*id));
        }
    }

    /// Returns the write of an appointment for which this location issued a write key.
    fn written_by(&self, key: &str, unit: &mut UnitOfWork<'_>) -> Result<Option<IssuedKey>, Reject> {
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
            return Ok(IssuedKey::new(WriteId(write), queued.work, true).filter(|_| queued.key == key));
        }
        let finished = unit.get::<records::FinishedWrite>(location, write)?;
        let finished = finished.filter(|write| write.key == key);
        Ok(finished.and_then(|finished| IssuedKey::new(WriteId(write), finished.work, false)))
    }
}

/// A write key that this location issued for an appointment.
struct IssuedKey {
    appointment: AppointmentId,
    write: WriteId,
    work: WriteIntent,
    /// `true` if the write is not finished.
    queued: bool,
}

impl IssuedKey {
    /// Returns `None` for writes of other records.
    fn new(write: WriteId, work: WriteIntent, queued: bool) -> Option<IssuedKey> {
        let appointment = work.appointment()?;
        Some(IssuedKey { appointment, write, work, queued })
    }
}

impl PageIngest<'_, '_, '_> {
    fn take(&mut self, resource: Resource, page: &ehr::Page) -> Result<(), IngestError> {
        let shown = page.records.iter().map(|record| record.id()).chain(page.deleted.iter().map(String::as_str));
        let shown = shown.chain(page.skipped.iter().map(|skipped| skipped.id.as_str()));
        let (source, kind) = (self.source, DocumentKind::Of(resource).byte());
        let links: BTreeSet<_> = shown.map(|id| keys::link(source, kind, id.as_bytes())).collect();
        self.unit.prefetch(links).map_err(Reject::from)?;
        if resource == Resource::Appointments {
            self.find_replacements(page)?;
        }
        let deleted: BTreeSet<&str> = page.deleted.iter().map(String::as_str).collect();
        let last: BTreeMap<&str, usize> =
            page.records.iter().enumerate().map(|(position, record)| (record.id(), position)).collect();
        for (position, record) in page.records.iter().enumerate() {
            if record.resource() != resource {
                return Err(IngestError::Invalid(format!("record {position} of the page is not one of {resource:?}")));
            }
            // A record shown twice counts once, in its last version. One that is also deleted counts as deleted.
            if last.get(record.id()) != Some(&position) || deleted.contains(record.id()) {
                continue;
            }
            self.record(record).map_err(|unread| match unread {
                IngestError::Invalid(reason) => {
                    IngestError::Invalid(format!("record {position} of the page: {reason}"))
                }
                rejected @ IngestError::Rejected(_) => rejected,
            })?;
        }
        for foreign_id in &page.deleted {
            if let Some(link) = self.unit.link(self.source, resource, foreign_id)? {
                if self.is_deleted(resource, link, foreign_id)? {
                    self.tombstones.push((foreign_id.clone(), link.id));
                }
            } else if matches!(resource, Resource::Appointments | Resource::WorkingHours) {
                self.page.unmatched += 1;
                if self.processor.machine.state.queue.creates(resource) {
                    // The record may come from a write that is not answered yet. The link lets the answer detect the
                    // deletion.
                    self.unit.id_of(self.source, resource, foreign_id)?;
                }
            }
        }
        self.page.cursor.clone_from(&page.cursor);
        self.page.last = page.last;
        self.page.whole = page.whole;
        let shown: BTreeSet<u64> = self.page.seen.iter().copied().collect();
        self.page.records = u32::try_from(shown.len()).unwrap_or(u32::MAX);
        self.page.distinct = self.page.records;
        self.page.others = u32::try_from(page.deleted.len()).unwrap_or(u32::MAX).saturating_add(self.others);
        self.skipped(resource, page)?;
        self.page.estimate = page.estimate;
        let by_absence = |plan: &location::settings::PullPlan| plan.resource == resource && plan.deletions_by_absence;
        let settings = self.processor.settings();
        let by_absence = settings.capabilities.pulls.iter().any(by_absence);
        let before = self.processor.machine.state.pulls.deleted.get(&resource).copied().unwrap_or_default();
        let many_deleted = before + self.page.deleted.len() as u64 >= u64::from(settings.pull.guard_at_least);
        if page.whole {
            self.compare_with_pass(resource, page.last, by_absence)?;
        }
        if resource.shared() && many_deleted && self.page.known == 0 {
            self.known(resource)?;
        }
        Ok(())
    }

    /// Keeps the data of records that exist but cannot be read, so that they do not count as absent.
    fn skipped(&mut self, resource: Resource, page: &ehr::Page) -> Result<(), Reject> {
        for skipped in &page.skipped {
            let link = self.unit.link(self.source, resource, &skipped.id)?.filter(|link| !link.is_gone());
            let seen = match link {
                Some(link) if link.is_replaced() => self.replaced_left(link.id, &skipped.id)?.map(Replaced::pass_id),
                link => link.map(|link| link.id),
            };
            match seen {
                Some(id) => self.page.seen.push(id),
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

    /// Registers a deletion shown by the EHR. Returns `true` if the link becomes a tombstone.
    ///
    /// An appointment that staff moved to another location is removed at this location only. Its link stays, even if
    /// the other location has deleted it meanwhile.
    fn is_deleted(&mut self, resource: Resource, link: Link, foreign_id: &str) -> Result<bool, Reject> {
        if resource != Resource::Appointments {
            self.page.deleted.extend((!link.is_gone()).then_some(link.id));
            return Ok(!link.is_gone());
        }
        if link.is_replaced() {
            self.replaced_deleted(link.id, foreign_id)?;
            return Ok(false);
        }
        if self.is_old_of_replacement(link.id, foreign_id) {
            self.page.old.push((AppointmentId(link.id), None));
            return Ok(false);
        }
        let before = self.unit.get::<Record<records::Appointment>>(0, link.id)?;
        let here = before.as_ref().is_none_or(|before| before.location() == self.processor.setup.id.0);
        if here && link.is_gone() {
            return Ok(false);
        }
        if self.processor.machine.state.appointments.contains_key(&AppointmentId(link.id)) {
            self.page.deleted.push(link.id);
        } else if here && before.is_some_and(|before| !before.cancelled) {
            // The machine no longer has such an old appointment, so only its document can record the deletion.
            self.page.past_deleted.push(link.id);
        }
        Ok(here)
    }

    /// Compares a page with its whole pass: counts records that the pass has not shown before and, at the end, finds
    /// those it missed.
    fn compare_with_pass(&mut self, resource: Resource, last: bool, by_absence: bool) -> Result<(), Reject> {
        let mut pass = ReadPass::current(self.processor, resource);
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
            let step = self.processor.sweep_step(self.cx, resource, &mut pass, None, self.unit)?;
            (self.page.known, self.page.absent, self.page.sweep_on) = (step.known, step.absent, step.next);
        }
        if self.page.sweep_on.is_some() {
            // The sweep also finds the deleted records.
            self.tombstones.retain(|(_, id)| self.page.past_deleted.contains(id));
        }
        if !last || self.page.sweep_on.is_some() {
            pass.keep(self.unit)?;
        }
        Ok(())
    }

    /// Counts the known records of a shared resource, up to the number that the guard needs.
    fn known(&mut self, resource: Resource) -> Result<(), Reject> {
        let enough = self.processor.machine.known_enough(resource, self.page.deleted.len() as u64);
        let mut range = keys::links(self.source, DocumentKind::Of(resource).byte());
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

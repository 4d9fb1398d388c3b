//! Local working hours: they offer slots immediately, and the queue sends them to an EHR that supports it.

use std::collections::BTreeSet;

use crate::{
    Decision, DecisionContext, Event, HourSource, Location, Operation, OrderingKey, Refusal, Reply, Resource,
    WorkingHour, WorkingHourId, WriteId, WriteIntent, event::REMOVED_UNSENT, writes::queue::Write,
};

/// Maximum number of working hours of a location; each slot search examines all of them.
const MAX_HOURS: usize = 5_000;

impl Location {
    pub(crate) fn set_hour(
        &self,
        cx: DecisionContext,
        hour: &WorkingHour,
        here_only: bool,
    ) -> Result<Decision, Refusal> {
        match self.state.hours.get(&hour.id) {
            Some(known) if known.source != HourSource::Manual => return Err(Refusal::HourOfEhr),
            Some(known) if known == hour => {
                let queued = self.ehr_may_have(hour.id) || self.writes_of(hour.id).next().is_some();
                return Ok(Decision::new(Reply::Saved { queued }, Vec::new()));
            }
            Some(_) => {}
            None => self.check_hour_count()?,
        }
        let set = Event::HourSet(hour.clone());
        if self.ehr_may_have(hour.id) {
            return self.change_there(cx, hour.id, Operation::Update, here_only, set);
        }
        let mut events = vec![set];
        let unsent = self.unsent_of(hour.id).next().is_some();
        let queued = if here_only {
            self.withdraw_unsent(hour.id, "changed to local hours", &mut events);
            false
        } else if unsent {
            // The unsent write will send the new content.
            true
        } else if self.takes_hours(Operation::Create) {
            self.check_queue(1, self.settings.write.max_queue)?;
            self.queue_write(cx, &mut events, work(hour.id, Operation::Create), ordering_key(hour.id), None);
            true
        } else {
            false
        };
        Ok(Decision::new(Reply::Saved { queued }, events))
    }

    /// Refuses more working hours than a location may have.
    pub(crate) fn check_hour_count(&self) -> Result<(), Refusal> {
        let limit = MAX_HOURS as u32;
        if self.state.hours.len() < MAX_HOURS { Ok(()) } else { Err(Refusal::TooManyHours { limit }) }
    }

    pub(crate) fn remove_hour(&self, cx: DecisionContext, id: WorkingHourId) -> Result<Decision, Refusal> {
        match self.state.hours.get(&id).map(|hour| hour.source) {
            Some(HourSource::Manual) => {}
            Some(HourSource::Synced) => return Err(Refusal::HourOfEhr),
            None => return Err(Refusal::HourNotFound),
        }
        let removed = Event::HourRemoved { hour: id };
        if self.ehr_may_have(id) {
            return self.change_there(cx, id, Operation::Delete, false, removed);
        }
        let mut events = vec![removed];
        self.withdraw_unsent(id, REMOVED_UNSENT, &mut events);
        Ok(Decision::new(Reply::Saved { queued: false }, events))
    }

    /// Changes hours that the EHR has. Refuses the change if the EHR does not support it.
    fn change_there(
        &self,
        cx: DecisionContext,
        id: WorkingHourId,
        operation: Operation,
        here_only: bool,
        change: Event,
    ) -> Result<Decision, Refusal> {
        if here_only || !self.takes_hours(operation) {
            return Err(Refusal::NotSupportedByEhr);
        }
        let mut events = vec![change];
        let carried = self.unsent_of(id).any(|(_, write)| write.work == work(id, operation));
        if operation == Operation::Delete {
            self.withdraw_unsent(id, REMOVED_UNSENT, &mut events);
        }
        if !carried {
            self.check_queue(1, self.settings.write.max_changes())?;
            self.queue_write(cx, &mut events, work(id, operation), ordering_key(id), None);
        }
        Ok(Decision::new(Reply::Saved { queued: true }, events))
    }

    fn takes_hours(&self, operation: Operation) -> bool {
        let capabilities = &self.settings.capabilities;
        capabilities.integrated && capabilities.writes.contains(&(Resource::WorkingHours, operation))
    }

    /// Returns `true` if the hours are, or may be, in the EHR.
    fn ehr_may_have(&self, id: WorkingHourId) -> bool {
        let creating = |(_, write): (_, &Write)| write.work == work(id, Operation::Create) && !write.withdrawable();
        self.state.confirmed_hours.contains_key(&id) || self.writes_of(id).any(creating)
    }

    fn writes_of(&self, id: WorkingHourId) -> impl Iterator<Item = (WriteId, &Write)> {
        self.state.queue.for_record(Resource::WorkingHours, id.0.into())
    }

    fn unsent_of(&self, id: WorkingHourId) -> impl Iterator<Item = (WriteId, &Write)> {
        self.writes_of(id).filter(|(_, write)| write.withdrawable())
    }

    /// Returns `true` if the hours no longer exist locally.
    pub(crate) fn hour_removed(&self, id: u64) -> bool {
        hour_id(id).is_none_or(|id| !self.state.hours.contains_key(&id))
    }

    fn withdraw_unsent(&self, id: WorkingHourId, reason: &str, events: &mut Vec<Event>) {
        events.extend(self.unsent_of(id).map(|(write, unsent)| Event::withdrawn(write, unsent.work, reason)));
    }

    /// Sends written hours again if the EHR showed other values meanwhile, so that the client's change wins.
    pub(crate) fn hour_written(
        &self,
        cx: DecisionContext,
        write: WriteId,
        done: &Write,
        id: u64,
        events: &mut Vec<Event>,
    ) {
        let later = self.state.queue.for_record(Resource::WorkingHours, id).any(|(other, _)| other > write);
        if done.superseded && !later && self.takes_hours(Operation::Update) {
            let update = WriteIntent::Record { resource: Resource::WorkingHours, id, operation: Operation::Update };
            self.queue_write(cx, events, update, done.ordering_key, None);
        }
    }

    /// Reverts a failed write of hours to the values in the EHR.
    pub(crate) fn hour_not_written(
        &self,
        write: WriteId,
        id: u64,
        operation: Operation,
        reason: &str,
        events: &mut Vec<Event>,
    ) {
        let Some(hour) = hour_id(id) else { return };
        if operation == Operation::Create {
            events.extend(self.state.hours.contains_key(&hour).then_some(Event::HourRemoved { hour }));
            return;
        }
        // A later change of the client takes precedence.
        if self.writes_of(hour).any(|(other, _)| other > write) {
            return;
        }
        // Dropped while an earlier write has no answer: the hours revert to what that write sent.
        let earlier = self.writes_of(hour).filter(|(other, _)| *other < write).last();
        let on_its_way = earlier.and_then(|(_, earlier)| earlier.sent_hour.as_deref());
        if let Some(to) = on_its_way.or(self.state.confirmed_hours.get(&hour)) {
            events.push(Event::HourReverted { to: to.clone(), reason: reason.to_owned() });
        }
    }

    pub(crate) fn pulled_hour(&self, hour: &WorkingHour, events: &mut Vec<Event>) {
        if !self.hour_differs_from_state(hour) {
            return;
        }
        let ended: BTreeSet<WriteId> = events.iter().filter_map(Event::write_ended).collect();
        let changing = self.writes_of(hour.id).any(|(write, _)| !ended.contains(&write));
        events.push(if changing { Event::HourShown(hour.clone()) } else { Event::HourPulled(hour.clone()) });
    }

    /// Returns `true` if pulled hours differ from the known state.
    pub(crate) fn hour_differs_from_state(&self, hour: &WorkingHour) -> bool {
        let known = match hour.source {
            HourSource::Manual => self.state.confirmed_hours.get(&hour.id),
            HourSource::Synced => self.state.hours.get(&hour.id),
        };
        known != Some(hour)
    }

    /// Handles hours that were removed in the EHR: their pending writes are withdrawn.
    pub(crate) fn hour_gone(&self, id: u64, events: &mut Vec<Event>) {
        let Some(hour) = hour_id(id) else { return };
        let ended: BTreeSet<WriteId> = events.iter().filter_map(Event::write_ended).collect();
        for (write, pending) in self.writes_of(hour).filter(|(write, _)| !ended.contains(write)) {
            events.push(Event::withdrawn(write, pending.work, "removed in the EHR"));
        }
        events.push(Event::HourGone { hour });
        events.push(Event::RecordGone { resource: Resource::WorkingHours, id });
    }

    /// Merges a duplicate. The EHR showed our hours before it answered the write, so a second record was created.
    /// `shown` is `None` if the hours are gone in the EHR.
    pub(crate) fn merge_duplicate_hour(
        &self,
        duplicate: WorkingHourId,
        local: WorkingHourId,
        shown: Option<&WorkingHour>,
    ) -> Decision {
        let mut events = Vec::new();
        if self.state.hours.contains_key(&duplicate) {
            events.push(Event::HourGone { hour: duplicate });
        }
        match shown {
            Some(shown) => self.pulled_hour(shown, &mut events),
            None => self.hour_gone(local.0.into(), &mut events),
        }
        Decision::new(Reply::Done, events)
    }
}

fn work(id: WorkingHourId, operation: Operation) -> WriteIntent {
    WriteIntent::Record { resource: Resource::WorkingHours, id: id.0.into(), operation }
}

fn ordering_key(id: WorkingHourId) -> OrderingKey {
    OrderingKey::Record { resource: Resource::WorkingHours, id: id.0.into() }
}

fn hour_id(id: u64) -> Option<WorkingHourId> {
    u32::try_from(id).ok().map(WorkingHourId)
}

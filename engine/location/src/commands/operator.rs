//! Commands of operators: retry or drop a failed write, accept stopped deletions.

use crate::{
    Decision, DecisionContext, Event, Location, Operation, Refusal, Reply, Resource, Timestamp, WriteId, WriteIntent,
    command::{Retried, Retry},
    commands::PlacementRequest,
    event::InsertFailure,
};

impl Location {
    /// Queues a failed creation, or the failed cancellation of a replaced appointment, again, under the same key and a
    /// new id. Other failed changes were reverted and must be requested again.
    pub(crate) fn retry_write(&self, cx: DecisionContext, retry: &Retry) -> Decision {
        let capabilities = &self.settings.capabilities;
        let (mut events, mut deadline) = (Vec::new(), cx.now.plus(self.settings.write.deadline));
        let able = match (retry.work, &retry.what) {
            (WriteIntent::CreatePatient(patient), _) => {
                if self.state.queue.for_patient(patient).any(|(_, write)| write.work == retry.work) {
                    return Decision::refuse(Refusal::WriteNotFailed);
                }
                capabilities.new_patients
            }
            (WriteIntent::CreateAppointment(_), Retried::Appointment(_)) => {
                match self.rebook_slot(cx.now, retry) {
                    Ok(booked) => events.push(booked),
                    Err(refusal) => return Decision::refuse(refusal),
                }
                if let Retried::Appointment(appointment) = &retry.what {
                    deadline = appointment.placement.span.start;
                }
                capabilities.creates_appointments
            }
            (WriteIntent::CancelReplaced { appointment, replaced }, _) => {
                let queued = self.state.queue.of(appointment).any(|(_, write)| write.work == retry.work);
                if queued || self.replaced(appointment, replaced).is_none() {
                    return Decision::refuse(Refusal::WriteNotFailed);
                }
                capabilities.cancels
            }
            (WriteIntent::Record { resource, id, operation: Operation::Create }, what) => {
                if self.state.queue.for_record(resource, id).next().is_some() {
                    return Decision::refuse(Refusal::WriteNotFailed);
                }
                if let Retried::Hour(hour) = what {
                    if self.state.hours.contains_key(&hour.id) {
                        return Decision::refuse(Refusal::WriteNotFailed);
                    }
                    if let Some(refusal) = self.too_many_hours() {
                        return Decision::refuse(refusal);
                    }
                    events.push(Event::HourSet(hour.clone()));
                }
                capabilities.writes.contains(&(resource, Operation::Create))
            }
            _ => return Decision::refuse(Refusal::WriteWasPutBack),
        };
        if !capabilities.integrated || !able {
            return Decision::refuse(Refusal::NotSupportedByEhr);
        }
        if let Some(refusal) = self.queue_full(1, self.settings.write.max_queue) {
            return Decision::refuse(refusal);
        }
        let write = self.state.queue.next_id(0);
        let Retry { write: of, work, ref key, ordering_key, sent, .. } = *retry;
        // Writes of one appointment keep one ordering key, even if the EHR has changed its patient.
        let earlier = work.appointment().and_then(|appointment| self.state.queue.of(appointment).next());
        let ordering_key = earlier.map_or(ordering_key, |(_, earlier)| earlier.ordering_key);
        // After a restore, the failed write may have been retried and written since the backup.
        let restored = self.state.restored.is_some_and(|first| of < first);
        events.push(Event::WriteRetried {
            write,
            of,
            work,
            ordering_key,
            key: key.clone(),
            deadline,
            look_first: sent || restored,
            origin: None,
        });
        Decision::new(Reply::Retried { write }, events)
    }

    /// Books the slot of a failed insert again by the rules of a booking, because it may be taken.
    fn rebook_slot(&self, now: Timestamp, retry: &Retry) -> Result<Event, Refusal> {
        let (WriteIntent::CreateAppointment(id), Retried::Appointment(it)) = (retry.work, &retry.what) else {
            return Err(Refusal::WriteWasPutBack);
        };
        if self.state.appointments.contains_key(&id) {
            return Err(Refusal::WriteNotFailed);
        }
        if it.placement.span.start <= now {
            return Err(Refusal::SlotExpired);
        }
        let wish = PlacementRequest::of_staff(&it.placement, it.appointment_type, true);
        if let Some(refusal) = self.placement_refusal(now, wish, Vec::new()) {
            return Err(refusal);
        }
        Ok(Event::Booked {
            appointment: id,
            placement: it.placement,
            appointment_type: it.appointment_type,
            patient: it.patient,
            key: None,
            integrated: true,
        })
    }

    /// Accepts deletions that the guard stopped; deletions cannot be accepted in advance.
    pub(crate) fn accept_deletions(&self, resource: Resource) -> Decision {
        if !self.state.pulls.guarded.contains(&resource) {
            return Decision::refuse(Refusal::NoDeletionsStopped);
        }
        Decision::new(Reply::Done, vec![Event::DeletionsAccepted { resource }])
    }

    /// Drops a write. `failed`: the write has failed, and was neither retried nor dropped since.
    pub(crate) fn drop_write(&self, id: WriteId, failed: bool) -> Decision {
        let mut events = Vec::new();
        match self.state.queue.get(id) {
            Some(write) if write.withdrawable() => {
                self.failed(id, write, InsertFailure::Failed, "dropped by an operator", &mut events);
            }
            // The write is, or may be, in the EHR.
            Some(_) => return Decision::refuse(Refusal::WriteOnItsWay),
            None if failed => {}
            None => return Decision::refuse(Refusal::WriteNotFailed),
        }
        // Writes that depend on the dropped one are dropped too.
        let rested = events.iter().filter_map(|event| match event {
            Event::WriteFailed { write, how: InsertFailure::Failed, .. } if *write != id => Some(*write),
            _ => None,
        });
        let dropped: Vec<WriteId> = std::iter::once(id).chain(rested).collect();
        events.extend(dropped.into_iter().map(|write| Event::WriteDropped { write }));
        Decision::new(Reply::Done, events)
    }
}

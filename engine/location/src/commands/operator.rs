//! Commands of operators: retry or drop a failed write, accept stopped deletions.

use crate::{
    AppointmentId, Decision, DecisionContext, Event, Location, Operation, Refusal, Reply, Resource, Timestamp, WriteId,
    WriteIntent,
    command::{Retried, RetriedAppointment, Retry},
    commands::PlacementRequest,
    event::InsertFailure,
};

impl Location {
    /// Queues a failed creation, or the failed cancellation of a replaced appointment, again, under the same key and a
    /// new id. Other failed changes were reverted and must be requested again.
    pub(crate) fn retry_write(&self, cx: DecisionContext, retry: &Retry) -> Result<Decision, Refusal> {
        let capabilities = &self.settings.capabilities;
        let (mut events, mut deadline) = (Vec::new(), cx.now.plus(self.settings.write.deadline));
        let able = match (retry.work, &retry.what) {
            (WriteIntent::CreatePatient(patient), _) => {
                if self.state.queue.for_patient(patient).any(|(_, write)| write.work == retry.work) {
                    return Err(Refusal::WriteNotFailed);
                }
                capabilities.new_patients
            }
            (WriteIntent::CreateAppointment(id), Retried::Appointment(appointment)) => {
                events.push(self.rebook_slot(cx.now, id, appointment)?);
                deadline = appointment.placement.span.start;
                capabilities.creates_appointments
            }
            (WriteIntent::CancelReplaced { appointment, replaced }, _) => {
                let queued = self.state.queue.for_appointment(appointment).any(|(_, write)| write.work == retry.work);
                if queued || self.replaced(appointment, replaced).is_none() {
                    return Err(Refusal::WriteNotFailed);
                }
                capabilities.cancels
            }
            (WriteIntent::Record { resource, id, operation: Operation::Create }, what) => {
                if self.state.queue.for_record(resource, id).next().is_some() {
                    return Err(Refusal::WriteNotFailed);
                }
                if let Retried::Hour(hour) = what {
                    if self.state.hours.contains_key(&hour.id) {
                        return Err(Refusal::WriteNotFailed);
                    }
                    self.check_hour_count()?;
                    events.push(Event::HourSet(hour.clone()));
                }
                capabilities.writes.contains(&(resource, Operation::Create))
            }
            _ => return Err(Refusal::WriteWasPutBack),
        };
        if !capabilities.integrated || !able {
            return Err(Refusal::NotSupportedByEhr);
        }
        self.check_queue(1, self.settings.write.max_queue)?;
        let write = self.state.queue.next_id(0);
        let Retry { write: of, work, ref key, ordering_key, sent, .. } = *retry;
        let ordering_key = self.ordering_key(work, ordering_key);
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
        Ok(Decision::new(Reply::Retried { write }, events))
    }

    /// Books the slot of a failed insert again by the rules of a booking, because it may be taken.
    fn rebook_slot(&self, now: Timestamp, id: AppointmentId, it: &RetriedAppointment) -> Result<Event, Refusal> {
        if self.state.appointments.contains_key(&id) {
            return Err(Refusal::WriteNotFailed);
        }
        if it.placement.span.start <= now {
            return Err(Refusal::SlotExpired);
        }
        let wish = PlacementRequest::of_staff(&it.placement, it.appointment_type, true);
        self.check_placement(now, wish, Vec::new())?;
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
    pub(crate) fn accept_deletions(&self, resource: Resource) -> Result<Decision, Refusal> {
        if !self.state.pulls.guarded.contains(&resource) {
            return Err(Refusal::NoDeletionsStopped);
        }
        Ok(Decision::new(Reply::Done, vec![Event::DeletionsAccepted { resource }]))
    }

    /// Drops a write. `failed`: the write has failed, and was neither retried nor dropped since.
    pub(crate) fn drop_write(&self, id: WriteId, failed: bool) -> Result<Decision, Refusal> {
        let mut events = Vec::new();
        match self.state.queue.get(id) {
            Some(write) if write.withdrawable() => {
                self.failed(id, write, InsertFailure::Failed, "dropped by an operator", &mut events);
            }
            // The write is, or may be, in the EHR.
            Some(_) => return Err(Refusal::WriteOnItsWay),
            None if failed => {}
            None => return Err(Refusal::WriteNotFailed),
        }
        // Writes that depend on the dropped one are dropped too.
        let rested = events.iter().filter_map(|event| match event {
            Event::WriteFailed { write, how: InsertFailure::Failed, .. } if *write != id => Some(*write),
            _ => None,
        });
        let dropped: Vec<WriteId> = std::iter::once(id).chain(rested).collect();
        events.extend(dropped.into_iter().map(|write| Event::WriteDropped { write }));
        Ok(Decision::new(Reply::Done, events))
    }
}

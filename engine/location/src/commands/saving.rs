//! Changes of records that the scheduling rules do not depend on, and of appointment details.

use crate::{
    AppointmentId, CalendarAppointment, Decision, DecisionContext, Event, Location, Operation, OrderingKey, PatientId,
    Placement, Refusal, Reply, Resource, WriteIntent,
    command::Save,
    decision::NotOpenReason,
    event::REMOVED_UNSENT,
    sync::page::PulledOperatory,
    writes::{intent::ChangedDetails, queue::Write},
};

impl Location {
    /// Creates or changes an operatory. An inactive one stays known, and its hours offer no slots.
    pub(crate) fn set_operatory(&self, operatory: PulledOperatory, operation: Operation) -> Decision {
        let PulledOperatory { id, active } = operatory;
        let mut events = vec![Event::RecordSaved { resource: Resource::Operatories, id: id.0, operation }];
        if self.state.operatories.get(&id) != Some(&active) {
            events.push(Event::OperatoryPulled(operatory));
        }
        Decision::new(Reply::Saved { queued: false }, events)
    }

    pub(crate) fn save(&self, cx: DecisionContext, save: Save) -> Result<Decision, Refusal> {
        let Save { resource, id, operation, ordering_key, here_only } = save;
        let capabilities = &self.settings.capabilities;
        let mut events = vec![Event::RecordSaved { resource, id, operation }];
        if here_only || !capabilities.integrated {
            return Ok(Decision::new(Reply::Saved { queued: false }, events));
        }
        let work = match (resource, operation) {
            (Resource::Patients, Operation::Create) => {
                WriteIntent::CreatePatient(PatientId(u32::try_from(id).unwrap_or(u32::MAX)))
            }
            _ => WriteIntent::Record { resource, id, operation },
        };
        let creates = |write: &Write| {
            matches!(
                write.work,
                WriteIntent::CreatePatient(_) | WriteIntent::Record { operation: Operation::Create, .. }
            )
        };
        let unsent = || self.state.queue.for_record(resource, id).filter(|(_, write)| write.withdrawable());
        match operation {
            // A record that the EHR certainly does not have is withdrawn.
            Operation::Delete if unsent().any(|(_, write)| creates(write)) => {
                events.extend(unsent().map(|(write, unsent)| Event::withdrawn(write, unsent.work, REMOVED_UNSENT)));
                return Ok(Decision::new(Reply::Saved { queued: false }, events));
            }
            // An unsent write will send the new content.
            Operation::Update if unsent().any(|(_, write)| write.work == work || creates(write)) => {
                return Ok(Decision::new(Reply::Saved { queued: true }, events));
            }
            Operation::Create | Operation::Update | Operation::Delete => {}
        }
        let limit = match operation {
            Operation::Create => self.settings.write.max_queue,
            Operation::Update | Operation::Delete => self.settings.write.max_changes(),
        };
        let supported = match work {
            WriteIntent::CreatePatient(_) => capabilities.new_patients,
            _ => capabilities.writes.contains(&(resource, operation)),
        };
        if !supported {
            return Err(Refusal::NotSupportedByEhr);
        }
        self.check_queue(1, limit)?;
        self.queue_write(cx, &mut events, work, ordering_key, None);
        Ok(Decision::new(Reply::Saved { queued: true }, events))
    }

    /// Returns an appointment that is in the EHR, or any one if there is no EHR. Past ones are included, because
    /// patients check in after the start.
    fn synced_appointment(&self, id: AppointmentId) -> Result<&CalendarAppointment, Refusal> {
        let appointment =
            self.state.appointments.get(&id).ok_or(Refusal::AppointmentNotOpen(NotOpenReason::Forgotten))?;
        if let Some(over) = appointment.over() {
            return Err(Refusal::AppointmentNotOpen(over));
        }
        let integrated = self.settings.capabilities.integrated;
        if !integrated || appointment.in_ehr() { Ok(appointment) } else { Err(Refusal::AppointmentNotSynced) }
    }

    pub(crate) fn change(
        &self,
        cx: DecisionContext,
        id: AppointmentId,
        to: Option<Placement>,
        join_blocks: bool,
        what: ChangedDetails,
    ) -> Result<Decision, Refusal> {
        let (capabilities, rules) = (&self.settings.capabilities, &self.settings.write);
        let patient = self.synced_appointment(id)?.patient;
        let changed = [
            (what.confirmation, capabilities.confirms),
            (what.check_in, capabilities.checks_in),
            (what.note, capabilities.notes),
        ];
        let integrated = capabilities.integrated;
        if integrated && changed.iter().any(|(changed, able)| *changed && !able) {
            return Err(Refusal::NotSupportedByEhr);
        }
        let mut events = Vec::new();
        if let Some(to) = to {
            events = self.move_appointment(cx, id, to, join_blocks)?.events;
        }
        if integrated {
            self.check_queue(4, rules.max_changes())?;
        }
        if what != ChangedDetails::default() {
            events.push(Event::AppointmentChanged { appointment: id, what });
        }
        let unsent =
            |work| self.state.queue.for_appointment(id).any(|(_, write)| write.work == work && write.withdrawable());
        for work in what.works(id).filter(|work| !unsent(*work)) {
            if let Some(patient) = patient.filter(|_| integrated) {
                self.queue_write(cx, &mut events, work, OrderingKey::Patient(patient), None);
            }
        }
        Ok(Decision::new(Reply::Changed, events))
    }
}

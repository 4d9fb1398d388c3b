//! The operator of a simulation, and the contents of failed writes as the processor's documents have them.

use location::{
    command::{Command, Retried, RetriedAppointment, Retry},
    decision::Reply,
    event::{Event, InsertFailure},
    ids::WriteId,
    intent::WriteIntent,
    pull::Resource,
    resource::Operation,
};

use super::Sim;

impl Sim {
    /// Remembers failed writes before their events are applied.
    pub fn note_failures(&mut self, events: &[Event]) {
        let state = &self.location.state;
        for event in events {
            let Event::WriteFailed { write, work, how, .. } = event else { continue };
            let Some(queued) = state.queue.get(*write).filter(|_| *how != InsertFailure::Withdrawn) else { continue };
            let what = match work {
                WriteIntent::CreatePatient(_) => Retried::Record,
                WriteIntent::CreateAppointment(id) => match state.appointments.get(id) {
                    Some(it) if !it.cancelling => Retried::Appointment(RetriedAppointment {
                        placement: it.placement,
                        appointment_type: it.appointment_type,
                        patient: it.patient.unwrap(),
                    }),
                    _ => continue,
                },
                WriteIntent::Record { resource: Resource::WorkingHours, id, operation: Operation::Create } => {
                    match state.hours.values().find(|hour| u64::from(hour.id.0) == *id) {
                        Some(hour) => Retried::Hour(hour.clone()),
                        None => continue,
                    }
                }
                WriteIntent::Record { operation: Operation::Create, .. } | WriteIntent::CancelReplaced { .. } => {
                    Retried::Record
                }
                _ => continue,
            };
            self.failed.push(Retry {
                write: *write,
                work: *work,
                ordering_key: queued.ordering_key,
                key: queued.key.clone(),
                sent: queued.attempts > 0 || queued.unknown,
                what,
            });
        }
    }

    pub fn retry(&mut self, which: u8) {
        if self.failed.is_empty() {
            return;
        }
        let index = usize::from(which) % self.failed.len();
        let retry = self.failed[index].clone();
        let decision = self.run(&Command::RetryWrite(retry));
        if let Reply::Retried { .. } = decision.reply {
            self.failed.remove(index);
        }
    }

    pub fn give_up(&mut self, which: u8) {
        let waiting: Vec<WriteId> = self.location.state.queue.iter().map(|(id, _)| id).collect();
        if let Some(write) = waiting.get(usize::from(which) % waiting.len().max(1)).copied() {
            self.run(&Command::DropWrite { write, failed: false });
        }
    }
}

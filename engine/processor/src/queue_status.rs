//! The write queue as shown to the workstations of a location, without patient data. Only locations that are reached
//! through workstations pass it on, also while none is connected: one that connects later shows the last writes.

use chrono::{DateTime, SecondsFormat};
use location::{Event, Resource, SECOND, Timestamp, WriteIntent};
use records::{
    ehr::{operation_word, write_kind},
    sync_state::{LastWrite, QueueChange},
};

use crate::Processor;

impl Processor {
    /// Returns the writes that these events end. Must be called before the state drops them.
    pub fn ended_writes(&self, events: &[Event], now: Timestamp) -> Vec<LastWrite> {
        let ended = events.iter().filter_map(|event| match event {
            Event::WriteDone { work, .. } => Some((*work, "written")),
            Event::WriteFailed { work, .. } => Some((*work, "failed")),
            _ => None,
        });
        let when = DateTime::from_timestamp_millis(now.0).unwrap_or_default();
        ended
            .map(|(work, state)| LastWrite {
                kind: kind(work),
                at: self.local_start(work),
                state: state.to_owned(),
                when: when.to_rfc3339_opts(SecondsFormat::Secs, true),
            })
            .collect()
    }

    /// Returns the current queue.
    pub fn queue_change(&self, ended: Vec<LastWrite>) -> QueueChange {
        let queue = &self.machine.state.queue;
        QueueChange { waiting: queue.len() as u64, oldest: queue.oldest(), ended }
    }

    fn local_start(&self, work: WriteIntent) -> Option<String> {
        let start = self.machine.state.appointments.get(&work.appointment()?)?.placement.span.start;
        let at = DateTime::from_timestamp(start.0.div_euclid(SECOND), 0)?.with_timezone(&self.setup.zone);
        Some(at.format("%Y-%m-%dT%H:%M").to_string())
    }
}

fn kind(work: WriteIntent) -> String {
    let (resource, what) = match work {
        WriteIntent::CreatePatient(_) => (Resource::Patients, "insert"),
        WriteIntent::CreateAppointment(_) => (Resource::Appointments, "insert"),
        WriteIntent::Reschedule(_) => (Resource::Appointments, "move"),
        WriteIntent::Replace(_) => (Resource::Appointments, "replace"),
        WriteIntent::CancelReplaced { .. } => (Resource::Appointments, "cancel-replaced"),
        WriteIntent::Cancel(_) => (Resource::Appointments, "cancel"),
        WriteIntent::Confirm(_) => (Resource::Appointments, "confirm"),
        WriteIntent::CheckIn(_) => (Resource::Appointments, "check-in"),
        WriteIntent::Note(_) => (Resource::Appointments, "note"),
        WriteIntent::Record { resource, operation, .. } => (resource, operation_word(operation)),
    };
    write_kind(resource, what)
}

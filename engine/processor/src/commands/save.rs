//! The machine's decision on a saved record, and the ordering key of its write.

use location::{Reply, command::Save};

use super::prelude::*;

impl Processor {
    pub fn decide_save(
        &self,
        cx: DecisionContext,
        resource: Resource,
        id: u64,
        operation: Operation,
        ordering_key: OrderingKey,
        here_only: bool,
    ) -> Result<Decision, Reject> {
        self.decide(cx, &Command::Save(Save { resource, id, operation, ordering_key, here_only }))
    }
}

pub(super) fn ordering_key_of(patient: Option<u32>, resource: Resource, id: u64) -> OrderingKey {
    patient.map_or(OrderingKey::Record { resource, id }, |patient| OrderingKey::Patient(PatientId(patient)))
}

/// Returns `true` if a write was queued. The EHR's version is then kept until the write is answered.
pub(super) fn queued(decision: &Decision) -> bool {
    decision.reply == Reply::Saved { queued: true }
}

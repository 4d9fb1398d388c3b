//! The machine's word on a record that is saved, and whose writes it waits behind.

use location::{
    command::{Command, Cx, Save},
    decision::{Decision, Reply},
    ids::PatientId,
    order::OrderingKey,
    pull::Resource,
    resource::Operation,
};

use crate::{error::Reject, processor::Processor};

impl Processor {
    pub fn decide_save(
        &self,
        cx: Cx,
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

/// A write of it is on its way, and what the EHR has is to be kept until that is answered.
pub(super) fn queued(decision: &Decision) -> bool {
    decision.reply == Reply::Saved { queued: true }
}

//! The machine's word on a record that is saved, and whose writes it waits behind.

use location::{
    command::{Command, Cx, Save},
    decision::{Decision, Reply},
    ids::{Lane, PatientId},
    pull::{Resource, Verb},
};

use crate::{error::Reject, processor::Processor};

impl Processor {
    pub fn decide_save(
        &self,
        cx: Cx,
        resource: Resource,
        id: u64,
        verb: Verb,
        lane: Lane,
        here_only: bool,
    ) -> Result<Decision, Reject> {
        self.decide(cx, &Command::Save(Save { resource, id, verb, lane, here_only }))
    }
}

pub fn lane_of(patient: Option<u32>, resource: Resource, id: u64) -> Lane {
    patient.map_or(Lane::Record { resource, id }, |patient| Lane::Patient(PatientId(patient)))
}

/// A write of it is on its way, and what the EHR has is to be kept until that is answered.
pub fn queued(decision: &Decision) -> bool {
    decision.reply == Reply::Saved { queued: true }
}

//! Drops a pending write with all writes that depend on it, or a failed write, so that it is not tried again.

use location::{Event, WriteId, WriteIntent};
use records::FinishedWrite;
use store::{Direction, keys};

use super::prelude::*;
use crate::note_keys::failed_writes_of;

/// Maximum number of failed writes that are searched for dependent ones.
const LOOKED_AT: usize = 10_000;

#[derive(Clone)]
pub struct DropWrite(pub WriteId);

impl Request for DropWrite {
    type Reply = ();

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        let ended = match at.machine.state.queue.get(self.0) {
            Some(_) => None,
            None => Some(at.failed_write(self.0, unit)?),
        };
        let mut decision = at.decide(cx, &Command::DropWrite { write: self.0, failed: ended.is_some() })?;
        for write in ended.iter().map(|ended| at.failed_with(ended, unit)).collect::<Result<Vec<_>, _>>()?.concat() {
            decision.events.push(Event::WriteDropped { write });
        }
        Ok((decision, ()))
    }
}

impl Processor {
    /// Returns the writes that failed because the record that `ended` was to create is not in the EHR. They failed in
    /// the same turn and have its ordering key.
    fn failed_with(&self, ended: &FinishedWrite, unit: &mut UnitOfWork<'_>) -> Result<Vec<WriteId>, Reject> {
        let creates = matches!(
            ended.work,
            WriteIntent::CreatePatient(_) | WriteIntent::Record { operation: Operation::Create, .. }
        );
        if !creates || ended.lane.is_none() {
            return Ok(Vec::new());
        }
        let marks = unit.store().scan_keys(failed_writes_of(self.setup.id.0), Direction::Forward, LOOKED_AT)?;
        let mut rested = Vec::new();
        for (_, location, id) in marks.iter().filter_map(|key| keys::parse_record(key)) {
            let other = unit.get::<FinishedWrite>(location, id)?.filter(|other| {
                other.id != ended.id && other.lane == ended.lane && other.finished_at == ended.finished_at
            });
            rested.extend(other.filter(FinishedWrite::needs_operator).map(|other| WriteId(other.id)));
        }
        Ok(rested)
    }
}

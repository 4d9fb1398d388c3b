//! Handles a restore of the store from a backup once, when the location is first loaded.

use location::{Command, DecisionContext};
use store::keys;

use crate::{Prepared, Processor, Request, UnitOfWork};

pub(crate) struct AfterRestore;

impl Request for AfterRestore {
    type Reply = ();

    /// Returns `true`, because a reload sends this request again.
    fn ends_with_memory(&self) -> bool {
        true
    }

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<()> {
        unit.delete(keys::restored(at.setup.id.0));
        Ok((at.decide(cx, &Command::Restored)?, ()))
    }
}

//! The institutions on this node, and the times at which they came.

use std::collections::BTreeMap;

use location::{InstitutionId, Timestamp};
use parking_lot::Mutex;

#[derive(Default)]
pub(crate) struct LocalInstitutions(Mutex<BTreeMap<InstitutionId, Timestamp>>);

/// The result of comparing all institutions with those before.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rebalance {
    pub(crate) here: u64,
    pub(crate) came: u64,
    pub(crate) left: u64,
}

impl LocalInstitutions {
    /// Records the institutions on this node. One that stays keeps its time.
    pub(crate) fn note(&self, here: impl Iterator<Item = InstitutionId>, now: Timestamp) -> Rebalance {
        let mut known = self.0.lock();
        let before = std::mem::take(&mut *known);
        known.extend(here.map(|id| (id, before.get(&id).copied().unwrap_or(now))));
        let stayed = before.keys().filter(|id| known.contains_key(id)).count() as u64;
        Rebalance { here: known.len() as u64, came: known.len() as u64 - stayed, left: before.len() as u64 - stayed }
    }

    pub(crate) fn since(&self, institution: InstitutionId) -> Option<Timestamp> {
        self.0.lock().get(&institution).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn institution_that_stays_keeps_its_time_and_one_that_returns_gets_a_new_one() {
        let (here, ids) =
            (LocalInstitutions::default(), |ids: &[u32]| ids.iter().copied().map(InstitutionId).collect::<Vec<_>>());
        let look = |these: &[u32], now| here.note(ids(these).into_iter(), Timestamp(now));
        assert_eq!(look(&[1, 2], 10), Rebalance { here: 2, came: 2, left: 0 });
        assert_eq!(look(&[2, 3], 20), Rebalance { here: 2, came: 1, left: 1 });
        assert_eq!(look(&[1, 2, 3], 30), Rebalance { here: 3, came: 1, left: 0 });
        assert_eq!(
            [1, 2, 3, 4].map(|id| here.since(InstitutionId(id))),
            [Some(30), Some(10), Some(20), None].map(|at| at.map(Timestamp))
        );
    }
}

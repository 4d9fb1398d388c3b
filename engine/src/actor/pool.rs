//! Ids at hand, so that preparing a decision never waits: whoever finds the pool empty fetches a block and prepares again.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError},
};

use crate::store::counters::{Counter, IdError, Ids};

/// Ids fetched at a time.
const BLOCK: u32 = 1_000;

/// The sequences records draw from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sequence {
    Patient,
    Provider,
    Operatory,
    AppointmentType,
    WorkingHour,
    Appointment,
}

impl Sequence {
    fn counter(self) -> Counter<'static> {
        match self {
            Sequence::Patient => Counter::int32("patient"),
            Sequence::Provider => Counter::int32("provider"),
            Sequence::AppointmentType => Counter::int32("appointment type"),
            Sequence::WorkingHour => Counter::int32("working hour"),
            Sequence::Operatory => Counter::int53("operatory"),
            Sequence::Appointment => Counter::int53("appointment"),
        }
    }
}

#[derive(Default)]
pub struct Pool(Mutex<HashMap<Sequence, VecDeque<u64>>>);

impl Pool {
    pub fn take(&self, sequence: Sequence) -> Option<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(sequence).or_default().pop_front()
    }

    /// For an id that was taken and turned out not to be needed.
    pub fn give_back(&self, sequence: Sequence, id: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(sequence).or_default().push_front(id);
    }

    pub async fn fill(&self, ids: &Ids, sequence: Sequence) -> Result<(), IdError> {
        let fresh = ids.next(sequence.counter(), BLOCK).await?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(sequence).or_default().extend(fresh);
        Ok(())
    }
}

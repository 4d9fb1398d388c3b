//! What an operator has paused at a location: reading its EHR, writing to it, or both.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// Reading, writing, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directions {
    /// Reading from the EHR.
    pub reading: bool,
    /// Writing to it.
    pub writing: bool,
}

/// Since when each of them is paused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    /// Reading from the EHR.
    pub reading: Option<Timestamp>,
    /// Writing to it.
    pub writing: Option<Timestamp>,
}

impl Paused {
    /// Whether nothing is paused.
    pub fn is_nothing(&self) -> bool {
        *self == Paused::default()
    }

    /// What is paused.
    pub fn now(&self) -> Directions {
        Directions { reading: self.reading.is_some(), writing: self.writing.is_some() }
    }

    /// From now on these are paused, and no others.
    pub(crate) fn turn(&mut self, to: Directions, at: Timestamp) {
        let since = |known: Option<Timestamp>, paused: bool| paused.then(|| known.unwrap_or(at));
        *self = Paused { reading: since(self.reading, to.reading), writing: since(self.writing, to.writing) };
    }
}

//! The directions that an operator has paused: reading the EHR, writing to it, or both.

use serde::{Deserialize, Serialize};

use crate::Timestamp;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directions {
    pub reading: bool,
    pub writing: bool,
}

/// Start of the pause of each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    pub reading: Option<Timestamp>,
    pub writing: Option<Timestamp>,
}

impl Paused {
    pub fn is_nothing(&self) -> bool {
        *self == Paused::default()
    }

    /// Returns the paused directions.
    pub fn now(&self) -> Directions {
        Directions { reading: self.reading.is_some(), writing: self.writing.is_some() }
    }

    /// Pauses exactly the given directions.
    pub(crate) fn turn(&mut self, to: Directions, at: Timestamp) {
        let since = |known: Option<Timestamp>, paused: bool| paused.then(|| known.unwrap_or(at));
        *self = Paused { reading: since(self.reading, to.reading), writing: since(self.writing, to.writing) };
    }
}

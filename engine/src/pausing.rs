//! An operator pauses a location, and resumes it.

use location::{command::Command, ids::LocationId, pause::Directions};
use processor::error::EngineError;

use crate::Engine;

impl Engine {
    /// Nothing is read, or written, until an operator resumes it, restarts included.
    pub async fn pause(&self, location: LocationId, which: Directions) -> Result<(), EngineError> {
        self.send(location, Command::Pause { which }).await
    }

    pub async fn resume(&self, location: LocationId, which: Directions) -> Result<(), EngineError> {
        self.send(location, Command::Resume { which }).await
    }
}

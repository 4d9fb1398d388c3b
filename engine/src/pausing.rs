//! Pausing and resuming a location.

use location::{Command, LocationId, pause::Directions};
use processor::EngineError;

use crate::Engine;

impl Engine {
    /// Stops reading or writing until an operator resumes it, even across restarts.
    pub async fn pause(&self, location: LocationId, which: Directions) -> Result<(), EngineError> {
        self.send(location, Command::Pause { which }).await
    }

    pub async fn resume(&self, location: LocationId, which: Directions) -> Result<(), EngineError> {
        self.send(location, Command::Resume { which }).await
    }
}

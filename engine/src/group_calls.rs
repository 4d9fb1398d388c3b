//! Several patients at once: groups of slots, and their booking.

use location::{LocationId, SlotQuery, slots::Party};
use processor::{
    EngineError, FreeGroups, LocationMessage,
    commands::{BookSlots, BookedGroup},
};

use crate::Engine;

impl Engine {
    /// Returns groups of slots for several patients that the booking rules offer to a channel, at most `query.limit`.
    pub async fn offered_groups(
        &self,
        location: LocationId,
        query: SlotQuery,
        party: Party,
        channel: Option<String>,
    ) -> Result<FreeGroups, EngineError> {
        self.directory.open(location)?;
        let query = Box::new(query);
        let message =
            |reply| LocationMessage::FreeGroups { query: query.clone(), party, channel: channel.clone(), reply };
        self.directory.ask(location, message).await
    }

    /// Books a group at the location of its offers, as one decision.
    pub async fn book_group(&self, location: LocationId, request: BookSlots) -> Result<BookedGroup, EngineError> {
        self.send(location, request).await
    }
}

//! Searches for slots and groups of slots, and explanations of times that can or cannot be booked.

use location::{
    LocationId, SlotQuery,
    explain::{ExplainQuery, Explanation},
    slots::Party,
};
use processor::{EngineError, FreeGroups, FreeSlots, LocationMessage, reply::SlotRules};

use crate::Engine;

impl Engine {
    pub async fn free_slots(&self, location: LocationId, query: SlotQuery) -> Result<FreeSlots, EngineError> {
        self.slots(location, query, SlotRules::None).await
    }

    /// Like `free_slots`, with the location's booking rules for a channel.
    pub async fn offered_slots(
        &self,
        location: LocationId,
        query: SlotQuery,
        channel: Option<String>,
    ) -> Result<FreeSlots, EngineError> {
        self.slots(location, query, SlotRules::Booking { channel }).await
    }

    async fn slots(&self, location: LocationId, query: SlotQuery, rules: SlotRules) -> Result<FreeSlots, EngineError> {
        self.directory.open(location)?;
        let query = Box::new(query);
        let message = |reply| LocationMessage::FreeSlots { query: query.clone(), rules: rules.clone(), reply };
        self.directory.query(location, message).await
    }

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
        self.directory.query(location, message).await
    }

    /// Explains why the times of a search, or one time, can or cannot be booked by an intent.
    pub async fn explain(&self, location: LocationId, query: ExplainQuery) -> Result<Explanation, EngineError> {
        self.directory.open(location)?;
        let query = Box::new(query);
        self.directory.query(location, |reply| LocationMessage::Explain { query: query.clone(), reply }).await
    }
}

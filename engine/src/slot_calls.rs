//! Searches for slots, and holds.

use location::{LocationId, SlotQuery, Timestamp};
use processor::{
    EngineError, FreeSlots, LocationMessage,
    commands::{HoldSlot, Offer},
    reply::SlotRules,
};

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
        self.directory.ask(location, message).await
    }

    /// Holds a slot. `holder` is a digest of the client's key.
    pub async fn hold(&self, offer: Offer, holder: u64) -> Result<Timestamp, EngineError> {
        self.send(offer.location, HoldSlot { offer, holder }).await
    }
}

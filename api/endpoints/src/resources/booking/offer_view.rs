//! A slot with the token that books it, in searches and refusals.

use crate::prelude::*;

/// A free slot with the token to book it.
#[view]
#[derive(Debug)]
pub struct OfferView {
    /// Token to book the slot with `POST /intent/booking/book`: `slt_...`.
    pub slot_token: String,
    pub start_iso: String,
    pub start_local: String,
    pub duration_minutes: i64,
    /// Display name of the provider, or the full name if there is none; null if unknown.
    pub provider: Option<String>,
    /// Id of the provider.
    pub provider_id: u32,
    pub operatory_id: Option<u64>,
    /// The location of the slot.
    pub location: OfferLocation,
    /// Time at which the token expires, in UTC.
    pub expires_at: At,
}

/// The location of a slot.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OfferLocation {
    /// Id of the location.
    pub location_id: u32,
    /// Name of the location.
    pub name: String,
    /// Postal address of the location in one line; empty if none is configured.
    pub address: String,
}

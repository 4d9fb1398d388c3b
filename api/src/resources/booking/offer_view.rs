//! A slot with the token that books it, as searches and refusals show it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::values::times::At;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OfferView {
    pub slot_token: String,
    pub start_iso: String,
    pub start_local: String,
    pub duration_minutes: i64,
    pub provider: Option<String>,
    pub provider_id: u32,
    pub operatory_id: Option<u64>,
    pub location: OfferLocation,
    pub expires_at: At,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct OfferLocation {
    pub location_id: u32,
    pub name: String,
    pub address: String,
}

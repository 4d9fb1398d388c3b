//! Offers: slots with the tokens that book them.

use engine::commands::Offer;
use framework::values::slot_token::Terms;

use super::{
    failure::BookingFailure,
    offer_view::{OfferLocation, OfferView},
};
use crate::{prelude::*, resources::practice::providers::ProviderNames, views::locations::booking_location};

/// Properties of an offer in addition to its time.
#[derive(Clone, Copy)]
pub(super) struct OfferProperties {
    pub appointment_type: Option<AppointmentTypeId>,
    pub join_blocks: bool,
}

pub(super) fn offers(
    call: &ApiCall,
    location: &OpenLocation,
    wanted: OfferProperties,
    slots: &[Slot],
) -> Result<Vec<OfferView>, ApiError> {
    let tenant = Tenant { institution: location.institution.clone() };
    let mut names = ProviderNames::new(call, &tenant);
    let here = booking_location(&location.setup);
    let here = OfferLocation { location_id: here.location_id.0, name: here.name.to_owned(), address: here.address };
    let terms = Terms {
        institution: location.institution.id,
        location: location.setup.id,
        appointment_type: wanted.appointment_type,
        expires: call.api.engine.now().plus(call.api.edge().rules.slot_token),
        join_blocks: wanted.join_blocks,
        rules: location.setup.settings.booking.rules.digest(wanted.appointment_type),
    };
    let tokens = call.api.slot_tokens.seal(terms, slots.iter().copied());
    let offer = |(slot, slot_token): (&Slot, String)| {
        Ok(OfferView {
            slot_token,
            start_iso: times::utc(slot.span.start),
            start_local: times::for_people(slot.span.start, location.setup.zone),
            duration_minutes: slot.span.length() / MINUTE,
            provider: names.get(slot.provider.0)?,
            provider_id: slot.provider.0,
            operatory_id: slot.operatory.map(|id| id.0),
            location: here.clone(),
            expires_at: At(expiry(terms.expires)),
        })
    };
    slots.iter().zip(tokens).map(offer).collect()
}

/// Rounds down to the second, so that clients do not rely on the fraction.
fn expiry(at: Timestamp) -> Timestamp {
    Timestamp(at.0 - at.0.rem_euclid(location::time::SECOND))
}

/// Returns the offer of a token at a location the caller may reach. Tokens of others are refused like invented ones.
pub(super) fn open(
    call: &ApiCall,
    tenant: &Tenant,
    at: Option<&OpenLocation>,
    slot_token: &str,
) -> Result<(OpenLocation, Offer), BookingFailure> {
    reach(call, tenant, at, call.api.slot_tokens.open(slot_token))
}

/// Like `open`, for a token of an earlier secret. The offer cannot be booked, but its earlier booking is found.
pub(super) fn recall(
    call: &ApiCall,
    tenant: &Tenant,
    at: Option<&OpenLocation>,
    slot_token: &str,
) -> Result<(OpenLocation, Offer), BookingFailure> {
    reach(call, tenant, at, call.api.slot_tokens.recall(slot_token))
}

fn reach(
    call: &ApiCall,
    tenant: &Tenant,
    at: Option<&OpenLocation>,
    offer: Option<Offer>,
) -> Result<(OpenLocation, Offer), BookingFailure> {
    let offer = offer.filter(|offer| offer.institution == tenant.institution.id);
    let offer = offer.filter(|offer| at.is_none_or(|location| location.setup.id == offer.location));
    let mut offer = offer.ok_or(Failure::SlotNotFound)?;
    offer.channel.clone_from(&call.key.channel);
    let location = call.location(tenant, offer.location);
    let location = location.map_err(|error| error.if_not_found(|| BookingFailure::from(Failure::SlotNotFound)))?;
    Ok((location, offer))
}

/// Returns the properties for alternatives to an offer.
pub(super) fn like(offer: &Offer) -> OfferProperties {
    OfferProperties { appointment_type: offer.appointment_type, join_blocks: offer.join_blocks }
}

//! POST and DELETE /intent/booking/hold: keeps the slot of a token for a while (our addition).

use engine::commands::HoldSlot;
use location::Command;

use super::{
    failure::{BookingAnswer, BookingFailure},
    freshness::{IntentCall, NeededSchedule, NeedsSchedule, fresh_within, schedule_as_of},
    offers::{like, offers, open},
};
use crate::prelude::*;

/// The response to holding a slot, and to releasing it.
#[view]
pub struct SlotHold<'a> {
    ok: bool,
    /// The result, as a human-readable sentence.
    message: String,
    /// End of the hold, in UTC. Until then, no other client can book the slot. Absent in the response to a release.
    held_until: Omittable<At>,
    /// Time up to which the changes of the practice's staff are known, in UTC. Absent in the response to a release.
    schedule_as_of: Omittable<At>,
    /// A warning, such as the names of ignored parameters and fields; absent if there is none.
    description: Omittable<&'a str>,
}

#[input]
pub struct NewHold {
    #[body(filled(slot_token()))]
    slot_token: String,
    #[body(fresh_within())]
    fresh_within: Option<i64>,
}

impl NeedsSchedule for InLocations<NewHold> {
    fn schedule(&self, call: &ApiCall) -> Option<NeededSchedule> {
        let InLocations(tenant, at, NewHold { slot_token, fresh_within }) = self;
        let (location, _) = open(call, tenant, at.as_ref(), slot_token).ok()?;
        Some(NeededSchedule { location, intent: IntentCall::Hold, fresh_within: *fresh_within })
    }
}

pub async fn create(
    call: ApiCall,
    InLocations(tenant, at, NewHold { slot_token, .. }): InLocations<NewHold>,
) -> BookingAnswer<SlotHold<'static>> {
    let (location, offer) = open(&call, &tenant, at.as_ref(), &slot_token)?;
    let (start, wanted) = (offer.span.start, like(&offer));
    let held = call.api.engine.send(offer.location, HoldSlot { offer, holder: call.key.short() }).await;
    let until =
        held.map_err(|refused| BookingFailure::refused(refused, |slots| offers(&call, &location, wanted, slots)))?;
    let zone = location.setup.zone;
    let message =
        format!("{} is held for you until {}.", times::for_people(start, zone), times::for_people(until, zone));
    let (held_until, schedule_as_of) = (Some(At(until)), schedule_as_of(&call, &location));
    Ok(call.plain(SlotHold { ok: true, message, held_until, schedule_as_of, description: call.description() }))
}

/// The token may be in the query, because some clients cannot send a body with DELETE.
#[input(check = ReleaseHold::check)]
pub struct ReleaseHold {
    #[query(slot_token(), name = "slot_token")]
    in_query: Option<String>,
    #[body(filled(slot_token()), name = "slot_token")]
    in_body: Option<String>,
}

impl ReleaseHold {
    fn check(&self, input: &mut Input) {
        if input.query.is_absent("slot_token") && input.body.is_absent("slot_token") {
            input.body.problem("slot_token is missing.");
        }
    }
}

pub async fn delete(
    call: ApiCall,
    InLocations(tenant, at, ReleaseHold { in_query, in_body }): InLocations<ReleaseHold>,
) -> BookingAnswer<SlotHold<'static>> {
    let slot_token = in_query.or(in_body).unwrap_or_default();
    let (location, offer) = open(&call, &tenant, at.as_ref(), &slot_token)?;
    let message = format!("{} is no longer held for you.", times::for_people(offer.span.start, location.setup.zone));
    let released = call.api.engine.send(offer.location, Command::Release { hold: offer.hold }).await;
    released.map_err(|refused| BookingFailure::refused(refused, |_| Ok(Vec::new())))?;
    let (held_until, schedule_as_of) = (None, None);
    Ok(call.plain(SlotHold { ok: true, message, held_until, schedule_as_of, description: call.description() }))
}

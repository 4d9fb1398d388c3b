//! POST and DELETE /intent/booking/hold: keeps the slot of a token for a while (our addition).

use actix_web::HttpResponse;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    failure::{BookingResult, Failure},
    offers::{like, offers, open},
};
use crate::{
    access::{call::Call, input::Input},
    values::{
        kinds::{filled, text},
        limits::MAX_TOKEN,
        times::{self, At},
    },
};

/// The answer to holding a slot, and to releasing it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SlotHold<'a> {
    /// Always true: the request was carried out.
    ok: bool,
    /// What was done, as a sentence for people.
    message: String,
    /// Until when nobody else can book the slot, in UTC; absent in the answer of a release.
    #[serde(skip_serializing_if = "Option::is_none")]
    held_until: Option<At>,
    /// A warning, such as the names of ignored parameters and fields; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
}

pub(crate) async fn create(mut call: Call) -> BookingResult {
    let (tenant, at, slot_token) =
        call.in_locations(|input| input.body.required("slot_token", filled(text(MAX_TOKEN))))?;
    let (location, offer) = open(&call, &tenant, at.as_ref(), &slot_token)?;
    let (start, wanted) = (offer.span.start, like(&offer));
    let held = call.api.engine.hold(offer, call.key.short()).await;
    let until = held.map_err(|refused| Failure::refused(refused, |slots| offers(&call, &location, wanted, slots)))?;
    let zone = location.setup.zone;
    let message =
        format!("{} is held for you until {}.", times::for_people(start, zone), times::for_people(until, zone));
    Ok(HttpResponse::Ok().json(SlotHold {
        ok: true,
        message,
        held_until: Some(At(until)),
        description: call.description(),
    }))
}

pub(crate) async fn delete(mut call: Call) -> BookingResult {
    let (tenant, at, slot_token) = call.in_locations(slot_token)?;
    let (location, offer) = open(&call, &tenant, at.as_ref(), &slot_token)?;
    let message = format!("{} is no longer held for you.", times::for_people(offer.span.start, location.setup.zone));
    let released = call.api.engine.release(offer).await;
    released.map_err(|refused| Failure::refused(refused, |_| Ok(Vec::new())))?;
    Ok(HttpResponse::Ok().json(SlotHold { ok: true, message, held_until: None, description: call.description() }))
}

/// Not every client can send a body with DELETE, so the token may stand in the query.
fn slot_token(input: &mut Input) -> Option<String> {
    let in_query = input.query.optional("slot_token", text(MAX_TOKEN));
    let in_body = input.body.optional("slot_token", filled(text(MAX_TOKEN)));
    if in_query.is_none() && in_body.is_none() {
        input.body.problem("slot_token is missing.");
    }
    in_query.or(in_body)
}

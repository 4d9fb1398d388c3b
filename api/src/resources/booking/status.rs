//! GET /intent/booking/status

use super::{IntentAnswer, booked, booking_ref, find};
use crate::access::call::Call;

pub(crate) async fn show(mut call: Call) -> IntentAnswer {
    let (tenant, reference) = call.in_tenant(|input| input.query.required("booking_ref", booking_ref()))?;
    let (place, appointment, booking) = find(&call, &tenant, &reference)?;
    booked(&call, &place, &appointment, &booking, None)
}

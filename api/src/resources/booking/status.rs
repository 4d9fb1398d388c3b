//! GET /intent/booking/status

use super::{BookingResult, booked, booking_ref, find};
use crate::access::call::Call;

pub(crate) async fn show(mut call: Call) -> BookingResult {
    let (tenant, reference) = call.in_tenant(|input| input.query.required("booking_ref", booking_ref()))?;
    let (location, appointment, booking) = find(&call, &tenant, &reference)?;
    booked(&call, &location, &appointment, &booking, None)
}

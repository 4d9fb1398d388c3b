//! GET /intent/booking/status

use super::{BookingAnswer, BookingResponse, booked, booking_ref, find};
use crate::prelude::*;

#[input]
pub struct ShowBooking {
    #[query(booking_ref(), name = "booking_ref")]
    reference: String,
}

pub async fn show(
    call: ApiCall,
    InTenant(tenant, ShowBooking { reference }): InTenant<ShowBooking>,
) -> BookingAnswer<BookingResponse<'static>> {
    let (location, appointment) = find(&call, &tenant, &reference)?;
    call.audit("read", "booking", appointment.id);
    booked(&call, &location, &appointment, None)
}

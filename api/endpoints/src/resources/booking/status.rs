//! GET /intent/booking/status

use framework::access::{
    arguments::{InTenant, reads},
    call::ApiCall,
};

use super::{BookingAnswer, BookingResponse, booked, booking_ref, find};

reads!(ShowBooking |input| {
    reference: String = input.query.required("booking_ref", booking_ref()),
});

pub async fn show(
    call: ApiCall,
    InTenant(tenant, ShowBooking { reference }): InTenant<ShowBooking>,
) -> BookingAnswer<BookingResponse<'static>> {
    let (location, appointment, booking) = find(&call, &tenant, &reference)?;
    call.audit("read", "booking", appointment.id);
    booked(&call, &location, &appointment, &booking, None)
}

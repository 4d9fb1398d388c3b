//! GET /intent/booking/status

use super::{BookingAnswer, BookingResponse, booked, booking_ref, find};
use crate::access::{
    arguments::{FromInput, InTenant},
    call::Call,
    input::Input,
};

pub(crate) struct ShowBooking {
    reference: String,
}

impl FromInput for ShowBooking {
    fn from_input(input: &mut Input) -> ShowBooking {
        ShowBooking { reference: input.query.required("booking_ref", booking_ref()) }
    }
}

pub(crate) async fn show(
    call: Call,
    InTenant(tenant, ShowBooking { reference }): InTenant<ShowBooking>,
) -> BookingAnswer<BookingResponse<'static>> {
    let (location, appointment, booking) = find(&call, &tenant, &reference)?;
    booked(&call, &location, &appointment, &booking, None)
}

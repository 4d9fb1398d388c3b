//! POST /intent/booking/cancel (our addition): cancels through the same write-back queue.

use engine::commands::CancelAppointment;

use super::{
    BookingAnswer, BookingResponse, booked,
    failure::BookingFailure,
    visits::{NamedVisit, read_again},
};
use crate::prelude::*;

#[input]
pub struct NewCancellation {
    visit: NamedVisit,
    /// The reason, shown to the practice.
    #[body(text(MAX_TEXT), nonempty)]
    reason: Option<String>,
}

pub async fn create(
    call: ApiCall,
    InTenant(tenant, NewCancellation { visit, reason }): InTenant<NewCancellation>,
) -> BookingAnswer<BookingResponse<'static>> {
    let (location, appointment) = visit.find(&call, &tenant)?;
    let failed = appointment.booking.as_ref().is_some_and(|booking| booking.writeback == Writeback::Failed);
    if failed && !appointment.cancelled {
        return Err(Failure::BookingFailed.into());
    }
    // A cancelled appointment leaves the location's calendar after some time, so the command could not find it.
    if appointment.cancelled {
        call.audit("read", "booking", appointment.id);
    } else {
        let request = CancelAppointment {
            appointment: AppointmentId(appointment.id),
            reason,
            by_rules: true,
            channel: call.key.channel.clone(),
        };
        let cancelled = call.api.engine.send(location.setup.id, request).await;
        cancelled.map_err(|refused| BookingFailure::refused(refused, |_| Ok(Vec::new())))?;
        call.audit("cancel", "appointment", appointment.id);
    }
    booked(&call, &location, &read_again(&call, appointment.id)?, None)
}

//! POST /intent/booking/confirm (our addition): records that the patient confirms the visit.

use engine::commands::{ConfirmVisit, Confirmation};

use super::{
    BookingAnswer, BookingResponse, BookingView, booking_view,
    failure::BookingFailure,
    respond,
    visits::{NamedVisit, read_again},
    with_provider,
};
use crate::prelude::*;

pub async fn create(
    call: ApiCall,
    InTenant(tenant, visit): InTenant<NamedVisit>,
) -> BookingAnswer<BookingResponse<'static>> {
    let (location, appointment) = visit.find(&call, &tenant)?;
    let request = ConfirmVisit { appointment: AppointmentId(appointment.id) };
    let confirmed = call.api.engine.send(location.setup.id, request).await;
    let confirmation = confirmed.map_err(|refused| BookingFailure::refused(refused, |_| Ok(Vec::new())))?;
    call.audit("confirm", "appointment", appointment.id);
    let appointment = read_again(&call, appointment.id)?;
    let view = booking_view(&call, &location, &appointment)?;
    let message = message(&view, confirmation);
    Ok(respond(&call, &location, None, message, view))
}

/// Returns one sentence that can be read to the patient.
fn message(view: &BookingView<'_>, confirmation: Confirmation) -> String {
    let ending = match confirmation {
        Confirmation::Done => "is confirmed.",
        Confirmation::Pending => "is confirmed; the confirmation is being sent to the practice's system.",
        Confirmation::Local => {
            "is confirmed here; the practice's system does not take confirmations, so the practice may not see it."
        }
    };
    let with = with_provider(view.provider.as_deref());
    format!("The appointment{with} on {} at {} {ending}", view.start_local, view.location.name)
}

//! The visit that a call changes: a booking, or a visit that the practice booked itself.

use framework::values::{
    kinds::shared::visit_token,
    visit_token::{LIFETIME, SealedVisit},
};
use location::PatientId;

use super::{booking_ref, failure::BookingFailure, find};
use crate::prelude::*;

/// The visit, by the reference of its booking or by a visit token.
#[input(check = NamedVisit::check)]
pub struct NamedVisit {
    #[body(filled(booking_ref()))]
    booking_ref: Option<String>,
    #[body(filled(visit_token()).omit_from_example())]
    visit_token: Option<String>,
}

impl NamedVisit {
    fn check(&self, input: &mut Input) {
        match (&self.booking_ref, &self.visit_token) {
            // An invalid value was reported already.
            (None, None) if input.body.problem_count() == 0 => {
                input.body.problem("booking_ref or visit_token is missing.");
            }
            (Some(_), Some(_)) => input.body.problem("Send either booking_ref or visit_token, not both."),
            _ => {}
        }
    }

    /// Finds the visit. Visits of other tenants, and of locations that the key does not reach, do not exist.
    pub(crate) fn find(
        &self,
        call: &ApiCall,
        tenant: &Tenant,
    ) -> Result<(OpenLocation, Record<Appointment>), BookingFailure> {
        match (&self.booking_ref, &self.visit_token) {
            (Some(reference), _) => find(call, tenant, reference),
            (None, token) => find_by_token(call, tenant, token.as_deref().unwrap_or_default()),
        }
    }
}

fn find_by_token(
    call: &ApiCall,
    tenant: &Tenant,
    token: &str,
) -> Result<(OpenLocation, Record<Appointment>), BookingFailure> {
    let sealed = call.api.visit_tokens.open(token).filter(|it| it.institution == tenant.institution.id);
    let sealed = sealed.ok_or(Failure::VisitNotFound)?;
    let location = call.location(tenant, sealed.location);
    let location = location.map_err(|error| error.if_not_found(|| BookingFailure::from(Failure::VisitNotFound)))?;
    if sealed.expires <= call.api.engine.now() {
        return Err(Failure::VisitTokenExpired.into());
    }
    let found = call.api.engine.appointment(sealed.appointment).map_err(ApiError::from)?;
    let here = |it: &Record<Appointment>| {
        it.institution_id == tenant.institution.id.0 && it.location() == location.setup.id.0 && !it.unavailable
    };
    let of_patient = |it: &Record<Appointment>| it.patient_id == Some(sealed.patient.0);
    let appointment = found.filter(here).filter(of_patient).ok_or(Failure::VisitNotFound)?;
    Ok((location, appointment))
}

/// Returns a token for a visit, which expires.
pub(super) fn token_for(call: &ApiCall, location: &OpenLocation, it: &Record<Appointment>) -> String {
    call.api.visit_tokens.seal(SealedVisit {
        institution: location.institution.id,
        location: location.setup.id,
        appointment: AppointmentId(it.id),
        patient: PatientId(it.patient_id.unwrap_or_default()),
        expires: call.api.engine.now().plus(LIFETIME),
    })
}

/// Returns the visit after a change.
pub(super) fn read_again(call: &ApiCall, id: u64) -> Result<Record<Appointment>, BookingFailure> {
    let found = call.api.engine.appointment(AppointmentId(id)).map_err(ApiError::from)?;
    found.ok_or_else(|| ApiError::internal().into())
}

//! Changes of a visit by its patient: to the slot of a slot token, and its confirmation.

use crate::{
    AppointmentId, CalendarAppointment, Decision, DecisionContext, Event, Holder, Location, OrderingKey, Refusal,
    Reply, WriteIntent,
    command::{OfferedSlot, Reschedule},
    commands::{PlacementRequest, check_offer},
    writes::intent::ChangedDetails,
};

impl Location {
    /// Moves an appointment to an offered slot. Checks, in this order: idempotency key, appointment, notice, offer,
    /// type, slot, booking rules, and the EHR. A slot that the appointment has already needs no check and no write.
    pub(crate) fn reschedule(&self, cx: DecisionContext, request: &Reschedule) -> Result<Decision, Refusal> {
        let (now, id) = (cx.now, request.appointment);
        let OfferedSlot { placement: to, hold, .. } = request.offer;
        if self.known_key(now, request.key.as_ref())?.is_some() {
            return Ok(Decision::new(Reply::Rescheduled { replay: true }, Vec::new()));
        }
        let appointment = self.open_appointment(now, id)?;
        let mut events = Vec::new();
        if appointment.placement != to {
            self.check_reschedule(cx, appointment, request)?;
            events = self.queue_move(cx, id, appointment, to)?;
        }
        if self.state.holds.contains_key(&hold) {
            // Before the move, which may have the same place.
            events.insert(0, Event::HoldEnded { hold });
        }
        let pin = |key| Event::KeyUsed { appointment: id, key: self.pin(now, key, Vec::new()) };
        events.extend(request.key.as_ref().map(pin));
        Ok(Decision::new(Reply::Rescheduled { replay: false }, events))
    }

    /// Refuses the slot of the token if it cannot be taken. The places of the appointment itself, and the hold of the
    /// token, count as free. Rules about the patient are not repeated: patient and type stay the same.
    fn check_reschedule(
        &self,
        cx: DecisionContext,
        appointment: &CalendarAppointment,
        request: &Reschedule,
    ) -> Result<(), Refusal> {
        let (now, id, offer) = (cx.now, request.appointment, &request.offer);
        if let Some(notice) = self.change_too_late(now, id, false, offer.channel.as_deref()) {
            return Err(Refusal::ChangeTooLate { notice });
        }
        let held = self.is_held(now, offer);
        let own = vec![Holder::Hold(offer.hold), Holder::Appointment(id), Holder::Vacating(id)];
        let appointment_type = request.appointment_type.or(offer.appointment_type);
        let wish = PlacementRequest { appointment_type, ..PlacementRequest::of_offer(offer) };
        check_offer(now, offer, held)?;
        check_type(appointment, request)?;
        self.check_placement(now, wish, own.clone())?;
        if self.is_checked(now, offer, appointment_type) { Ok(()) } else { self.check_slot_rules(now, wish, own) }
    }

    /// Records the patient's confirmation, and queues its write if the EHR takes confirmations. Otherwise the
    /// confirmation stays local.
    pub(crate) fn confirm(&self, cx: DecisionContext, id: AppointmentId) -> Result<Decision, Refusal> {
        let appointment = self.open_appointment(cx.now, id)?;
        let capabilities = &self.settings.capabilities;
        if capabilities.integrated && !appointment.in_ehr() {
            return Err(Refusal::AppointmentNotSynced);
        }
        let what = ChangedDetails { confirmation: true, ..ChangedDetails::default() };
        let mut events = vec![Event::AppointmentChanged { appointment: id, what }];
        let work = WriteIntent::Confirm(id);
        let queued = capabilities.integrated && capabilities.confirms;
        let unsent = self.state.queue.for_appointment(id).any(|(_, write)| write.work == work && write.withdrawable());
        if let Some(patient) = appointment.patient.filter(|_| queued && !unsent) {
            self.check_queue(1, self.settings.write.max_changes())?;
            self.queue_write(cx, &mut events, work, OrderingKey::Patient(patient), None);
        }
        Ok(Decision::new(Reply::Saved { queued }, events))
    }
}

/// Refuses an offer for another type that would change the length of the visit. If the length is the same, the hours
/// and rules for the type of the visit decide about the slot.
fn check_type(appointment: &CalendarAppointment, request: &Reschedule) -> Result<(), Refusal> {
    let offer = &request.offer;
    let differs = offer.placement.span.length() != appointment.placement.span.length();
    match request.appointment_type.filter(|kind| differs && offer.appointment_type != Some(*kind)) {
        Some(appointment_type) => Err(Refusal::OfferOfOtherType { appointment_type }),
        None => Ok(()),
    }
}

//! Changes of a visit by its patient: to the slot of a slot token, and its confirmation.

use crate::{
    AppointmentId, CalendarAppointment, Decision, DecisionContext, Event, Holder, Location, OrderingKey, Refusal,
    Reply, WriteIntent,
    command::{OfferedSlot, Reschedule},
    commands::{PlacementRequest, offer_refusal},
    writes::intent::ChangedDetails,
};

impl Location {
    /// Moves an appointment to an offered slot. Checks, in this order: idempotency key, appointment, notice, offer,
    /// type, slot, booking rules, and the EHR. A slot that the appointment has already needs no check and no write.
    pub(crate) fn reschedule(&self, cx: DecisionContext, wanted: &Reschedule) -> Decision {
        let (now, id) = (cx.now, wanted.appointment);
        let OfferedSlot { placement: to, hold, .. } = wanted.offer;
        match wanted.key.as_ref().and_then(|key| self.known_key(now, key)) {
            Some(Ok(_)) => return Decision::new(Reply::Rescheduled { replay: true }, Vec::new()),
            Some(Err(refusal)) => return Decision::refuse(refusal),
            None => {}
        }
        let appointment = match self.open_appointment(now, id) {
            Ok(appointment) => appointment,
            Err(refusal) => return Decision::refuse(refusal),
        };
        let mut events = Vec::new();
        if appointment.placement != to {
            if let Some(refusal) = self.reschedule_refusal(cx, appointment, wanted) {
                return Decision::refuse(refusal);
            }
            match self.queue_move(cx, id, appointment, to) {
                Ok(moved) => events = moved,
                Err(refusal) => return Decision::refuse(refusal),
            }
        }
        if self.state.holds.contains_key(&hold) {
            // Before the move, which may have the same place.
            events.insert(0, Event::HoldEnded { hold });
        }
        let pin = |key| Event::KeyUsed { appointment: id, key: self.pin(now, key, Vec::new()) };
        events.extend(wanted.key.as_ref().map(pin));
        Decision::new(Reply::Rescheduled { replay: false }, events)
    }

    /// Returns the reason why the slot of the token cannot be taken. The places of the appointment itself, and the hold
    /// of the token, count as free. Rules about the patient are not repeated: patient and type stay the same.
    fn reschedule_refusal(
        &self,
        cx: DecisionContext,
        appointment: &CalendarAppointment,
        wanted: &Reschedule,
    ) -> Option<Refusal> {
        let (now, id, offer) = (cx.now, wanted.appointment, &wanted.offer);
        if let Some(notice) = self.change_too_late(now, id, false, offer.channel.as_deref()) {
            return Some(Refusal::ChangeTooLate { notice });
        }
        let held = self.is_held(now, offer);
        let own = vec![Holder::Hold(offer.hold), Holder::Appointment(id), Holder::Vacating(id)];
        let appointment_type = wanted.appointment_type.or(offer.appointment_type);
        let wish = PlacementRequest { appointment_type, ..PlacementRequest::of_offer(offer) };
        let is_checked = self.is_checked(now, offer, appointment_type);
        offer_refusal(now, offer, held)
            .or_else(|| type_refusal(appointment, wanted))
            .or_else(|| self.placement_refusal(now, wish, own.clone()))
            .or_else(|| if is_checked { None } else { self.slot_rule_refusal(now, wish, own) })
    }

    /// Records the patient's confirmation, and queues its write if the EHR takes confirmations. Otherwise the
    /// confirmation stays local.
    pub(crate) fn confirm(&self, cx: DecisionContext, id: AppointmentId) -> Decision {
        let appointment = match self.open_appointment(cx.now, id) {
            Ok(appointment) => appointment,
            Err(refusal) => return Decision::refuse(refusal),
        };
        let capabilities = &self.settings.capabilities;
        if capabilities.integrated && !appointment.in_ehr() {
            return Decision::refuse(Refusal::AppointmentNotSynced);
        }
        let what = ChangedDetails { confirmation: true, ..ChangedDetails::default() };
        let mut events = vec![Event::AppointmentChanged { appointment: id, what }];
        let work = WriteIntent::Confirm(id);
        let queued = capabilities.integrated && capabilities.confirms;
        let unsent = self.state.queue.of(id).any(|(_, write)| write.work == work && write.withdrawable());
        if let Some(patient) = appointment.patient.filter(|_| queued && !unsent) {
            if let Some(refusal) = self.queue_full(1, self.settings.write.max_changes()) {
                return Decision::refuse(refusal);
            }
            self.queue_write(cx, &mut events, work, OrderingKey::Patient(patient), None);
        }
        Decision::new(Reply::Saved { queued }, events)
    }
}

/// Returns the refusal of an offer for another type that would change the length of the visit. If the length is the
/// same, the hours and rules for the type of the visit decide about the slot.
fn type_refusal(appointment: &CalendarAppointment, wanted: &Reschedule) -> Option<Refusal> {
    let offer = &wanted.offer;
    let appointment_type = wanted.appointment_type.filter(|kind| offer.appointment_type != Some(*kind))?;
    let differs = offer.placement.span.length() != appointment.placement.span.length();
    differs.then_some(Refusal::OfferOfOtherType { appointment_type })
}

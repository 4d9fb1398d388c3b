//! Booking, moving and cancelling (specification 4.8 and 7.4).

use crate::{
    AppointmentId, AppointmentTypeId, CalendarAppointment, Decision, DecisionContext, Event, Holder, Location,
    OperatoryId, OrderingKey, PatientId, Placement, ProviderId, Refusal, Reply, Slot, Span, Timestamp, WriteId,
    WriteIntent,
    command::{Book, BookPatient, KeyUse, OfferedSlot},
    decision::NotOpenReason,
    event::{CancelledBy, KeyPinned, MoveReason},
    random::mix,
    rules::{Candidate, Companion, PatientFacts, patient_reason},
    schedule::slots::{Fit, RequestedSlot, fits},
    settings::Moves,
    state::Key,
    writes::queue::Write,
};

#[derive(Clone, Copy)]
pub(crate) struct PlacementRequest<'a> {
    pub placement: &'a Placement,
    pub appointment_type: Option<AppointmentTypeId>,
    pub join_blocks: bool,
    /// The offer, if the request is an intent: alternatives then obey the booking rules.
    pub intent: Option<&'a OfferedSlot>,
    /// Visits of the same request that count as taken: the earlier members of a group.
    pub also_taken: &'a [Companion],
    /// Visits of the same request whose slots alternatives leave free: the later members of a group.
    pub later: &'a [Companion],
}

impl<'a> PlacementRequest<'a> {
    /// Creates the request of an intent.
    pub(crate) fn of_offer(offer: &'a OfferedSlot) -> PlacementRequest<'a> {
        let request = PlacementRequest::of_staff(&offer.placement, offer.appointment_type, offer.join_blocks);
        PlacementRequest { intent: Some(offer), ..request }
    }

    /// Creates a request that the booking rules do not bind.
    pub(crate) fn of_staff(
        placement: &'a Placement,
        appointment_type: Option<AppointmentTypeId>,
        join_blocks: bool,
    ) -> PlacementRequest<'a> {
        PlacementRequest { placement, appointment_type, join_blocks, intent: None, also_taken: &[], later: &[] }
    }
}

/// Refuses an offer that has ended, or whose type is closed to patients. A live hold outlasts its offer.
pub(crate) fn check_offer(now: Timestamp, offer: &OfferedSlot, is_held: bool) -> Result<(), Refusal> {
    if (!is_held && offer.expires <= now) || offer.placement.span.start <= now {
        return Err(Refusal::SlotExpired);
    }
    if offer.closed.appointment_type { Err(Refusal::TypeNotOnline) } else { Ok(()) }
}

/// A booking within its request.
#[derive(Clone, Copy)]
pub(crate) struct Member<'a> {
    /// All bookings of the request.
    pub bookings: &'a [Book],
    pub visits: &'a [Companion],
    pub index: usize,
}

impl Location {
    /// Books an appointment. Checks, in this order: idempotency key, offer, slot, patient.
    pub(crate) fn book(&self, cx: DecisionContext, book: &Book) -> Result<Decision, Refusal> {
        if let Some(known) = self.known_key(cx.now, book.key.as_ref())? {
            return Ok(Decision::new(Reply::Booked { appointment: known.appointment, replay: true }, Vec::new()));
        }
        let bookings = std::slice::from_ref(book);
        let visits: Vec<Companion> = Companion::from_booking(book).into_iter().collect();
        let key = book.key.as_ref().map(|key| self.pin(cx.now, key, Vec::new()));
        let mut events = Vec::new();
        self.book_member(cx, Member { bookings, visits: &visits, index: 0 }, key, &mut events)?;
        Ok(Decision::new(Reply::Booked { appointment: book.appointment, replay: false }, events))
    }

    /// Adds the events of a booking to those of the earlier members of its request, which count as taken. Checks, in
    /// this order: offer, slot, patient.
    pub(crate) fn book_member(
        &self,
        cx: DecisionContext,
        member: Member<'_>,
        key: Option<KeyPinned>,
        events: &mut Vec<Event>,
    ) -> Result<(), Refusal> {
        let Member { bookings, visits, index } = member;
        let (now, book) = (cx.now, &bookings[index]);
        let OfferedSlot { placement, appointment_type, hold, .. } = book.offer;
        let held = self.is_held(now, &book.offer);
        check_offer(now, &book.offer, held)?;
        let wish = PlacementRequest {
            intent: book.by_rules.then_some(&book.offer),
            also_taken: visits.get(..index).unwrap_or_default(),
            later: visits.get(index + 1..).unwrap_or_default(),
            ..PlacementRequest::of_offer(&book.offer)
        };
        // The holds of earlier members count through their slots.
        let own: Vec<Holder> =
            bookings.iter().take(index + 1).map(|booking| Holder::Hold(booking.offer.hold)).collect();
        self.check_placement(now, wish, own.clone())?;
        if !self.is_checked(now, &book.offer, appointment_type) {
            self.check_slot_rules(now, wish, own)?;
        }
        let capabilities = &self.settings.capabilities;
        if book.patient.is_new && capabilities.integrated && !capabilities.new_patients {
            return Err(Refusal::NewPatientNotSupported);
        }
        if book.patient.is_new && !book.patient.missing_fields.is_empty() {
            return Err(Refusal::PatientFieldsRequired { missing: book.patient.missing_fields.clone() });
        }
        let is_same_visit =
            |other: &Book| other.patient.id == book.patient.id && other.offer.placement.span.overlaps(placement.span);
        if bookings.iter().take(index).any(is_same_visit) {
            return Err(Refusal::PatientTwice);
        }
        self.check_patient_rules(wish, &book.patient)?;
        if capabilities.integrated && !capabilities.creates_appointments {
            return Err(Refusal::NotSupportedByEhr);
        }
        self.check_queue(queued_by(events) + 2, self.settings.write.max_queue)?;

        if self.state.holds.contains_key(&hold) {
            events.push(Event::HoldEnded { hold });
        }
        events.push(Event::Booked {
            appointment: book.appointment,
            placement,
            appointment_type,
            patient: book.patient.id,
            key,
            integrated: capabilities.integrated,
        });
        if capabilities.integrated {
            let creation = WriteIntent::CreatePatient(book.patient.id);
            let on_its_way = |(_, write): (_, &Write)| write.work == creation;
            let by_earlier = |event: &Event| matches!(event, Event::WriteQueued { work, .. } if *work == creation);
            if book.patient.is_new
                && !self.state.queue.for_patient(book.patient.id).any(on_its_way)
                && !events.iter().any(by_earlier)
            {
                self.queue_write(cx, events, creation, OrderingKey::Patient(book.patient.id), None);
            }
            let start = Some(placement.span.start);
            self.queue_write(
                cx,
                events,
                WriteIntent::CreateAppointment(book.appointment),
                OrderingKey::Patient(book.patient.id),
                start,
            );
        }
        Ok(())
    }

    /// Returns `true` if a live hold keeps the place of an offer.
    pub(crate) fn is_held(&self, now: Timestamp, offer: &OfferedSlot) -> bool {
        let hold = self.state.holds.get(&offer.hold);
        hold.is_some_and(|hold| hold.placement == offer.placement && now < hold.until)
    }

    /// Returns `true` if a live hold keeps the place of an offer, and was placed under the same rules: those for the
    /// type of the visit and the channel of the caller. The rules were checked then, and need not hold any more.
    pub(crate) fn is_checked(
        &self,
        now: Timestamp,
        offer: &OfferedSlot,
        appointment_type: Option<AppointmentTypeId>,
    ) -> bool {
        let hold = self.state.holds.get(&offer.hold).filter(|_| self.is_held(now, offer));
        let rules = &self.settings.rules;
        hold.is_some_and(|hold| {
            rules.refusing(hold.appointment_type, hold.channel.as_deref())
                == rules.refusing(appointment_type, offer.channel.as_deref())
        })
    }

    /// Returns an idempotency key with its expiry. `others` are the appointments of the request after the first.
    pub(crate) fn pin(&self, now: Timestamp, key: &KeyUse, others: Vec<AppointmentId>) -> KeyPinned {
        KeyPinned {
            key: key.key.clone(),
            fingerprint: key.fingerprint.clone(),
            expires: now.plus(self.settings.booking.key_lifetime),
            others,
        }
    }

    /// Returns the bookings of a known idempotency key, or a conflict. Returns `None` if there is no key or it is new.
    /// Keys are unique per institution.
    pub(crate) fn known_key(&self, now: Timestamp, key: Option<&KeyUse>) -> Result<Option<&Key>, Refusal> {
        let Some(key) = key else { return Ok(None) };
        let known = self.state.keys.get(&key.key).filter(|known| now < known.expires);
        if key.claimed_by.is_some_and(|location| location != self.settings.location)
            || known.is_some_and(|known| known.fingerprint != key.fingerprint)
        {
            return Err(Refusal::IdempotencyConflict);
        }
        Ok(known)
    }

    /// Returns `true` if the patient has another appointment at this location during `span`.
    pub fn is_double_booked(&self, patient: PatientId, span: Span, besides: AppointmentId) -> bool {
        let is_of_patient =
            |id: AppointmentId| self.state.appointments.get(&id).is_some_and(|it| it.patient == Some(patient));
        let is_other = |id: AppointmentId| id != besides && is_of_patient(id);
        self.state.calendar.during(span).any(|it| matches!(it.holder, Holder::Appointment(id) if is_other(id)))
    }

    /// Refuses a placement that is not free, ignoring the holders in `own`.
    pub(crate) fn check_placement(
        &self,
        now: Timestamp,
        wish: PlacementRequest<'_>,
        own: Vec<Holder>,
    ) -> Result<(), Refusal> {
        let PlacementRequest { placement, appointment_type, join_blocks, intent, also_taken, later } = wish;
        if self.settings.map_by_operatory && placement.operatory.is_none() {
            return Err(Refusal::OperatoryRequired);
        }
        let Some(slot) = Slot::from_placement(placement) else {
            return Err(Refusal::SlotTaken { fit: Fit::OutsideHours, alternatives: Vec::new() });
        };
        let requested = RequestedSlot { slot, appointment_type, join_blocks, own };
        let shut = |room| intent.is_some_and(|offer| offer.closed.operatories.contains(&room));
        let hours = self.hours().filter(|hour| !hour.operatory.is_some_and(shut));
        match fits(hours, &self.state.calendar, &self.settings.zone, &requested) {
            Fit::Free if !also_taken.iter().any(|other| other.slot.prevents(&slot)) => Ok(()),
            // `Free` if only an earlier member of the request takes the slot.
            fit => {
                let alternatives = self.alternatives(now, &requested, intent, &[also_taken, later].concat());
                Err(Refusal::SlotTaken { fit, alternatives })
            }
        }
    }

    /// Refuses a free slot by a booking rule. If the rules changed after the offer, the refusal reports that.
    pub(crate) fn check_slot_rules(
        &self,
        now: Timestamp,
        wish: PlacementRequest<'_>,
        own: Vec<Holder>,
    ) -> Result<(), Refusal> {
        let Some((offer, candidate)) = wish.intent.zip(self.candidate(wish, own)) else { return Ok(()) };
        let in_force = self.settings.rules.in_force(wish.appointment_type, offer.channel.as_deref());
        let Some(rule) = self.slot_reason(now, &in_force, &candidate) else { return Ok(()) };
        // The token has the digest of the rules for its own type.
        let offered_under = offer.rules.filter(|_| wish.appointment_type == offer.appointment_type);
        if offered_under.is_none_or(|digest| digest == self.settings.rules.digest(wish.appointment_type)) {
            return Err(Refusal::NotBookable { rule, instead: in_force.rules.instead });
        }
        let Candidate { slot, appointment_type, join_blocks, own, .. } = candidate;
        let requested = RequestedSlot { slot, appointment_type, join_blocks, own };
        let others = [wish.also_taken, wish.later].concat();
        let alternatives = self.alternatives(now, &requested, Some(offer), &others);
        Err(Refusal::RulesChanged { rule, alternatives })
    }

    /// Refuses the patient by a booking rule.
    fn check_patient_rules(&self, wish: PlacementRequest<'_>, patient: &BookPatient) -> Result<(), Refusal> {
        let Some(candidate) = self.candidate(wish, Vec::new()) else { return Ok(()) };
        let BookPatient { is_new, date_of_birth, .. } = *patient;
        let candidate = Candidate { patient: Some(PatientFacts { is_new, date_of_birth }), ..candidate };
        let rules = self.settings.rules.effective(wish.appointment_type, candidate.channel);
        match patient_reason(&rules, &self.settings.zone, &candidate) {
            Some(rule) => Err(Refusal::NotBookable { rule, instead: rules.instead }),
            None => Ok(()),
        }
    }

    /// Returns the candidate of an intent. Returns `None` for other requests and if there are no rules.
    fn candidate<'a>(&self, wish: PlacementRequest<'a>, own: Vec<Holder>) -> Option<Candidate<'a>> {
        let PlacementRequest { placement, appointment_type, join_blocks, intent, also_taken, .. } = wish;
        let offer = intent.filter(|_| !self.settings.rules.is_neutral())?;
        let (slot, closed, channel) = (Slot::from_placement(placement)?, &offer.closed, offer.channel.as_deref());
        Some(Candidate { slot, appointment_type, join_blocks, own, closed, channel, patient: None, also_taken })
    }

    /// Returns the operatory for an appointment that names none: the provider's first free one, or the closest match if
    /// none is free.
    pub fn operatory_for(
        &self,
        provider: ProviderId,
        span: Span,
        appointment_type: Option<AppointmentTypeId>,
        join_blocks: bool,
    ) -> Option<OperatoryId> {
        let active_hours = self.hours().filter(|hour| hour.active && hour.provider == provider);
        let mut operatories: Vec<Option<OperatoryId>> = active_hours.map(|hour| hour.operatory).collect();
        operatories.sort_unstable();
        operatories.dedup();
        let far = |operatory: &Option<OperatoryId>| {
            let slot = Slot { span, provider, operatory: *operatory };
            let requested = RequestedSlot { slot, appointment_type, join_blocks, own: Vec::new() };
            match fits(self.hours(), &self.state.calendar, &self.settings.zone, &requested) {
                Fit::Free => 0,
                Fit::Busy(_) => 1,
                Fit::TypeNotAccepted => 2,
                Fit::OutsideHours => 3,
            }
        };
        operatories.into_iter().min_by_key(far).flatten()
    }

    pub(crate) fn move_appointment(
        &self,
        cx: DecisionContext,
        id: AppointmentId,
        to: Placement,
        join_blocks: bool,
    ) -> Result<Decision, Refusal> {
        let appointment = self.open_appointment(cx.now, id)?;
        if appointment.placement == to {
            return Ok(Decision::new(Reply::Moved, Vec::new()));
        }
        if to.span.start <= cx.now {
            return Err(Refusal::SlotExpired);
        }
        let own = vec![Holder::Appointment(id), Holder::Vacating(id)];
        let wish = PlacementRequest::of_staff(&to, appointment.appointment_type, join_blocks);
        self.check_placement(cx.now, wish, own)?;
        Ok(Decision::new(Reply::Moved, self.queue_move(cx, id, appointment, to)?))
    }

    /// Moves an appointment and queues the write that moves it in the EHR. An EHR that cannot move appointments gets
    /// the new one first, and the old one is cancelled afterwards.
    pub(crate) fn queue_move(
        &self,
        cx: DecisionContext,
        id: AppointmentId,
        appointment: &CalendarAppointment,
        to: Placement,
    ) -> Result<Vec<Event>, Refusal> {
        let mut events = vec![Event::Moved { appointment: id, to, why: MoveReason::Client }];
        let capabilities = &self.settings.capabilities;
        if !capabilities.integrated {
            return Ok(events);
        }
        let placing = || self.state.queue.for_appointment(id).filter(|(_, write)| write.work.places());
        if let Some((write, unsent)) = placing().find(|(_, write)| write.withdrawable()) {
            // An unsent insert, reschedule or replacement will send the new placement. Nothing needs to be sent if the
            // EHR has the appointment there already.
            let back = unsent.work == WriteIntent::Replace(id) && appointment.confirmed == Some(to);
            if back && placing().count() == 1 {
                events.push(Event::WriteDone { write, work: unsent.work, written: None });
            }
            return Ok(events);
        }
        let work = match capabilities.moves() {
            Some(Moves::Directly) => WriteIntent::Reschedule(id),
            Some(Moves::ByReplacement) => WriteIntent::Replace(id),
            None => return Err(Refusal::NotSupportedByEhr),
        };
        self.check_queue(1, self.settings.write.max_changes())?;
        if let Some(patient) = appointment.patient {
            // Like an insert, a replacement must be in the EHR before the visit begins.
            let deadline = work.creates().then_some(to.span.start);
            self.queue_write(cx, &mut events, work, OrderingKey::Patient(patient), deadline);
        }
        Ok(events)
    }

    pub(crate) fn cancel(
        &self,
        cx: DecisionContext,
        id: AppointmentId,
        reason: Option<&str>,
    ) -> Result<Decision, Refusal> {
        if self.state.appointments.get(&id).is_some_and(|appointment| appointment.cancelling) {
            return Ok(Decision::new(Reply::Cancelled { already: true }, Vec::new()));
        }
        let appointment = self.open_appointment(cx.now, id)?;
        let capabilities = &self.settings.capabilities;
        let reason = reason.map(str::to_owned);
        let cancelled = Event::Cancelled { appointment: id, by: CancelledBy::Client, reason };
        let mut events = vec![cancelled];
        if !capabilities.integrated {
            events.push(Event::CancelConfirmed { appointment: id });
            return Ok(Decision::new(Reply::Cancelled { already: false }, events));
        }
        // An insert that the EHR certainly does not have is withdrawn.
        let mut inserts =
            self.state.queue.for_appointment(id).filter(|(_, write)| write.work == WriteIntent::CreateAppointment(id));
        if let Some((write, _)) = inserts.next().filter(|(_, write)| write.withdrawable()) {
            self.withdraw(write, id, &mut events);
            return Ok(Decision::new(Reply::Cancelled { already: false }, events));
        }
        if !capabilities.cancels {
            return Err(Refusal::NotSupportedByEhr);
        }
        self.check_queue(1 + appointment.replaced.len(), self.settings.write.max_changes())?;
        self.end_replacements(cx, id, appointment, &mut events);
        if let Some(patient) = appointment.patient {
            self.queue_write(cx, &mut events, WriteIntent::Cancel(id), OrderingKey::Patient(patient), None);
        }
        Ok(Decision::new(Reply::Cancelled { already: false }, events))
    }

    /// Refuses more writes than the queue has room for.
    pub(crate) fn check_queue(&self, more: usize, limit: u32) -> Result<(), Refusal> {
        if self.state.queue.len() + more > limit as usize { Err(Refusal::QueueFull { limit }) } else { Ok(()) }
    }

    /// Returns the appointment if it can still be changed.
    pub(crate) fn open_appointment(&self, now: Timestamp, id: AppointmentId) -> Result<&CalendarAppointment, Refusal> {
        let appointment = self.state.appointments.get(&id).ok_or(Refusal::AppointmentNotFound)?;
        let past = (appointment.placement.span.start <= now).then_some(NotOpenReason::Past);
        appointment.over().or(past).map_or(Ok(appointment), |over| Err(Refusal::AppointmentNotOpen(over)))
    }

    /// Queues a write after those of the same decision. `deadline` defaults to the configured one.
    pub(crate) fn queue_write(
        &self,
        cx: DecisionContext,
        events: &mut Vec<Event>,
        work: WriteIntent,
        ordering_key: OrderingKey,
        deadline: Option<Timestamp>,
    ) {
        let (write, ordering_key) = (self.next_write(events), self.ordering_key(work, ordering_key));
        // The random part keeps keys unique if a restored store allots the same ids again.
        let key = format!("ps-{}-{}-{:016x}", self.settings.location, write, mix(cx.random, write.0));
        let deadline = deadline.unwrap_or(cx.now.plus(self.settings.write.deadline));
        events.push(Event::WriteQueued { write, work, ordering_key, key, deadline, origin: None });
    }

    /// Returns the id of the next write of a decision.
    pub(crate) fn next_write(&self, events: &[Event]) -> WriteId {
        self.state.queue.next_id(queued_by(events) as u64)
    }

    /// Returns the ordering key of a new write. Writes of one appointment keep one ordering key, even if the EHR has
    /// changed its patient.
    pub(crate) fn ordering_key(&self, work: WriteIntent, requested: OrderingKey) -> OrderingKey {
        let earlier = work.appointment().and_then(|appointment| self.state.queue.for_appointment(appointment).next());
        earlier.map_or(requested, |(_, earlier)| earlier.ordering_key)
    }
}

/// Returns the number of writes that a decision queues.
fn queued_by(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::WriteQueued { .. })).count()
}

//! Clients: they search, hold, book, move, reschedule, confirm and cancel, race each other, repeat unanswered requests,
//! and reuse keys.

use location::{
    command::{Closed, Command, Hold, Placement},
    decision::Refusal,
    ids::{AppointmentId, AppointmentTypeId, LocationId},
    slots::{Slot, SlotQuery, free_slots},
    time::{HOUR, MINUTE, SECOND},
};
use processor::commands::{BookSlot, BookSlots, Booked, Offer, RescheduleVisit};
use records::record::Record;

use super::{
    agenda::SimEvent,
    invariants::{
        confirmations,
        groups::{self, BeforeGroup},
        one_key_one_answer,
        reschedules::{self, BeforeReschedule},
    },
    ledger::request_content,
    plan::{PERSONS, person},
    process::TurnOutcome,
    sim::{Sim, document},
    sim_request::SimRequest,
};

/// Maximum number of retries per request.
const PATIENCE: u32 = 30;
const OFFER_LASTS: i64 = 15 * MINUTE;

/// A client's request until it is answered.
pub struct ClientRequest {
    pub location: LocationId,
    pub what: RequestKind,
    pub tries: u32,
}

pub enum RequestKind {
    Book(Box<BookSlot>),
    Hold(Offer),
    Release(Offer),
    Cancel(AppointmentId),
    Move(AppointmentId, Placement),
    Reschedule(Box<RescheduleVisit>),
    Confirm(AppointmentId),
    BookGroup(Box<BookSlots>),
}

impl RequestKind {
    fn request(&self) -> SimRequest {
        match self {
            RequestKind::Book(request) => SimRequest::Book(request.clone()),
            RequestKind::Reschedule(request) => SimRequest::Reschedule(request.clone()),
            RequestKind::Confirm(appointment) => SimRequest::Confirm(*appointment),
            RequestKind::BookGroup(request) => SimRequest::BookGroup(request.clone()),
            RequestKind::Hold(offer) => {
                let offer = offer.slot(Closed::default());
                SimRequest::Command(Command::Hold(Hold { offer, holder: None }))
            }
            RequestKind::Release(offer) => SimRequest::Command(Command::Release { hold: offer.hold }),
            RequestKind::Cancel(appointment) => {
                SimRequest::Command(Command::Cancel { appointment: *appointment, reason: Some("no time".to_owned()) })
            }
            RequestKind::Move(appointment, to) => {
                SimRequest::Command(Command::Move { appointment: *appointment, to: *to, join_blocks: true })
            }
        }
    }

    fn name(&self) -> String {
        match self {
            RequestKind::Book(request) => format!("book {} {}", request.idempotency_key, request_content(request)),
            RequestKind::Hold(offer) => format!("hold {:x}", offer.hold),
            RequestKind::Release(offer) => format!("release {:x}", offer.hold),
            RequestKind::Cancel(id) => format!("cancel {id}"),
            RequestKind::Confirm(id) => format!("confirm {id}"),
            RequestKind::Move(id, to) => format!("move {id} to {to:?}"),
            RequestKind::Reschedule(request) => {
                format!("{} {}", request.idempotency_key, reschedules::content(request))
            }
            RequestKind::BookGroup(request) => format!("{} {}", request.idempotency_key, groups::content(request)),
        }
    }
}

impl Sim {
    /// Performs one random action of a client.
    pub fn client_acts(&mut self) {
        let locations: Vec<LocationId> = self.plan.setup.locations.keys().copied().collect();
        let Some(location) = self.random.pick(&locations).copied() else { return };
        match self.random.weighted(&[34, 12, 12, 14, 10, 6, 4, 4, 6, 12, 4, 2, 10, 3, 14]) {
            0 => self.book_somewhere(location, 1),
            1 => {
                let racers = 2 + self.random.below(2);
                self.book_somewhere(location, racers);
            }
            2 => self.hold_first(location),
            3 => self.change_one(|_, id| Some(RequestKind::Cancel(id))),
            4 => self.change_one(|sim, id| {
                let slot = sim.find_slot(sim.ledger.bookings.get(&id)?.location)?;
                let to = Placement { operatory: slot.operatory, provider: Some(slot.provider), span: slot.span };
                Some(RequestKind::Move(id, to))
            }),
            5 => self.use_key_again(|_, _| {}),
            6 => self.use_key_again(|sim, request| {
                if sim.random.chance(500) {
                    request.note = Some("another note".to_owned());
                } else {
                    request.patient = person(request.offer.institution.0, sim.random.below(PERSONS));
                }
            }),
            7 => {
                self.use_key_elsewhere(false);
            }
            8 => {
                self.use_key_elsewhere(true);
            }
            9 => self.reschedule_one(),
            10 => self.reschedule_again(),
            11 => self.reschedule_with_used_key(),
            12 => self.book_group(location),
            13 => self.book_group_again(),
            _ => self.confirm_one(),
        }
    }

    /// Schedules a request within a time span. Unanswered requests are repeated.
    pub fn plan_request(&mut self, within: i64, location: LocationId, what: RequestKind) {
        let at = self.now.plus(self.random.between(0..=within));
        self.agenda.plan(at, SimEvent::Request(ClientRequest { location, what, tries: 0 }));
    }

    fn find_slot(&mut self, location: LocationId) -> Option<Slot> {
        self.attend(location);
        let days = 1 + self.random.below(2) as u16;
        let length = [30, 60][self.random.below(2)] * MINUTE;
        let interval = self.random.chance(300).then_some(15 * MINUTE);
        let (wide, late) = (self.random.chance(500), self.random.between(0..=8) * HOUR);
        let machine = &self.process.hosts.get(&location)?.processor.machine;
        let not_before = self.now.plus(if wide { late } else { 0 });
        let from = machine.settings.zone.local_date(self.now);
        let query = SlotQuery {
            interval,
            overlapping_operatory_slots: true,
            limit: 12,
            ..testing::slot_query(from, days, length, not_before.plus(1))
        };
        let slots = match machine.settings.rules.is_neutral() {
            true => free_slots(machine.hours(), &machine.state.calendar, &machine.settings.zone, &query),
            false => machine.offered_slots(self.now, &query, &Closed::default(), None),
        };
        self.random.pick(&slots).copied()
    }

    pub fn offer(&mut self, location: LocationId) -> Option<Offer> {
        let slot = self.find_slot(location)?;
        let machine = &self.process.hosts.get(&location)?.processor.machine;
        let types: Vec<AppointmentTypeId> = machine.hours().flat_map(|hour| hour.appointment_types.clone()).collect();
        let rules = &machine.settings.rules;
        let appointment_type = self.random.pick(&types).copied();
        let rules = Some(rules.digest(appointment_type));
        Some(Offer {
            institution: self.plan.setup.locations.get(&location)?.institution,
            location,
            provider: slot.provider,
            operatory: slot.operatory,
            span: slot.span,
            appointment_type,
            expires: self.now.plus(OFFER_LASTS),
            join_blocks: true,
            hold: self.random.draw(),
            channel: None,
            rules,
        })
    }

    fn request(&mut self, offer: Offer) -> BookSlot {
        self.keys += 1;
        let mut patient = person(offer.institution.0, self.random.below(PERSONS));
        if self.random.chance(30) {
            patient.phone_number = None;
        }
        BookSlot {
            offer,
            idempotency_key: format!("key-{}", self.keys),
            patient,
            note: self.random.chance(200).then(|| "first visit".to_owned()),
            created_by: "client".to_owned(),
        }
    }

    fn book_somewhere(&mut self, location: LocationId, clients: usize) {
        let Some(offer) = self.offer(location) else { return };
        let within = if clients > 1 { SECOND } else { 16 * MINUTE };
        for _ in 0..clients {
            let mut own = offer.clone();
            own.hold = self.random.draw();
            let request = self.request(own);
            self.plan_request(within, location, RequestKind::Book(Box::new(request)));
        }
    }

    fn hold_first(&mut self, location: LocationId) {
        let Some(offer) = self.offer(location) else { return };
        self.plan_request(MINUTE, location, RequestKind::Hold(offer.clone()));
        if self.random.chance(300) {
            self.plan_request(10 * MINUTE, location, RequestKind::Release(offer));
        } else if self.random.chance(800) {
            let request = self.request(offer);
            self.plan_request(8 * MINUTE, location, RequestKind::Book(Box::new(request)));
        }
    }

    /// Returns one of the latest bookings.
    pub fn recent_booking(&mut self) -> Option<AppointmentId> {
        let ids: Vec<AppointmentId> = self.ledger.bookings.iter().rev().take(25).map(|(id, _)| *id).collect();
        self.random.pick(&ids).copied()
    }

    fn change_one(&mut self, what: impl FnOnce(&mut Sim, AppointmentId) -> Option<RequestKind>) {
        let Some(id) = self.recent_booking() else { return };
        let Some(location) = self.ledger.bookings.get(&id).map(|booking| booking.location) else { return };
        if let Some(what) = what(self, id) {
            self.plan_request(MINUTE, location, what);
        }
    }

    pub fn some_promise(&mut self) -> Option<BookSlot> {
        let known: Vec<_> = self.ledger.promises.keys().rev().cloned().collect();
        let key = self.random.pick(&known)?.clone();
        self.ledger.promises.get(&key).map(|promise| promise.request.clone())
    }

    fn use_key_again(&mut self, change: impl FnOnce(&mut Sim, &mut BookSlot)) {
        let Some(mut request) = self.some_promise() else { return };
        change(self, &mut request);
        self.plan_request(MINUTE, request.offer.location, RequestKind::Book(Box::new(request)));
    }

    /// Reuses a key at another location of the institution or for another booking. This is allowed after the key has
    /// expired.
    fn use_key_elsewhere(&mut self, anywhere: bool) -> Option<()> {
        let old = self.some_promise()?;
        let others: Vec<LocationId> = self
            .plan
            .setup
            .locations
            .values()
            .filter(|location| location.institution == old.offer.institution)
            .map(|location| location.id)
            .filter(|id| anywhere || *id != old.offer.location)
            .collect();
        let location = *self.random.pick(&others)?;
        let offer = self.offer(location)?;
        let request = BookSlot { idempotency_key: old.idempotency_key, ..self.request(offer) };
        self.plan_request(MINUTE, location, RequestKind::Book(Box::new(request)));
        Some(())
    }

    /// Delivers a client's request to the engine.
    pub fn deliver_request(&mut self, asked: ClientRequest) {
        let location = asked.location;
        if let RequestKind::Book(request) = &asked.what {
            let key = (request.offer.institution, request.idempotency_key.clone());
            self.ledger.attempts.entry(key).or_default().insert((location, request_content(request)));
        }
        if let RequestKind::Reschedule(request) = &asked.what {
            self.note_reschedule(request);
        }
        if let RequestKind::BookGroup(request) = &asked.what {
            self.note_group(request);
        }
        self.attend(location);
        if let RequestKind::Cancel(id) | RequestKind::Move(id, _) = &asked.what {
            // Skipped if staff moved the appointment to another location.
            let kept: Option<Record<records::Appointment>> = document(self, 0, id.0);
            if kept.is_some_and(|kept| kept.location() != location.0) {
                return;
            }
        }
        let before = match &asked.what {
            RequestKind::Reschedule(request) => Some(reschedules::before(self, request)),
            _ => None,
        };
        let before_group = match &asked.what {
            RequestKind::BookGroup(request) => Some(groups::before(self, request)),
            _ => None,
        };
        let (request, by) = (asked.what.request(), self.audit.call("client", false));
        let heard = if self.random.chance(30) {
            self.turn_elsewhere(location, &by, &request)
        } else {
            self.turn(location, Some(&by), &request)
        };
        match heard {
            TurnOutcome::Reply(reply) => {
                let booked = reply.as_ref().map(|booked| (booked.appointment.id, booked.replay));
                self.log_line(|| format!("client at {location}: {} -> {booked:?}", asked.what.name()));
                self.rescheduled(&asked, before.as_ref(), None);
                self.group_booked(&asked, before_group.as_ref(), None);
                if let RequestKind::Confirm(id) = &asked.what {
                    confirmations::acknowledged(self, *id);
                }
                self.answered(&asked, reply.ok_or(None));
            }
            TurnOutcome::Refused(refusal) => {
                self.log_line(|| format!("client at {location}: {} -> {refusal:?}", asked.what.name()));
                self.rescheduled(&asked, before.as_ref(), Some(&refusal));
                self.group_booked(&asked, before_group.as_ref(), Some(&refusal));
                self.answered(&asked, Err(Some(refusal)));
            }
            TurnOutcome::Busy | TurnOutcome::Nothing if asked.tries < PATIENCE => {
                self.log_line(|| format!("client at {location}: {} -> no answer", asked.what.name()));
                let at = self.now.plus(self.random.between(1..=90) * SECOND);
                self.agenda.plan(at, SimEvent::Request(ClientRequest { tries: asked.tries + 1, ..asked }));
            }
            TurnOutcome::Busy | TurnOutcome::Nothing => {
                self.log_line(|| format!("client at {location}: {} -> gives up", asked.what.name()));
            }
        }
    }

    fn rescheduled(&mut self, asked: &ClientRequest, before: Option<&BeforeReschedule>, refused: Option<&Refusal>) {
        if let (RequestKind::Reschedule(request), Some(before)) = (&asked.what, before) {
            reschedules::check(self, request, before, refused);
            let counted = if before.is_known() { &mut self.ledger.replays } else { &mut self.ledger.moves };
            *counted += usize::from(refused.is_none());
        }
    }

    fn group_booked(&mut self, asked: &ClientRequest, before: Option<&BeforeGroup>, refused: Option<&Refusal>) {
        if let (RequestKind::BookGroup(request), Some(before)) = (&asked.what, before) {
            groups::check(self, request, before, refused);
            if refused.is_none() {
                for id in groups::members(self, request) {
                    self.ledger.change(id, |booking| booking.acknowledged = true);
                }
            }
        }
    }

    fn answered(&mut self, asked: &ClientRequest, answer: Result<Booked, Option<Refusal>>) {
        if let RequestKind::Book(request) = &asked.what {
            one_key_one_answer::check(self, request, &answer);
            if let Ok(booked) = &answer {
                reschedules::check_booked(self, request);
                self.remember(request, booked);
            }
        }
    }
}

//! A location in virtual time. Its events are journaled as JSON, and its calls are answered by an unreliable EHR.

mod ehr;
mod hours;
mod operator;
mod replacements;
mod steps;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use location::{
    Location,
    command::{
        Book, BookGroup, BookPatient, Command, DecisionContext, Failure, Hold, KeyUse, OfferedSlot, Outcome, Placement,
        PulledOperatory, PulledPage, Reschedule, Retry, Save, Written,
    },
    decision::{Call, Decision, Refusal, Reply},
    event::{CallKind, Event},
    gate::Gate,
    hours::{HourKind, HourSource, Recurrence, Weekday, WorkingHour},
    ids::{AppointmentId, LocationId, OperatoryId, PatientId, ProviderId, WorkingHourId},
    intent::{ChangedDetails, WriteIntent},
    order::OrderingKey,
    pause::Directions,
    pull::Resource,
    resource::Operation,
    settings::{Capabilities, ConflictRule, MachineSettings, PullPlan},
    state::State,
    time::{HOUR, MINUTE, SECOND, Span, Timestamp},
    zone::Zone,
};

use crate::passes::Passes;
use ehr::SimEhr;
pub use steps::{How, SimStep, Staff, Variant};

pub struct Sim {
    pub now: Timestamp,
    random: u64,
    pub location: Location,
    passes: Passes,
    ehr: SimEhr,
    staff: bool,
    /// Calls in flight, with the page that was read or the hours that were sent.
    calls: Vec<(Call, Option<PulledPage>, Option<WorkingHour>)>,
    answers: Vec<Command>,
    journal: Vec<(Timestamp, String)>,
    snapshot: String,
    next_appointment: u64,
    /// The expected fingerprint, appointment and expiry of each idempotency key.
    keys: BTreeMap<String, (String, AppointmentId, Timestamp)>,
    hours: hours::HourMap,
    visits: replacements::VisitMap,
    /// Failed writes that can be retried.
    failed: Vec<Retry>,
    /// Created records.
    saved: BTreeSet<u8>,
    /// Bookings, with the number of final results reported for each.
    booked: BTreeMap<AppointmentId, u32>,
    /// Commands, replies and events, printed on failure.
    pub log: Vec<String>,
}

const START: Timestamp = Timestamp(1_796_112_000_000); // 2026-12-01T08:00Z
const STAFF_IDS: u64 = 1_000_000;

/// Returns a placement in one of 2 operatories with one of 2 providers, at some starts of the next two days. Half of
/// the starts overlap their neighbour.
fn place(slot: u8) -> Placement {
    let (operatory, provider, index) = (slot % 2, slot / 2 % 2, i64::from(slot / 4));
    let start = START.plus(30 * MINUTE + index % 16 * 15 * MINUTE + index / 16 % 2 * 24 * HOUR);
    Placement {
        operatory: Some(OperatoryId(operatory.into())),
        provider: Some(ProviderId(provider.into())),
        span: Span { start, end: start.plus(30 * MINUTE) },
    }
}

impl Sim {
    pub fn new(variant: &Variant) -> Sim {
        let mut settings = MachineSettings::new(LocationId(1), Zone::utc());
        settings.capabilities = Capabilities {
            integrated: true,
            new_patients: true,
            creates_appointments: true,
            reschedules: variant.moves,
            cancels: true,
            confirms: true,
            checks_in: true,
            notes: true,
            writes: [Resource::Payments, Resource::WorkingHours]
                .into_iter()
                .flat_map(|resource| {
                    [Operation::Create, Operation::Update, Operation::Delete].map(|operation| (resource, operation))
                })
                .collect(),
            pulls: [Resource::WorkingHours, Resource::Appointments]
                .map(|resource| PullPlan { resource, deletions_by_absence: variant.whole })
                .into(),
        };
        settings.quota = variant.quota;
        settings.write.concurrency = variant.concurrency;
        settings.write.max_queue = 12;
        settings.write.breaker_threshold = 2;
        settings.booking.max_holds = 3;
        settings.booking.key_lifetime = 3 * HOUR;
        settings.pull.guard_at_least = 3;
        settings.pull.busy_every = 2 * MINUTE;
        settings.pull.night_every = HOUR;
        if variant.move_on_conflict {
            settings.booking.on_conflict = ConflictRule::MoveOperatory;
        }
        let mut state = State::default();
        let mut ehr = SimEhr::new(variant.whole);
        for operatory in 0..2 {
            let id = OperatoryId(operatory);
            let operatory_pulled = Event::OperatoryPulled(PulledOperatory { id, active: true });
            state.evolve(Timestamp(0), &operatory_pulled, settings.quota);
            for provider in 0..2 {
                let hour = WorkingHour {
                    id: WorkingHourId(operatory as u32 * 2 + provider),
                    provider: ProviderId(provider),
                    operatory: Some(id),
                    begin: 0,
                    end: 24 * 60,
                    recurrence: Recurrence::Weekly(Weekday::ALL.to_vec()),
                    kind: HourKind::WorkingHour,
                    source: HourSource::Synced,
                    appointment_types: Vec::new(),
                    active: true,
                };
                ehr.set_hour(hour.id.0, Some(hour.clone()));
                state.evolve(Timestamp(0), &Event::HourPulled(hour), settings.quota);
            }
        }
        Sim {
            now: START,
            passes: Passes::default(),
            random: 0,
            snapshot: serde_json::to_string(&state).unwrap(),
            location: Location::load(Arc::new(settings), state),
            ehr,
            staff: variant.staff,
            calls: Vec::new(),
            answers: Vec::new(),
            journal: Vec::new(),
            next_appointment: 0,
            keys: BTreeMap::new(),
            hours: hours::HourMap::default(),
            visits: replacements::VisitMap::default(),
            failed: Vec::new(),
            saved: BTreeSet::new(),
            booked: BTreeMap::new(),
            log: Vec::new(),
        }
    }

    fn run(&mut self, command: &Command) -> Decision {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let command = &self.passes.complete(&self.location, self.now, command);
        let decision = self.location.decide(DecisionContext { now: self.now, random: self.random }, command);
        self.passes.keep(&self.location, command, &decision.events);
        let state = &self.location.state;
        for call in &decision.calls {
            let held = match call {
                Call::Pull { .. } => state.is_reading_suspended(),
                Call::Write { .. } => state.is_writing_suspended(),
            };
            assert!(!held, "a call was made while the gate was shut or an operator had paused the direction: {call:?}");
        }
        let (passed, command_said) = (self.now.since(START), format!("{command:?}"));
        self.log.push(format!("{passed} {command_said}\n    -> {:?}", decision.reply));
        self.note_failures(&decision.events);
        for event in &decision.events {
            self.location.evolve(self.now, event);
            let written = serde_json::to_string(event).unwrap();
            self.log.push(format!("    {written}"));
            self.journal.push((self.now, written));
            self.witness(event);
        }
        self.location.check(self.now);
        for call in &decision.calls {
            // A page may be read at any time between request and answer: now, or when it is answered.
            let read = match call {
                Call::Pull { resource, cursor, .. } if self.random >> 60 < 8 => {
                    Some(self.read(*resource, cursor.as_deref()))
                }
                _ => None,
            };
            let sent = match call {
                Call::Write { write, .. } => self.location.state.queue.get(*write).and_then(|w| w.sent_hour.as_deref()),
                Call::Pull { .. } => None,
            };
            let sent = sent.cloned();
            self.calls.push((call.clone(), read, sent));
        }
        self.link_visits(&decision.events);
        self.link_written_hours(&decision.events);
        decision
    }

    fn read(&self, resource: Resource, cursor: Option<&str>) -> PulledPage {
        if resource == Resource::WorkingHours { self.ehr.page_of_hours(cursor) } else { self.ehr.page(cursor) }
    }

    /// Applies a write in the EHR.
    fn push(
        &mut self,
        work: WriteIntent,
        key: &str,
        place: Option<Placement>,
        sent: Option<WorkingHour>,
    ) -> Outcome<Written> {
        match work {
            WriteIntent::Record { resource: Resource::WorkingHours, id, operation } => {
                self.ehr.push_hour(key, operation, self.hours.number(id), sent)
            }
            _ => self.ehr.push(key, work, self.visits.target(work), place),
        }
    }

    fn witness(&mut self, event: &Event) {
        match event {
            Event::Booked { appointment, key, .. } => {
                self.booked.insert(*appointment, 0);
                if let Some(key) = key {
                    self.keys.insert(key.key.clone(), (key.fingerprint.clone(), *appointment, key.expires));
                }
            }
            Event::InsertDone { appointment, .. } | Event::InsertFailed { appointment, .. } => {
                *self.booked.get_mut(appointment).expect("only bookings have inserts") += 1;
                assert_eq!(self.booked[appointment], 1, "the result of {appointment} is reported once");
            }
            _ => {}
        }
    }

    /// Runs the timer until nothing is due, and asserts that each run has an effect.
    fn wake(&mut self) {
        for _ in 0..1_000 {
            let Some(due) = self.location.wake_at().filter(|due| *due <= self.now) else { return };
            let decision = self.run(&Command::Wake);
            let after = self.location.wake_at();
            assert!(
                !decision.events.is_empty() || after.is_none_or(|after| after > self.now),
                "due at {due:?}, woken at {:?}, nothing happened, due again at {after:?}",
                self.now
            );
        }
        panic!("a busy loop at {:?}: {:?}", self.now, self.location.wake_at());
    }

    pub fn step(&mut self, step: &SimStep) {
        self.log.push(format!("{} # {step:?}", self.now.since(START)));
        match step {
            SimStep::Book { slot, patient, key, data, new, hold } => {
                self.book(*slot, *patient, *key, *data, *new, *hold)
            }
            SimStep::BookGroup { members, key, new } => self.book_group(members, *key, *new),
            SimStep::Hold { slot, hold } => {
                let offer = self.offer(*slot, (*hold).into());
                self.run(&Command::Hold(Hold { offer, holder: None }));
            }
            SimStep::Release { hold } => {
                self.run(&Command::Release { hold: (*hold).into() });
            }
            SimStep::Move { which, slot } => {
                if let Some(appointment) = self.appointment(*which) {
                    // Clients move visits through the API, and patients through slot tokens.
                    self.run(&match slot / 4 % 2 {
                        0 => Command::Move { appointment, to: place(*slot), join_blocks: true },
                        _ => {
                            let offer = self.offer(*slot, u64::MAX);
                            Command::Reschedule(Reschedule { appointment, appointment_type: None, offer, key: None })
                        }
                    });
                }
            }
            SimStep::Cancel { which } => {
                if let Some(appointment) = self.appointment(*which) {
                    self.run(&Command::Cancel { appointment, reason: None });
                }
            }
            SimStep::Change { which, slot } => {
                if let Some(appointment) = self.appointment(*which) {
                    let to = (slot % 2 == 0).then(|| place(*slot));
                    let what =
                        ChangedDetails { confirmation: slot % 3 == 0, check_in: slot % 5 == 0, note: slot % 7 == 0 };
                    self.run(&Command::Change { appointment, to, join_blocks: true, what });
                }
            }
            SimStep::Save { patient, record, operation } => {
                let ordering_key = OrderingKey::Patient(PatientId((*patient).into()));
                let (resource, id) = (Resource::Payments, u64::from(*record));
                // A record is created once, and only an existing one is changed.
                let made = self.saved.contains(record);
                let operation = if made { *operation } else { Operation::Create };
                if operation != Operation::Create || !made {
                    let decision =
                        self.run(&Command::Save(Save { resource, id, operation, ordering_key, here_only: false }));
                    if let (Reply::Saved { .. }, Operation::Create) = (decision.reply, operation) {
                        self.saved.insert(*record);
                    }
                }
            }
            SimStep::Hour { which, what } => self.set_hours(*which, *what),
            SimStep::StaffHour { which, what } => self.staff_hours(*which, *what),
            SimStep::Retry { which } => self.retry(*which),
            SimStep::Drop { which } => self.give_up(*which),
            SimStep::Answer { which, how } => self.answer(*which, *how),
            SimStep::Again { which, off } => self.answer_again(*which, *off),
            SimStep::Staff { which, what, slot } => self.staff(*which, *what, *slot),
            SimStep::Pass(length) => self.now = self.now.plus(*length),
            SimStep::UntilDue => {
                if let Some(due) = self.location.wake_at() {
                    self.now = self.now.max(due);
                }
            }
            SimStep::Sync => {
                self.run(&Command::SyncNow);
            }
            SimStep::Read(everything) => {
                self.run(&Command::RequestRead { everything: *everything });
            }
            SimStep::Intent => self.location.last_intent = Some(self.now),
            SimStep::Gate(gate) => {
                self.run(&Command::Gate(*gate));
            }
            SimStep::Pause(which, true) => drop(self.run(&Command::Pause { which: *which })),
            SimStep::Pause(which, false) => drop(self.run(&Command::Resume { which: *which })),
            SimStep::Accept => {
                self.accept();
            }
            SimStep::Restart => self.restart(),
        }
        self.location.check(self.now);
        self.wake();
        if !self.staff {
            assert_eq!(self.ehr.double_booked(), None, "the EHR has two appointments at one place");
        }
    }

    /// Returns an offer of the slot, which expires in ten minutes.
    fn offer(&self, slot: u8, hold: u64) -> OfferedSlot {
        OfferedSlot { hold, ..OfferedSlot::new(place(slot), self.now.plus(10 * MINUTE)) }
    }

    fn appointment(&self, which: u8) -> Option<AppointmentId> {
        let known: Vec<_> = self.location.state.appointments.keys().collect();
        known.get(usize::from(which) % known.len().max(1)).map(|id| **id)
    }

    fn book(&mut self, slot: u8, patient: u8, key: u8, data: bool, new: bool, hold: u8) {
        self.next_appointment += 1;
        let (key, fingerprint) = (format!("k{key}"), format!("{data}"));
        let expected = self.keys.get(&key).filter(|(_, _, expires)| self.now < *expires).cloned();
        let book = Book {
            appointment: AppointmentId(self.next_appointment),
            offer: self.offer(slot, hold.into()),
            key: Some(KeyUse { key, fingerprint: fingerprint.clone(), claimed_by: None }),
            patient: BookPatient {
                id: PatientId(patient.into()),
                is_new: new,
                missing_fields: Vec::new(),
                date_of_birth: None,
            },
            by_rules: true,
        };
        let decision = self.run(&Command::Book(book));
        match expected {
            Some((first, appointment, _)) if first == fingerprint => {
                assert_eq!(decision.reply, Reply::Booked { appointment, replay: true }, "one key, one answer");
            }
            Some(_) => assert_eq!(decision.reply, Reply::Refused(Refusal::IdempotencyConflict)),
            None => {
                assert!(!matches!(decision.reply, Reply::Booked { replay: true, .. }), "a fresh key replays nothing")
            }
        }
    }

    /// Books several slots, and asserts that all or none of them are booked.
    fn book_group(&mut self, members: &[(u8, u8)], key: u8, new: bool) {
        let key = format!("g{key}");
        let fingerprint = format!("{members:?}");
        let expected = self.keys.get(&key).filter(|(_, _, expires)| self.now < *expires).cloned();
        let mut bookings = Vec::new();
        for (slot, patient) in members {
            self.next_appointment += 1;
            bookings.push(Book {
                appointment: AppointmentId(self.next_appointment),
                offer: self.offer(*slot, 100 + self.next_appointment),
                key: None,
                patient: BookPatient {
                    id: PatientId((*patient).into()),
                    is_new: new,
                    missing_fields: Vec::new(),
                    date_of_birth: None,
                },
                by_rules: true,
            });
        }
        let ids: Vec<AppointmentId> = bookings.iter().map(|booking| booking.appointment).collect();
        let key = KeyUse { key, fingerprint: fingerprint.clone(), claimed_by: None };
        let decision = self.run(&Command::BookGroup(BookGroup { bookings: bookings.clone(), key: Some(key) }));
        let booked = |id: &AppointmentId| self.location.state.appointments.contains_key(id);
        match (&decision.reply, expected) {
            (Reply::GroupBooked { appointments, replay: true }, Some((first, appointment, _))) => {
                assert_eq!((first, appointment), (fingerprint, appointments[0]), "one key, one answer");
                assert_eq!(appointments.len(), members.len(), "a replay returns all bookings");
                assert!(decision.events.is_empty() && !ids.iter().any(booked));
            }
            (Reply::Refused(Refusal::IdempotencyConflict), Some((first, ..))) => assert_ne!(first, fingerprint),
            (Reply::GroupBooked { appointments, replay: false }, None) => {
                assert_eq!(appointments, &ids);
                assert!(ids.iter().all(booked), "the whole group is booked");
                for (index, one) in bookings.iter().enumerate() {
                    let same_room = |other: &&Book| {
                        other.offer.placement.operatory == one.offer.placement.operatory
                            && other.offer.placement.span.overlaps(one.offer.placement.span)
                    };
                    assert_eq!(bookings[index + 1..].iter().find(same_room).map(|it| it.appointment), None);
                }
            }
            (Reply::Refused(Refusal::Member { index, .. }), None) => {
                assert!(*index < members.len(), "a refusal names a booking");
                assert!(decision.events.is_empty() && !ids.iter().any(booked), "nothing of the group is booked");
            }
            (reply, expected) => panic!("{reply:?} with the earlier booking {expected:?}"),
        }
    }

    fn answer(&mut self, which: u8, how: How) {
        if self.calls.is_empty() {
            return;
        }
        let (call, read, sent) = self.calls.remove(usize::from(which) % self.calls.len());
        let failure = match how {
            How::Well => None,
            How::DoneUnknown | How::Unknown => Some(Failure::Unknown("reset".into())),
            How::DoneSilent | How::Silent => None,
            How::Rejected => Some(Failure::Rejected("no".into())),
            How::RetryLater => Some(Failure::RetryLater { reason: "busy".into(), after: Some(3 * SECOND) }),
            How::NotReady => Some(Failure::NotReady("not yet".into())),
            How::NotBegun => Some(Failure::NotBegun("no place".into())),
            How::GateClosed => Some(Failure::GateClosed),
            How::Unauthorized => Some(Failure::Unauthorized("expired".into())),
        };
        let does = matches!(how, How::Well | How::DoneUnknown | How::DoneSilent);
        let command = match call {
            Call::Write { write, attempt, kind: CallKind::Push, work, key, placement, .. } => {
                let did = does.then(|| self.push(work, &key, placement, sent));
                let outcome = failure.map_or_else(|| did.unwrap_or(Err(Failure::Unknown("silence".into()))), Err);
                Command::Pushed { write, attempt, outcome }
            }
            Call::Write { write, attempt, kind: CallKind::Find, work, key, .. } => {
                // A successful look-up implies that no push of the key is in flight.
                self.calls.retain(|(other, ..)| !matches!(other, Call::Write { key: of, .. } if *of == key));
                Command::Found { write, attempt, outcome: failure.map_or(Ok(self.find(&key, work)), Err) }
            }
            Call::Pull { resource, call, cursor, .. } => {
                let page = read.unwrap_or_else(|| self.read(resource, cursor.as_deref()));
                let page = match resource {
                    Resource::WorkingHours => self.hours_shown(page),
                    _ => self.visits_shown(page),
                };
                Command::Pulled { resource, call, outcome: failure.map_or(Ok(page), Err) }
            }
        };
        if !matches!(how, How::DoneSilent | How::Silent) {
            self.run(&command);
            self.answers.push(command);
        }
    }

    /// Asserts that outdated answers change nothing.
    fn answer_again(&mut self, which: u8, off: bool) {
        if self.answers.is_empty() {
            return;
        }
        let mut command = self.answers[usize::from(which) % self.answers.len()].clone();
        if off {
            match &mut command {
                Command::Pushed { attempt, .. } | Command::Found { attempt, .. } => *attempt += 1_000,
                Command::Pulled { call, .. } => *call += 1_000,
                _ => {}
            }
        }
        let decision = self.run(&command);
        assert!(decision.events.is_empty(), "{command:?} came again and did {:?}", decision.events);
    }

    fn staff(&mut self, which: u8, what: Staff, slot: u8) {
        if !self.staff {
            return;
        }
        let known: Vec<_> = self.ehr.records.iter().filter(|(_, record)| !record.cancelled).collect();
        let chosen = known.get(usize::from(which) % known.len().max(1)).map(|(id, record)| (**id, record.placement));
        match (what, chosen) {
            (Staff::Book, _) => {
                self.next_appointment += 1;
                self.ehr.put(AppointmentId(STAFF_IDS + self.next_appointment), place(slot), false);
            }
            (Staff::Move, Some((id, _))) => self.ehr.put(id, place(slot), false),
            (Staff::Cancel, Some((id, placement))) => self.ehr.put(id, placement, true),
            // The processor can name a deleted record only if it has seen it.
            (Staff::Delete, Some((id, _))) => {
                let visit = self.visit_of(id).and_then(|visit| self.location.state.appointments.get(&visit));
                if visit.is_some_and(|a| a.in_ehr()) {
                    self.ehr.delete(id);
                }
            }
            (_, None) => {}
        }
    }

    fn replayed(&self) -> State {
        let state = serde_json::from_str(&self.snapshot).unwrap();
        let mut replayed = Location::load(self.location.settings.clone(), state);
        for (at, event) in &self.journal {
            replayed.evolve(*at, &serde_json::from_str(event).unwrap());
        }
        replayed.state
    }

    /// Restarts the process: calls in flight are never answered, and the state is rebuilt from the journal.
    fn restart(&mut self) {
        let state = self.replayed();
        assert_eq!(state, self.location.state, "replay leads to the live state");
        self.snapshot = serde_json::to_string(&state).unwrap();
        self.journal.clear();
        let state = serde_json::from_str(&self.snapshot).unwrap();
        self.location = Location::load(self.location.settings.clone(), state);
        assert_eq!(self.location.state, self.replayed(), "a snapshot keeps everything");
        // Half of the calls in flight still reach the EHR.
        let calls = std::mem::take(&mut self.calls);
        for (index, (call, _, sent)) in calls.into_iter().enumerate() {
            if let (Call::Write { kind: CallKind::Push, work, key, placement, .. }, 0) = (call, index % 2) {
                self.push(work, &key, placement, sent).ok();
            }
        }
    }

    /// Asserts that all work ends with a healthy EHR, and that the EHR and the location agree.
    pub fn settle(&mut self) {
        let deadline = self.now.plus(24 * 20 * HOUR);
        self.run(&Command::Gate(Gate::Open));
        self.run(&Command::Resume { which: Directions { reading: true, writing: true } });
        while !self.location.state.queue.is_empty() {
            self.go_on();
            self.accept();
            assert!(self.now < deadline, "the queue does not drain: {:?}", self.location.state.queue);
        }
        for (appointment, times) in &self.booked {
            assert_eq!(*times, 1, "the outcome of {appointment} is reported once");
        }
        let since = self.now;
        // A cycle that is already running may have read before the last change. The next one then shows a deletion by
        // its absence, and a third one confirms it.
        for _ in 0..3 {
            let before = self.location.state.pulls.last_success;
            self.run(&Command::SyncNow);
            while self.location.state.pulls.last_success == before {
                self.go_on();
                self.accept();
                assert!(self.now < since.plus(24 * HOUR), "no read cycle ends: {:?}", self.location.state.pulls);
            }
        }
        self.agrees();
        self.hours_agree();
        self.restart();
    }

    fn accept(&mut self) {
        for resource in [Resource::WorkingHours, Resource::Appointments] {
            self.run(&Command::AcceptDeletions { resource });
        }
    }

    fn find(&self, key: &str, work: WriteIntent) -> Option<Written> {
        match work {
            WriteIntent::Record { resource: Resource::WorkingHours, .. } => self.ehr.find_hour(key),
            _ => self.ehr.find(key, work),
        }
    }

    fn go_on(&mut self) {
        self.now = self.now.plus(1);
        self.wake();
        while !self.calls.is_empty() {
            self.answer(0, How::Well);
            self.wake();
        }
        if let Some(due) = self.location.wake_at() {
            self.now = self.now.max(due);
        }
        self.wake();
    }

    /// Asserts that the location and the EHR have the same future appointments.
    fn agrees(&self) {
        let ours = self.location.state.appointments.iter().filter(|(_, known)| !known.gone);
        let ours: BTreeMap<_, _> =
            ours.map(|(id, a)| (*id, a.placement)).filter(|(_, place)| self.to_come(place)).collect();
        let theirs = self.ehr.records.iter().filter(|(id, record)| !record.cancelled && !self.is_left_behind(**id));
        let theirs = theirs.filter(|(_, record)| self.to_come(&record.placement));
        let theirs: Vec<_> = theirs.map(|(id, record)| (self.visit_of(*id).unwrap_or(*id), record.placement)).collect();
        let visits = theirs.len();
        let theirs: BTreeMap<_, _> = theirs.into_iter().collect();
        assert_eq!(theirs.len(), visits, "each visit is in the EHR once");
        assert_eq!(ours, theirs, "machine and EHR agree");
        for (id, appointment) in self.location.state.appointments.iter().filter(|(_, a)| self.to_come(&a.placement)) {
            let settled = appointment.settled() || !appointment.replaced.is_empty();
            assert!(settled, "{id} is settled: {appointment:?}");
        }
    }

    fn to_come(&self, place: &Placement) -> bool {
        self.now < place.span.start
    }
}

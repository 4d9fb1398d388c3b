//! A weekend without workstations, in virtual time: five hundred writes wait at a closed gate, and forty appointments
//! are past when a user logs in.

use std::{collections::BTreeMap, sync::Arc};

use location::{
    Location,
    command::{Book, BookPatient, Command, DecisionContext, OfferedSlot, Placement, PulledOperatory, Written},
    decision::{Call, Reply},
    event::{CallKind, Event, InsertFailure},
    gate::{Gate, Shut},
    hours::{HourKind, HourSource, Recurrence, Weekday, WorkingHour},
    ids::{AppointmentId, LocationId, OperatoryId, PatientId, ProviderId, WorkingHourId},
    settings::{Capabilities, MachineSettings, Quota},
    state::State,
    time::{DAY, HOUR, MINUTE, Millis, SECOND, Span, Timestamp},
    zone::Zone,
};

const START: Timestamp = Timestamp(1_796_112_000_000); // 2026-12-01T08:00Z
const WRITES: u64 = 500;
const PAST: u64 = 40;
const OFFLINE: Millis = 3 * DAY;
const QUOTA: Quota = Quota { per_minute: 60, burst: 5 };
/// Answer time of workstation and EHR for one write.
const ANSWERED: Millis = 300;

struct Machine {
    now: Timestamp,
    location: Location,
    /// Calls in flight, by the time of their answer.
    calls: BTreeMap<(Timestamp, u64), (u64, u32)>,
    made: u64,
    /// Writes in the EHR in order of arrival, with the time.
    written: Vec<(u64, Timestamp)>,
    timed_out: Vec<(AppointmentId, Timestamp)>,
    confirmed: Vec<AppointmentId>,
}

impl Machine {
    fn new() -> Machine {
        let mut settings = MachineSettings::new(LocationId(1), Zone::utc());
        settings.capabilities = Capabilities {
            integrated: true,
            new_patients: true,
            creates_appointments: true,
            ..Capabilities::default()
        };
        settings.quota = QUOTA;
        settings.write.concurrency = 2;
        let mut state = State::default();
        for n in 1..=20 {
            let operatory = Event::OperatoryPulled(PulledOperatory { id: OperatoryId(n), active: true });
            state.evolve(START, &operatory, QUOTA);
            let hour = WorkingHour {
                id: WorkingHourId(n as u32),
                provider: ProviderId(n as u32),
                operatory: Some(OperatoryId(n)),
                begin: 0,
                end: 24 * 60,
                recurrence: Recurrence::Weekly(Weekday::ALL.to_vec()),
                kind: HourKind::WorkingHour,
                source: HourSource::Synced,
                appointment_types: Vec::new(),
                active: true,
            };
            state.evolve(START, &Event::HourPulled(hour), QUOTA);
        }
        Machine {
            now: START,
            location: Location::load(Arc::new(settings), state),
            calls: BTreeMap::new(),
            made: 0,
            written: Vec::new(),
            timed_out: Vec::new(),
            confirmed: Vec::new(),
        }
    }

    fn tell(&mut self, command: &Command) -> Reply {
        let decision = self.location.decide(DecisionContext { now: self.now, random: self.made }, command);
        for event in &decision.events {
            self.location.evolve(self.now, event);
            match event {
                Event::InsertFailed { appointment, how: InsertFailure::TimedOut, .. } => {
                    self.timed_out.push((*appointment, self.now));
                }
                Event::InsertFailed { appointment, how, reason } => panic!("{appointment:?} {how:?} {reason}"),
                Event::InsertDone { appointment, .. } => self.confirmed.push(*appointment),
                _ => {}
            }
        }
        self.location.check(self.now);
        for call in decision.calls {
            let Call::Write { write, attempt, kind, .. } = call else { continue };
            assert_eq!(kind, CallKind::Push, "nothing is unknown here");
            self.made += 1;
            self.calls.insert((self.now.plus(ANSWERED), self.made), (write.0, attempt));
        }
        decision.reply
    }

    fn book(&mut self, n: u64, start: Timestamp) -> AppointmentId {
        let appointment = AppointmentId(n + 1);
        let (operatory, provider) = (OperatoryId(n % 20 + 1), ProviderId((n % 20 + 1) as u32));
        let span = Span { start, end: start.plus(10 * MINUTE) };
        let place = Placement { operatory: Some(operatory), provider: Some(provider), span };
        let reply = self.tell(&Command::Book(Book {
            appointment,
            offer: OfferedSlot { hold: n, ..OfferedSlot::new(place, self.now.plus(HOUR)) },
            key: None,
            patient: BookPatient {
                id: PatientId(n as u32 + 1),
                is_new: false,
                missing_fields: Vec::new(),
                date_of_birth: None,
            },
            by_rules: true,
        }));
        assert!(matches!(reply, Reply::Booked { .. }), "{reply:?}");
        appointment
    }

    /// Advances time from one due event to the next.
    fn until(&mut self, end: Timestamp) {
        loop {
            let answer = self.calls.keys().next().copied();
            let wake = self.location.wake_at();
            let next = [answer.map(|(at, _)| at), wake].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.now = self.now.max(next);
            if let Some(key) = answer.filter(|(at, _)| *at == next) {
                let (write, attempt) = self.calls.remove(&key).unwrap();
                self.written.push((write, self.now));
                let written = Written { foreign_id: format!("f{write}"), version: None };
                self.tell(&Command::Pushed { write: location::ids::WriteId(write), attempt, outcome: Ok(written) });
            } else {
                self.tell(&Command::Wake);
            }
        }
        self.now = end;
    }
}

#[test]
fn three_days_offline_lose_only_past_appointments() {
    let mut machine = Machine::new();
    machine.tell(&Command::Gate(Gate::Shut(Shut::NoWorkstation)));
    // About every twelfth appointment is within the three days; the others are later.
    let (mut past, mut to_come, mut queued) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..WRITES {
        let soon = n % 12 == 3 && (past.len() as u64) < PAST;
        let at = if soon {
            START.plus(2 * HOUR + n as i64 * 5 * MINUTE)
        } else {
            START.plus(4 * DAY + n as i64 * 10 * MINUTE)
        };
        let appointment = machine.book(n, at);
        if soon {
            past.push((appointment, at))
        } else {
            to_come.push(appointment)
        }
        queued.push(appointment);
        machine.now = machine.now.plus(10 * SECOND);
    }
    assert_eq!((past.len() as u64, to_come.len() as u64), (PAST, WRITES - PAST));

    machine.until(START.plus(OFFLINE));
    assert!(machine.written.is_empty() && machine.calls.is_empty(), "something was sent through a shut gate");
    // Each write timed out when its appointment began.
    let expected: Vec<_> = past.clone();
    assert_eq!(machine.timed_out, expected);
    assert_eq!(machine.location.state.queue.len() as u64, WRITES - PAST);

    let opened = machine.now;
    machine.tell(&Command::Gate(Gate::Open));
    machine.until(opened.plus(HOUR));
    let ids: Vec<u64> = machine.written.iter().map(|(write, _)| *write).collect();
    let mut once = ids.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!((once.len(), ids.len()), (460, 460), "each exactly once");
    assert_eq!(once, ids, "in the order in which they were asked for");
    assert_eq!(machine.confirmed, to_come);
    assert_eq!((machine.location.state.queue.len(), machine.timed_out.len() as u64), (0, PAST));

    // At the EHR's quota almost without idle time: a bucket of `burst`, then one per second.
    let took = machine.written.last().unwrap().1.since(opened);
    let least = (460 - i64::from(QUOTA.burst)) * MINUTE / i64::from(QUOTA.per_minute);
    assert!(took >= least, "{took} is faster than the quota allows: {least}");
    assert!((took - least) * 20 <= least, "{took} where {least} would do");
}

//! One location with its journal, and the expectations that a story can check.

use std::sync::Arc;

use location::{
    Location,
    command::{Closed, Command, DecisionContext, PulledOperatory, Retried, Retry},
    decision::Decision,
    event::Event,
    hours::{HourKind, HourSource, Recurrence, Weekday, WorkingHour},
    ids::{AppointmentId, AppointmentTypeId, LocationId, OperatoryId, ProviderId, WorkingHourId, WriteId},
    intent::WriteIntent,
    pull::Resource,
    queue::WriteState,
    resource::Operation,
    rules::Candidate,
    settings::{Capabilities, ConflictRule, MachineSettings, PullPlan},
    slots::{Fit, RequestedSlot, Slot, fits},
    state::{Insert, State},
    time::Timestamp,
    zone::Zone,
};

use super::text::{id, length, optional, place, resource, show_blocked, show_kind, show_place, show_time, time};
use crate::passes::Passes;

pub struct StoryWorld {
    pub now: Timestamp,
    pub random: u64,
    location: Location,
    passes: Passes,
    /// All events as stored.
    journal: Vec<(Timestamp, String)>,
    /// The state before the journal.
    snapshot: String,
}

pub fn hour(id: u32, operatory: u64, provider: u32) -> WorkingHour {
    WorkingHour {
        id: WorkingHourId(id),
        provider: ProviderId(provider),
        operatory: Some(OperatoryId(operatory)),
        begin: 8 * 60,
        end: 18 * 60,
        recurrence: Recurrence::Weekly(Weekday::ALL.to_vec()),
        kind: HourKind::WorkingHour,
        source: HourSource::Synced,
        appointment_types: Vec::new(),
        active: true,
    }
}

impl StoryWorld {
    /// Creates a practice with an EHR that supports everything. Providers 1 and 2 work from 08:00 to 18:00 in
    /// operatories 1 to 3. Nothing is pulled unless a story sets it. The EHR's appointments count as known unless a
    /// story is `new_here`.
    pub fn new() -> StoryWorld {
        let mut settings = MachineSettings::new(LocationId(1), Zone::utc());
        settings.write.settle = 5_000;
        settings.capabilities = Capabilities {
            integrated: true,
            new_patients: true,
            creates_appointments: true,
            reschedules: true,
            cancels: true,
            confirms: true,
            checks_in: true,
            notes: true,
            writes: [
                (Resource::Patients, Operation::Update),
                (Resource::InsurancePlans, Operation::Create),
                (Resource::Coverages, Operation::Create),
                (Resource::Coverages, Operation::Delete),
                (Resource::Payments, Operation::Create),
            ]
            .into(),
            pulls: Vec::new(),
        };
        let mut state = State::default();
        let mut happened = |event: Event| state.evolve(Timestamp::default(), &event, settings.quota);
        for operatory in 1..=3 {
            happened(Event::OperatoryPulled(PulledOperatory { id: OperatoryId(operatory), active: true }));
            for provider in 1..=2 {
                happened(Event::HourPulled(hour(operatory as u32 * 10 + provider, operatory, provider)));
            }
        }
        state.pulls.known.insert(Resource::Appointments);
        let snapshot = serde_json::to_string(&state).unwrap();
        let now = time(Timestamp::default(), "2026-12-01T08:00").unwrap();
        let location = Location::load(Arc::new(settings), state);
        StoryWorld { now, random: 1, location, passes: Passes::default(), journal: Vec::new(), snapshot }
    }

    /// Returns the contents of a failed write from the journal.
    pub fn failed(
        &self,
        failed: WriteId,
        what: impl FnOnce(WriteIntent) -> Result<Retried, String>,
    ) -> Result<Retry, String> {
        let events: Vec<Event> = self.journal.iter().map(|(_, text)| serde_json::from_str(text).unwrap()).collect();
        let sent = events.iter().any(|event| matches!(event, Event::CallStarted { write, .. } if *write == failed));
        let found = events.into_iter().find_map(|event| match event {
            Event::WriteQueued { write, work, ordering_key, key, .. } if write == failed => {
                Some((work, ordering_key, key))
            }
            Event::WriteRetried { write, work, ordering_key, key, .. } if write == failed => {
                Some((work, ordering_key, key))
            }
            _ => None,
        });
        let (work, ordering_key, key) = found.ok_or("the journal has no such write")?;
        Ok(Retry { write: failed, work, ordering_key, key, sent, what: what(work)? })
    }

    pub fn set_time(&mut self, now: Timestamp) {
        assert!(self.now <= now, "time must not go backwards");
        self.now = now;
        self.location.check(now);
    }

    pub fn prefetch(&mut self, resource: Resource, call: u64) -> Result<(), String> {
        let deadline = self.location.prefetch(self.now, resource, call, 0);
        deadline.map(|_| ()).ok_or("the location may not ask for the page".to_owned())
    }

    pub fn intent(&mut self) {
        self.location.last_intent = Some(self.now);
        self.location.check(self.now);
    }

    pub fn run(&mut self, command: &Command) -> Decision {
        let command = &self.passes.complete(&self.location, self.now, command);
        let decision = self.location.decide(DecisionContext { now: self.now, random: self.random }, command);
        self.passes.keep(&self.location, command, &decision.events);
        for event in &decision.events {
            self.location.evolve(self.now, event);
            self.journal.push((self.now, serde_json::to_string(event).unwrap()));
        }
        self.location.check(self.now);
        decision
    }

    /// Checks that replaying the journal gives the same state.
    pub fn same_after_replay(&self) -> Result<(), String> {
        let replayed = self.replayed();
        if replayed.state == self.location.state {
            return Ok(());
        }
        Err(format!("the replayed state differs\n  {:?}\n  {:?}", replayed.state, self.location.state))
    }

    fn replayed(&self) -> Location {
        let state = serde_json::from_str(&self.snapshot).unwrap();
        let mut replayed = Location::load(self.location.settings.clone(), state);
        for (at, event) in &self.journal {
            replayed.evolve(*at, &serde_json::from_str(event).unwrap());
        }
        replayed
    }

    /// Restarts from a snapshot of the replayed state.
    pub fn restart(&mut self) {
        let replayed = self.replayed();
        self.snapshot = serde_json::to_string(&replayed.state).unwrap();
        self.journal.clear();
        let state = serde_json::from_str(&self.snapshot).unwrap();
        self.location = Location::load(self.location.settings.clone(), state);
        self.location.check(self.now);
    }

    pub fn set_rule(&mut self, word: &str) -> Result<(), String> {
        super::rules::set_rule(&mut Arc::make_mut(&mut self.location.settings).rules, word)
    }

    /// Returns the digest that a slot token for the type would have.
    pub fn rules_digest(&self, appointment_type: Option<AppointmentTypeId>) -> u64 {
        self.location.settings.rules.digest(appointment_type)
    }

    pub fn set(&mut self, word: &str) -> Result<(), String> {
        let settings = Arc::make_mut(&mut self.location.settings);
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let number = || value.parse::<u32>().map_err(|_| format!("`{value}` is no number"));
        let (write, pull, booking) = (&mut settings.write, &mut settings.pull, &mut settings.booking);
        let small = || value.parse::<u8>().map_err(|_| format!("`{value}` is no small number"));
        let can = &mut settings.capabilities;
        match name {
            // The state of a new location, before any pull.
            "new_here" => {
                self.location.state.pulls.known.clear();
                self.snapshot = serde_json::to_string(&self.location.state).unwrap();
            }
            "unintegrated" => can.integrated = false,
            "integrated" => can.integrated = true,
            "no_new_patients" => can.new_patients = false,
            "no_creates" => can.creates_appointments = false,
            "no_reschedules" => can.reschedules = false,
            "no_cancels" => can.cancels = false,
            "no_confirms" => can.confirms = false,
            "no_notes" => can.notes = false,
            "no_writes" => can.writes.clear(),
            // `hours=create,update,delete`
            "hours" => {
                can.writes.retain(|(resource, _)| *resource != Resource::WorkingHours);
                for operation in value.split(',') {
                    let (_, operation) =
                        super::text::OPERATIONS.iter().find(|(name, _)| *name == operation).ok_or("no operation")?;
                    can.writes.insert((Resource::WorkingHours, *operation));
                }
            }
            "map_by_operatory" => settings.map_by_operatory = true,
            // `pulls=patients,appointments!`: the mark means that absent records were deleted.
            "pulls" => {
                can.pulls = value
                    .split(',')
                    .map(|word| {
                        let (name, absence) = word.strip_suffix('!').map_or((word, false), |name| (name, true));
                        Ok(PullPlan { resource: resource(name)?, deletions_by_absence: absence })
                    })
                    .collect::<Result<_, String>>()?;
            }
            "hold" => booking.hold = length(value)?,
            "max_holds" => booking.max_holds = number()?,
            "max_holds_per_key" => booking.max_holds_per_key = number()?,
            "key_lifetime" => booking.key_lifetime = length(value)?,
            "alternatives" => booking.alternatives = small()?,
            "on_conflict" => {
                booking.on_conflict = if value == "move" { ConflictRule::MoveOperatory } else { ConflictRule::Fail }
            }
            "concurrency" => write.concurrency = small()?,
            "threshold" => write.breaker_threshold = small()?,
            "max_resends" => write.max_resends = number()?,
            "max_queue" => write.max_queue = number()?,
            "deadline" => write.deadline = length(value)?,
            "backoff_base" => write.backoff_base = length(value)?,
            "place_wait" => settings.place_wait = length(value)?,
            "backoff_cap" => write.backoff_cap = length(value)?,
            "max_pages" => pull.max_pages = number()?,
            "every" => pull.every = length(value)?,
            "busy_every" => pull.busy_every = length(value)?,
            "night_every" => pull.night_every = length(value)?,
            "jitter_percent" => pull.jitter_percent = small()?,
            "confirm_after" => pull.confirm_after = length(value)?,
            "guard_at_least" => pull.guard_at_least = number()?,
            "per_minute" => settings.quota.per_minute = number()?,
            "burst" => settings.quota.burst = number()?,
            other => return Err(format!("`{other}` is no setting")),
        }
        Ok(())
    }

    pub fn expect(&self, words: &[String]) -> Result<(), String> {
        let got = self.got(&words[0], words.get(1).map_or("", String::as_str), words)?;
        let expected = words[got.asked..].join(" ");
        if super::text::like(&expected, &got.answer) {
            return Ok(());
        }
        Err(format!("\n  expected  {expected}\n  got       {}", got.answer))
    }

    /// Returns the current value of the named thing.
    fn got(&self, what: &str, which: &str, words: &[String]) -> Result<Got, String> {
        let (state, now) = (&self.location.state, self.now);
        let at = |t: Timestamp| show_time(now, t);
        Ok(match what {
            // `due`, a time, or `never`.
            "wake" => Got::new(
                1,
                match self.location.wake_at() {
                    None => "never".into(),
                    Some(due) if due <= now => "due".into(),
                    Some(due) => at(due),
                },
            ),
            "queue" => Got::new(1, list(state.queue.iter().map(|(id, _)| format!("w{id}")))),
            "conflicts" => Got::new(1, list(state.conflicts.iter().map(|id| format!("a{id}")))),
            "holds" => Got::new(1, list(state.holds.keys().map(|id| format!("h{id}")))),
            "keys" => Got::new(1, list(state.keys.keys().cloned())),
            "path" => Got::new(
                1,
                state
                    .breaker
                    .blocked
                    .map_or("open".into(), |block| format!("{} until {}", show_blocked(block.why), at(block.until))),
            ),
            "reads" => {
                let failing = state.pulls.failing.as_ref();
                Got::new(
                    1,
                    failing.map_or("fine".into(), |(since, reason)| format!("failing since {} {reason}", at(*since))),
                )
            }
            // The age of the schedule: the start of the last complete read of the appointments.
            "schedule" => Got::new(1, self.location.schedule_as_of(now).map_or("never".into(), at)),
            "cursor" => Got::new(2, state.pulls.cursors.get(&resource(which)?).cloned().unwrap_or("none".into())),
            "write" => Got::new(2, self.write(WriteId(id("w", which)?))),
            // The remaining wait of a write is between two lengths.
            "waits" => {
                let write = state.queue.get(WriteId(id("w", which)?)).ok_or("no such write")?;
                let WriteState::Waiting { not_before } = write.state else { return Err("it does not wait".into()) };
                let (least, most) = (length(&words[2])?, length(&words[3])?);
                let within = (least..=most).contains(&not_before.since(now));
                let answer = if within { words[2..].join(" ") } else { format!("{} ms", not_before.since(now)) };
                Got::new(2, answer)
            }
            "appointment" => Got::new(2, self.appointment(AppointmentId(id("a", which)?))),
            "hours" => Got::new(1, list(state.hours.keys().map(ToString::to_string))),
            // Local hours that the EHR has confirmed, with their ends.
            "told" => {
                Got::new(1, list(state.confirmed_hours.values().map(|it| format!("{} until {}", it.id, it.end / 60))))
            }
            "hour" => {
                let id = WorkingHourId(id("", which)?);
                let known = state.hours.get(&id).ok_or("no such hours")?;
                Got::new(2, format!("until {}", known.end / 60))
            }
            // The result of checking a slot.
            "slot" => {
                let place = place(now, &words[1..5])?;
                let slot =
                    Slot { span: place.span, provider: place.provider.ok_or("whose?")?, operatory: place.operatory };
                let requested = RequestedSlot { slot, appointment_type: None, join_blocks: true, own: Vec::new() };
                let fit = fits(self.location.hours(), &state.calendar, &self.location.settings.zone, &requested);
                Got::new(
                    5,
                    match fit {
                        Fit::Free => "free".into(),
                        Fit::Busy(_) => "busy".into(),
                        Fit::OutsideHours | Fit::TypeNotAccepted => "closed".into(),
                    },
                )
            }
            // The judgement of a time for a type: `judge op1 prov1 10:00 30m - offered`.
            "judge" => {
                let place = place(now, &words[1..5])?;
                let slot =
                    Slot { span: place.span, provider: place.provider.ok_or("whose?")?, operatory: place.operatory };
                let kind = optional("t", words.get(5).ok_or("of which type?")?)?;
                let candidate = Candidate {
                    slot,
                    appointment_type: kind.map(AppointmentTypeId),
                    join_blocks: true,
                    own: Vec::new(),
                    closed: &Closed::default(),
                    channel: None,
                    patient: None,
                    also_taken: &[],
                };
                Got::new(6, self.location.judge(now, &candidate).to_string())
            }
            // The notice by which a visit can no longer be changed: `too_late cancel a1 24h`, or `no`.
            "too_late" => {
                let appointment = AppointmentId(id("a", words.get(2).ok_or("which appointment?")?)?);
                let notice = self.location.change_too_late(now, appointment, which == "cancel", None);
                Got::new(3, notice.map_or("no".into(), super::text::show_length))
            }
            "same_after_replay" => Got::new(1, self.same_after_replay().map(|()| String::new())?),
            other => return Err(format!("unknown expectation `{other}`")),
        })
    }

    fn write(&self, id: WriteId) -> String {
        let Some(write) = self.location.state.queue.get(id) else { return "none".into() };
        let unknown = if write.unknown { " unknown" } else { "" };
        let deadline = show_time(self.now, write.deadline);
        match write.state {
            WriteState::Waiting { not_before } => {
                format!("waiting{unknown} until {} deadline {deadline}", show_time(self.now, not_before))
            }
            WriteState::Calling { kind, .. } => {
                format!("calling {} {} deadline {deadline}", show_kind(kind), write.attempts)
            }
        }
    }

    fn appointment(&self, id: AppointmentId) -> String {
        let Some(known) = self.location.state.appointments.get(&id) else { return "none".into() };
        let insert = match known.insert {
            Insert::Pulled => "pulled",
            Insert::Pending => "pending",
            Insert::Done => "done",
        };
        let cancelling = if known.cancelling { " cancelling" } else { "" };
        let vacating: String =
            known.vacating.iter().map(|place| format!(" vacating {}", show_place(self.now, place))).collect();
        format!("{} {insert}{cancelling}{vacating}", show_place(self.now, &known.placement))
    }
}

struct Got {
    /// Number of words that name the thing; the rest is the expected value.
    asked: usize,
    answer: String,
}

impl Got {
    fn new(asked: usize, answer: String) -> Got {
        Got { asked, answer }
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<_> = items.collect();
    if items.is_empty() { "none".into() } else { items.join(" ") }
}

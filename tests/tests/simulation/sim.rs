//! A simulated run drawn from a seed. Time advances from event to event until clients, staff and faults stop and all
//! work must complete.

use std::{collections::BTreeMap, sync::Arc};

use location::{
    command::{Command, Placement, PulledOperatory},
    event::Event,
    hours::{HourKind, HourSource, Recurrence, Weekday, WorkingHour},
    ids::{LocationId, OperatoryId, ProviderId, WorkingHourId, WriteId},
    state::Insert,
    time::{HOUR, MINUTE, SECOND, Timestamp},
};
use processor::processor::Deps;
use records::{self, ehr::EhrAppointment};
use setup::Setup;
use store::{Batch, Store, journal, keys};
use webhooks::follower::Follower;

use super::{
    agenda::{Agenda, SimEvent},
    audit::{self, Audit},
    disk::SimDisk,
    ehr::{Reachability, SimEhr},
    followers, invariants,
    ledger::Ledger,
    liveness,
    log::Log,
    plan::{ALONE, SimPlan},
    prefetch::PageCounts,
    process::{Process, environment},
    sim_request::SimRequest,
};
use tests::harness::random::SeededRandom;

/// Number of events between two full checks of one location.
const SWEEP_EVERY: u64 = 100;
/// Maximum number of events in one instant; more mean that time does not advance.
const AT_ONCE: u32 = 3_000;
/// Maximum number of planned events; more mean unbounded growth.
const PLANS: usize = 2_000;

pub struct Sim {
    pub random: SeededRandom,
    pub log: Log,
    pub now: Timestamp,
    pub plan: SimPlan,
    pub store: Arc<SimDisk>,
    pub process: Process,
    /// Another process on the same store.
    pub rival: Arc<Deps>,
    /// The other process's handle of the store.
    pub rivals: Arc<SimDisk>,
    /// The other process's follower.
    pub rival_follower: Arc<Follower>,
    pub ehrs: BTreeMap<u32, SimEhr>,
    pub agenda: Agenda,
    pub ledger: Ledger,
    pub audit: Audit,
    pub page_counts: PageCounts,
    /// Clients, staff and faults are inactive, and EHRs are honest.
    pub without_faults: bool,
    pub keys: u64,
    pub incarnations: u64,
    pub next_look: Option<Timestamp>,
    /// Time since which no location has pending writes.
    pub drained: Option<Timestamp>,
    /// A turn runs within another one.
    pub nested: bool,
    happened: u64,
    at_once: u32,
}

impl Sim {
    /// Creates a run. `disks` opens the store of the drawn setup, once for each of two processes.
    pub fn new(seed: u64, aloud: bool, disks: impl FnOnce(&Setup) -> [SimDisk; 2]) -> Sim {
        let mut random = SeededRandom::new(seed);
        let (mut plan, mut ehrs) = SimPlan::draw(&mut random);
        // A separate sequence leaves the rest of the run as it is.
        plan.draw_moves(&mut ehrs, &mut SeededRandom::new(seed ^ 0x6d6f_7665));
        plan.draw_confirmations(&mut ehrs, &mut SeededRandom::new(seed ^ 0x636f_6e66));
        let [store, rivals] = disks(&plan.setup).map(Arc::new);
        create_standalone_location(&store, plan.start);
        followers::subscribe(&plan.setup, store.reliable(), plan.start);
        let process = Process::start(plan.setup.clone(), store.clone());
        let rival = environment(plan.setup.clone(), rivals.clone());
        let rival_follower = followers::start(plan.setup.clone(), rivals.clone());
        Sim {
            random,
            log: Log::new(aloud),
            now: plan.start,
            plan,
            store,
            process,
            rival,
            rivals,
            rival_follower,
            ehrs,
            agenda: Agenda::default(),
            ledger: Ledger::default(),
            audit: Audit::default(),
            page_counts: PageCounts::default(),
            without_faults: false,
            keys: 0,
            incarnations: 0,
            next_look: None,
            drained: None,
            nested: false,
            happened: 0,
            at_once: 0,
        }
    }

    pub fn run(&mut self) {
        self.agenda.plan(self.now, SimEvent::Restart);
        self.agenda.plan(self.now.plus(5 * MINUTE), SimEvent::Client);
        self.agenda.plan(self.now.plus(20 * MINUTE), SimEvent::Fault);
        self.agenda.plan(self.now.plus(40 * MINUTE), SimEvent::Operator);
        let sources: Vec<u32> = self.ehrs.keys().copied().collect();
        for source in sources {
            self.agenda.plan(self.now.plus(MINUTE), SimEvent::Staff { source });
            self.agenda.plan(self.now.plus(30 * MINUTE), SimEvent::Reachability { source });
        }
        let end = self.plan.start.plus(self.plan.busy);
        while self.now < end && self.step() {}
        self.stop_activity();
        let limit = self.now.plus(liveness::PATIENCE);
        while !liveness::at_rest(self) {
            assert!(self.now < limit, "liveness: not everything came to its end: {}", liveness::unfinished(self));
            liveness::accept_deletions(self);
            assert!(self.step(), "liveness: nothing is planned, yet unfinished: {}", liveness::unfinished(self));
        }
        self.follow_to_the_end();
        liveness::check(self);
        followers::check(self);
        self.follow_calls_to_the_end();
        audit::check(self);
    }

    /// Runs the next event. Returns `false` if there is none.
    fn step(&mut self) -> bool {
        let Some((at, what)) = self.agenda.next() else { return false };
        self.at_once = if at > self.now { 0 } else { self.at_once + 1 };
        assert!(self.at_once < AT_ONCE, "the time does not advance");
        assert!(self.agenda.len() < PLANS, "bounded: the agenda has {} plans", self.agenda.len());
        self.now = self.now.max(at);
        self.happen(what);
        if self.random.chance(200) {
            self.follow();
        }
        if self.random.chance(200) {
            self.follow_calls();
        }
        self.happened += 1;
        if self.happened.is_multiple_of(SWEEP_EVERY) {
            let turn = (self.happened / SWEEP_EVERY) as usize % self.process.hosts.len().max(1);
            if let Some(location) = self.process.hosts.keys().nth(turn).copied() {
                invariants::sweep(self, location);
            }
        }
        true
    }

    pub fn happen(&mut self, what: SimEvent) {
        match what {
            SimEvent::Client => {
                self.client_acts();
                let at = self.now.plus(self.random.between(SECOND..=12 * MINUTE));
                self.agenda.plan(at, SimEvent::Client);
            }
            SimEvent::Request(asked) => self.deliver_request(asked),
            SimEvent::Staff { source } => self.staff(source),
            SimEvent::Notice { source, id } => self.notice(source, &id),
            SimEvent::Reachability { source } => self.weather(source),
            SimEvent::Fault => self.inject_fault(),
            SimEvent::Operator => self.operator(),
            SimEvent::DiskFreed => {
                self.log_line(|| "the disk has room again".to_owned());
                self.disk_full(false);
            }
            SimEvent::Restart => self.restart(),
            SimEvent::Look => self.load_due_locations(),
            SimEvent::Timer { location, incarnation, at } => self.timer(location, incarnation, at),
            SimEvent::Described { location, incarnation } => self.described(location, incarnation),
            SimEvent::Land(trip) => self.land(trip),
            SimEvent::Answer { location, incarnation, request } => self.deliver(location, incarnation, &request),
            SimEvent::PageArrived { location, incarnation, number, outcome } => {
                self.page_arrived(location, incarnation, number, outcome);
            }
        }
    }

    fn staff(&mut self, source: u32) {
        let institution = self.plan.setup.sources.get(&source).map_or(0, |source| source.institution.0);
        let wanted = self.place_in_demand(source);
        let Some(ehr) = self.ehrs.get_mut(&source) else { return };
        let line = ehr.staff_acts(institution, self.now, wanted, &mut self.random);
        self.log_line(|| line);
        let rest = if self.plan.hectic { 6 * MINUTE } else { 50 * MINUTE };
        let at = self.now.plus(self.random.between(SECOND..=rest));
        self.agenda.plan(at, SimEvent::Staff { source });
    }

    fn notice(&mut self, source: u32, id: &str) {
        let Some(ehr) = self.ehrs.get_mut(&source) else { return };
        let line = ehr.staff_notice(id, self.now, &mut self.random).unwrap_or_else(|| "shrugs".to_owned());
        let location = ehr.appointment(id).and_then(|row| row.location);
        self.log_line(|| format!("staff of {source} {line}"));
        // Staff's changes are often read before we know that our write succeeded.
        if let Some(location) = location.filter(|_| self.random.chance(700)) {
            match self.random.chance(500) {
                true => self.synchronise(location),
                false => self.hint(location),
            }
        }
    }

    /// The EHR reports a change of its appointments.
    fn hint(&mut self, location: LocationId) {
        self.log_line(|| format!("the EHR reports a change to {location}"));
        self.run_internal(location, &SimRequest::Command(Command::RequestRead { everything: false }));
    }

    fn synchronise(&mut self, location: LocationId) {
        self.log_line(|| format!("a client requests a read cycle of {location}"));
        self.run_for_operator(location, &SimRequest::Command(Command::SyncNow));
    }

    /// Returns the place of one of our bookings that is not yet in the EHR, because staff prefer the same slots.
    fn place_in_demand(&mut self, source: u32) -> Option<(LocationId, EhrAppointment)> {
        let pending: Vec<(LocationId, Placement)> = self
            .process
            .hosts
            .iter()
            .filter(|(_, host)| host.processor.source() == Some(source))
            .flat_map(|(id, host)| host.processor.machine.state.appointments.values().map(|known| (*id, known)))
            .filter(|(_, known)| known.insert == Insert::Pending)
            .map(|(id, known)| (id, known.placement))
            .collect();
        let (location, place) = *self.random.pick(&pending)?;
        Some((location, invariants::no_double_booking::in_the_ehr(self, location, &place)?))
    }

    fn operator(&mut self) {
        liveness::accept_deletions(self);
        let here: Vec<LocationId> = self.process.hosts.keys().copied().collect();
        if let Some(id) = self.random.pick(&here).copied() {
            self.synchronise(id);
        }
        if let Some(id) = self.random.pick(&here).copied() {
            self.see_to_writes(id);
        }
        let at = self.now.plus(self.random.between(MINUTE..=5 * HOUR));
        self.agenda.plan(at, SimEvent::Operator);
    }

    /// The operator retries failed writes and drops a pending one.
    fn see_to_writes(&mut self, location: LocationId) {
        let Some(host) = self.process.hosts.get(&location) else { return };
        let queue = &host.processor.machine.state.queue;
        let waiting: Vec<WriteId> = queue.iter().map(|(id, _)| id).collect();
        let recent = queue.next_id(0).0.saturating_sub(40)..queue.next_id(0).0;
        let failed = |id: &u64| {
            let ended: Option<records::FinishedWrite> = host.processor.read(location.0, *id).unwrap_or_default();
            ended.is_some_and(|write| !write.done)
        };
        let failed: Vec<u64> = recent.filter(failed).collect();
        let dropped = if self.random.chance(200) { self.random.pick(&waiting).copied() } else { None };
        if let Some(write) = dropped {
            self.log_line(|| format!("the operator drops write {write} of {location}"));
            self.run_for_operator(location, &SimRequest::Drop(write));
        }
        for write in failed.into_iter().map(WriteId) {
            if self.random.chance(500) {
                self.log_line(|| format!("the operator has write {write} of {location} tried again"));
                self.run_for_operator(location, &SimRequest::Retry(write));
            }
        }
    }

    fn weather(&mut self, source: u32) {
        let (weather, lasts) = match self.random.weighted(&[50, 20, 10, 20]) {
            0 => (Reachability::Fine, 5 * HOUR),
            1 => (Reachability::GateClosed, HOUR),
            2 => (Reachability::Unauthorized, 30 * MINUTE),
            _ => (Reachability::Down, HOUR),
        };
        self.log_line(|| format!("EHR {source}: {weather:?}"));
        if let Some(ehr) = self.ehrs.get_mut(&source) {
            ehr.weather = weather;
        }
        let at = self.now.plus(self.random.between(MINUTE..=lasts));
        self.agenda.plan(at, SimEvent::Reachability { source });
    }

    fn inject_fault(&mut self) {
        let here: Vec<LocationId> = self.process.hosts.keys().copied().collect();
        let one = self.random.pick(&here).copied();
        match (self.random.weighted(&[10, 10, 10, 50]), one) {
            (0, _) => self.kill_process("between two turns"),
            (1, Some(id)) => self.kill_location(id, "between two turns"),
            (2, _) => {
                self.log_line(|| "the disk is full".to_owned());
                self.disk_full(true);
                let at = self.now.plus(self.random.between(SECOND..=10 * MINUTE));
                self.agenda.plan(at, SimEvent::DiskFreed);
            }
            (_, Some(id)) => self.leave(id),
            _ => {}
        }
        let at = self.now.plus(self.random.between(MINUTE..=40 * MINUTE));
        self.agenda.plan(at, SimEvent::Fault);
    }

    fn disk_full(&self, full: bool) {
        for disk in [&self.store, &self.rivals] {
            disk.set_full(full);
        }
    }

    /// Stops new actions and faults.
    fn stop_activity(&mut self) {
        self.log_line(|| "no more faults".to_owned());
        self.without_faults = true;
        self.agenda.remove_faults();
        self.disk_full(false);
        for ehr in self.ehrs.values_mut() {
            ehr.honest = true;
            ehr.weather = Reachability::Fine;
        }
        self.agenda.plan(self.now, SimEvent::Restart);
    }

    pub fn log_line(&mut self, line: impl FnOnce() -> String) {
        let passed = self.now.since(self.plan.start);
        let (hours, minutes, seconds) = (passed / HOUR, passed % HOUR / MINUTE, passed % MINUTE / SECOND);
        let line = line();
        self.log.line(format!("{hours:03}:{minutes:02}:{seconds:02}.{:03} {line}", passed % SECOND));
    }
}

/// Reads a document from the store.
pub fn document<T: records::document::Document>(sim: &Sim, scope: u32, id: u64) -> Option<T> {
    let bytes = sim.store.get(&keys::record(T::BYTE, scope, id)).expect("the store reads")?;
    Some(serde_json::from_slice(&bytes).expect("a document can be read"))
}

/// Writes the first journal record of the location without EHR. The engine has no other way to give such a location
/// working hours.
fn create_standalone_location(store: &SimDisk, at: Timestamp) {
    let hours = |id: u32, operatory: u64| WorkingHour {
        id: WorkingHourId(900_000 + id),
        provider: ProviderId(900_001),
        operatory: Some(OperatoryId(operatory)),
        begin: 480,
        end: 1_020,
        recurrence: Recurrence::Weekly(Weekday::ALL.to_vec()),
        kind: HourKind::WorkingHour,
        source: HourSource::Manual,
        appointment_types: Vec::new(),
        active: true,
    };
    let operatory = |id| Event::OperatoryPulled(PulledOperatory { id: OperatoryId(id), active: true });
    let events = [
        operatory(900_001),
        operatory(900_002),
        Event::HourPulled(hours(1, 900_001)),
        Event::HourPulled(hours(2, 900_002)),
    ];
    let record = serde_json::json!({ "at": at, "events": events }).to_string().into_bytes();
    let mut batch = Batch::new();
    journal::append(&mut batch, ALONE.0, journal::FIRST_SEQ, record);
    store.commit_now(batch).expect("an empty store takes a record");
}

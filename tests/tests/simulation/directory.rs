//! The directory of locations in memory, including all ways to leave memory.

use location::{
    ids::LocationId,
    time::{MINUTE, SECOND, Timestamp},
};
use processor::processor::Processor;
use store::{
    CommitError, Direction, Store, due,
    keys::{self, Space},
};

use super::{
    agenda::SimEvent,
    invariants,
    prefetch::Pages,
    process::{LocationHost, Process},
    sim::Sim,
};

impl Sim {
    /// Loads a location unless the process is down.
    pub fn attend(&mut self, id: LocationId) {
        if !self.process.up || self.process.hosts.contains_key(&id) {
            return;
        }
        let processor = match Processor::load(self.process.deps.clone(), id) {
            Ok(processor) => processor,
            Err(error) => panic!("location {id} could not be loaded: {error}"),
        };
        self.incarnations += 1;
        let incarnation = self.incarnations;
        if processor.setup.source.is_some() {
            let at = self.now.plus(self.random.between(50..=2 * SECOND));
            self.agenda.plan(at, SimEvent::Described { location: id, incarnation });
        }
        self.log_line(|| format!("location {id} comes into memory"));
        let host = LocationHost { processor, incarnation, timer: None, pages: Pages::default(), behind: false };
        self.process.hosts.insert(id, host);
        self.process.deps.call_queue.ring([id]);
        self.set_timer(id);
    }

    /// Loses all memory. Calls in flight still reach the EHR.
    pub fn kill_process(&mut self, when: &str) {
        self.log_line(|| format!("the process dies {when}"));
        if let Some(work) = &self.process.audit {
            self.audit.note_crash(work);
        }
        self.process = Process::start(self.plan.setup.clone(), self.store.clone());
        self.process.up = false;
        let at = self.now.plus(self.random.between(1..=90) * SECOND);
        self.agenda.plan(at, SimEvent::Restart);
    }

    /// Simulates a panic of an actor, which the directory restarts later.
    pub fn kill_location(&mut self, id: LocationId, when: &str) {
        self.log_line(|| format!("location {id} dies {when}"));
        self.process.hosts.remove(&id);
        let at = self.now.plus(self.random.between(1..=2 * MINUTE));
        self.agenda.plan(at, SimEvent::Restart);
    }

    /// Restarts the process: loads active, due and new locations.
    pub fn restart(&mut self) {
        self.process.up = true;
        let known = |space: Space, parse: fn(&[u8]) -> Option<u32>| {
            let keys = self.store.scan_keys(space.range(), Direction::Forward, usize::MAX).expect("the store reads");
            keys.iter().filter_map(|key| parse(key)).map(LocationId).collect::<Vec<_>>()
        };
        let (active, asleep) = (known(Space::Active, keys::parse_active), known(Space::Asleep, keys::parse_asleep));
        let setup = self.plan.setup.clone();
        let fresh = setup.locations.values().filter(|location| location.source.is_some()).map(|location| location.id);
        let fresh: Vec<_> = fresh.filter(|id| !active.contains(id) && !asleep.contains(id)).collect();
        for id in active.into_iter().chain(fresh) {
            self.attend(id);
        }
        self.load_due_locations();
    }

    /// Loads the locations that are due and schedules the next check.
    pub fn load_due_locations(&mut self) {
        if !self.process.up {
            return;
        }
        let due = due::due(&*self.store, self.now.0, 64, |_| true).expect("the store reads");
        for (_, id) in due {
            self.attend(LocationId(id));
        }
        if let Some(next) = due::next_due(&*self.store).expect("the store reads") {
            let at = Timestamp(next).max(self.now.plus(MINUTE));
            if self.next_look.is_none_or(|planned| at < planned || planned <= self.now) {
                self.next_look = Some(at);
                self.agenda.plan(at, SimEvent::Look);
            }
        }
    }

    /// Unloads a location. If the commit fails, the location remains in memory.
    pub fn leave(&mut self, id: LocationId) {
        let Some(host) = self.process.hosts.get(&id) else { return };
        let batch = host.processor.leave().expect("a state can be written");
        match self.store.commit_now(batch) {
            Ok(()) => {
                invariants::memory_equals_replay::check_left(self, id);
                self.log_line(|| format!("location {id} leaves memory"));
                self.process.hosts.remove(&id);
                self.load_due_locations();
            }
            Err(CommitError::Conflict { .. }) => {
                self.log_line(|| format!("location {id} cannot leave: it is behind"));
                self.process.hosts.remove(&id);
                let at = self.now.plus(MINUTE);
                self.agenda.plan(at, SimEvent::Restart);
            }
            Err(error) => self.log_line(|| format!("location {id} cannot leave: {error}")),
        }
    }
}

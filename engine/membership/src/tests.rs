//! A random simulation of nodes on one store: they pause between steps, lose the store, crash, restart and
//! leave, with clocks of any origin. At no moment is an institution served by two nodes.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use proptest::{
    prelude::Rng,
    test_runner::{RngAlgorithm, TestRng},
};
use store::{CommitError, MemoryStore};
use uuid::Uuid;

use super::*;
use crate::table::Node;

const PERIOD: u64 = 1_000;
const INSTITUTIONS: u32 = 24;

/// The next step of a node in its round.
enum MemberStep {
    Read,
    Propose(Snapshot),
    Renew,
}

struct MemberProcess {
    member: Member,
    /// Offset of the process's clock to true time.
    ahead: u64,
    step: MemberStep,
    /// The time of its next step.
    at: u64,
    /// The epoch to confirm with `confirm_release`, and the time when the release is finished.
    releasing: Option<(u64, u64)>,
    cut_off_until: u64,
}

struct MembershipWorld {
    store: MemoryStore,
    now: u64,
    processes: Vec<MemberProcess>,
    random: TestRng,
    incarnations: u128,
}

impl MembershipWorld {
    fn new(seed: u8) -> MembershipWorld {
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
        MembershipWorld { store: MemoryStore::new(), now: 0, processes: Vec::new(), random, incarnations: 0 }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random.next_u64() % limit
    }

    fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length.max(1) as u64)).unwrap()
    }

    fn start(&mut self, name: &str) {
        self.incarnations += 1;
        let id = NodeId { name: name.to_owned(), incarnation: Uuid::from_u128(self.incarnations) };
        let node = Node { id, address: format!("{name}:7001") };
        let ahead = self.below(1_000_000);
        let member = Member::new(node, MembershipRules { period: PERIOD });
        let process =
            MemberProcess { member, ahead, step: MemberStep::Read, at: self.now, releasing: None, cut_off_until: 0 };
        self.processes.push(process);
    }

    /// Performs one step of one process. The pause before its next step is random: mostly short, sometimes much
    /// longer than a period.
    fn step(&mut self, index: usize) {
        let pause = match self.below(40) {
            0 => self.below(4 * PERIOD),
            _ => self.below(PERIOD / 8),
        };
        let (now, store) = (self.now, &self.store);
        let process = &mut self.processes[index];
        let moment = Moment(now + process.ahead);
        process.at = now + pause;
        if let Some((epoch, _)) = process.releasing.take_if(|(_, by)| *by <= now) {
            process.member.confirm_release(epoch);
        }
        if process.cut_off_until > now {
            return process.step = MemberStep::Read;
        }
        process.step = match std::mem::replace(&mut process.step, MemberStep::Read) {
            MemberStep::Read => {
                let snapshot = read_snapshot(store).unwrap();
                if let Some(MembershipChange::View { epoch }) = process.member.apply(&snapshot, moment) {
                    process.releasing = Some((epoch, now + pause));
                }
                MemberStep::Propose(snapshot)
            }
            MemberStep::Propose(snapshot) => {
                if let Some(proposal) = process.member.proposal(&snapshot, moment)
                    && let Some(batch) = proposal.batch(store).unwrap()
                {
                    match store.commit_now(batch) {
                        Ok(()) | Err(CommitError::Conflict { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
                MemberStep::Renew
            }
            MemberStep::Renew => {
                match store.commit_now(process.member.renewal()) {
                    Ok(()) => process.member.renewed(moment),
                    Err(CommitError::Conflict { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
                MemberStep::Read
            }
        };
    }

    /// Runs until `end` and checks the invariants after each step.
    fn run(&mut self, end: u64) {
        while let Some(index) = (0..self.processes.len()).min_by_key(|index| self.processes[*index].at) {
            if self.processes[index].at > end {
                break;
            }
            self.now = self.now.max(self.processes[index].at);
            self.step(index);
            self.check();
            self.processes.retain(|process| !process.member.has_left());
        }
        self.now = end;
    }

    fn check(&self) {
        let serves = |process: &&MemberProcess| process.member.is_serving(Moment(self.now + process.ahead));
        let mut names = BTreeSet::new();
        for process in self.processes.iter().filter(serves) {
            assert!(names.insert(process.member.name()), "at {} two serve as {}", self.now, process.member.name());
        }
        for institution in 0..INSTITUTIONS {
            let mut served = Vec::new();
            for process in &self.processes {
                let moment = Moment(self.now + process.ahead);
                if process.member.place(institution, moment) == Place::Mine {
                    served.push(process.member.view().epoch);
                }
            }
            assert!(served.len() <= 1, "at {} institution {institution} is served under views {served:?}", self.now);
        }
    }

    fn served(&self) -> usize {
        let mine =
            |process: &&MemberProcess, id| process.member.place(id, Moment(self.now + process.ahead)) == Place::Mine;
        (0..INSTITUTIONS).filter(|id| self.processes.iter().any(|process| mine(&process, *id))).count()
    }
}

/// Number of random cases; `MEMBERSHIP_CASES` overrides it.
fn cases() -> u8 {
    std::env::var("MEMBERSHIP_CASES").map_or(60, |cases| cases.parse().unwrap())
}

#[test]
fn an_institution_is_never_served_by_two() {
    let (mut served, mut checks) = (0, 0);
    for seed in 0..cases() {
        let mut world = MembershipWorld::new(seed);
        ["a", "b", "c"].into_iter().for_each(|name| world.start(name));
        for round in 1..40 {
            world.run(round * PERIOD / 2);
            let count = world.processes.len();
            let (one, name, long) = (world.index(count), world.index(5), world.below(3 * PERIOD));
            match world.below(10) {
                0 if count > 1 => drop(world.processes.swap_remove(one)),
                _ if count == 0 => world.start("a"),
                1 if count < 5 => world.start(["a", "b", "c", "d", "e"][name]),
                2 if count > 1 => world.processes[one].member.leave(),
                3 => world.processes[one].cut_off_until = world.now + long,
                _ => {}
            }
            (served, checks) = (served + world.served(), checks + INSTITUTIONS as usize);
        }
    }
    assert!(served * 3 > checks, "institutions must be served most of the time: {served} of {checks}");
}

/// Creates a world without random events, to measure the cost of normal operation.
fn started(names: &[&str]) -> MembershipWorld {
    let mut world = MembershipWorld::new(7);
    names.iter().for_each(|name| world.start(name));
    world
}

impl MembershipWorld {
    /// Lets every process read the table, propose and renew, all within a quarter of a period.
    fn round(&mut self) {
        for _ in 0..3 {
            for index in 0..self.processes.len() {
                self.step(index);
                let process = &mut self.processes[index];
                if let Some((epoch, _)) = process.releasing.take() {
                    process.member.confirm_release(epoch);
                }
                self.check();
            }
        }
        self.processes.retain(|process| !process.member.has_left());
        self.now += PERIOD / 4;
    }

    fn rounds_until(&mut self, done: impl Fn(&MembershipWorld) -> bool) -> u32 {
        for round in 0..40 {
            if done(self) {
                return round;
            }
            self.round();
        }
        panic!("{} of {INSTITUTIONS} institutions are served after 40 rounds", self.served());
    }
}

fn all_are_served(world: &MembershipWorld) -> bool {
    world.served() == INSTITUTIONS as usize
}

#[test]
fn a_joining_or_leaving_node_moves_only_its_share() {
    let mut world = started(&["a", "b"]);
    world.rounds_until(all_are_served);
    let of = |world: &MembershipWorld, index: usize| {
        let process = &world.processes[index];
        let moment = Moment(world.now + process.ahead);
        (0..INSTITUTIONS).filter(|id| process.member.place(*id, moment) == Place::Mine).collect::<BTreeSet<u32>>()
    };
    let (a, b) = (of(&world, 0), of(&world, 1));
    world.start("c");
    let mut fewest = INSTITUTIONS as usize;
    for _ in 0..12 {
        world.round();
        fewest = fewest.min(world.served());
    }
    assert!(all_are_served(&world));
    let c = of(&world, 2);
    assert!(!c.is_empty() && of(&world, 0).is_subset(&a) && of(&world, 1).is_subset(&b));
    assert_eq!(fewest, INSTITUTIONS as usize - c.len(), "what stayed was served without a pause");
    world.processes[2].member.leave();
    world.rounds_until(|world| world.processes.len() == 2);
    world.rounds_until(all_are_served);
    assert_eq!((of(&world, 0), of(&world, 1)), (a, b), "the placement is restored");
}

#[test]
fn institutions_of_a_dead_node_are_served_again_soon() {
    let mut world = started(&["a", "b", "c"]);
    world.rounds_until(all_are_served);
    world.processes.swap_remove(1);
    assert!(!all_are_served(&world));
    let rounds = world.rounds_until(all_are_served);
    assert!((5..=9).contains(&rounds), "a period, a quarter, and the way of a view, not {rounds} rounds");
}

#[test]
fn a_node_without_the_store_stops_serving_after_a_period() {
    let mut world = started(&["a"]);
    world.rounds_until(all_are_served);
    world.now += PERIOD;
    assert_eq!(world.served(), 0);
    world.rounds_until(all_are_served);
}

#[test]
fn a_second_process_of_a_name_waits_for_the_first_to_leave() {
    let mut world = started(&["a", "b"]);
    world.rounds_until(all_are_served);
    world.start("a");
    for _ in 0..12 {
        world.round();
    }
    let kept_out: Vec<bool> = world.processes.iter().map(|process| process.member.is_kept_out()).collect();
    assert_eq!((kept_out.as_slice(), all_are_served(&world)), (&[false, false, true][..], true));
    world.processes[0].member.leave();
    world.rounds_until(|world| world.processes.len() == 2);
    let serves = |process: &MemberProcess, now| process.member.is_serving(Moment(now + process.ahead));
    world.rounds_until(|world| {
        world.processes.iter().all(|process| serves(process, world.now)) && all_are_served(world)
    });
    assert!(world.processes.iter().all(|process| !process.member.is_kept_out()));
}

/// The cost does not depend on the number of institutions, because placement follows from the view.
#[test]
fn a_beat_is_one_scan_and_one_value() {
    let mut world = started(&["a", "b", "c"]);
    world.rounds_until(all_are_served);
    let reads = world.store.reads();
    let seen = read_snapshot(&world.store).unwrap();
    assert_eq!(world.store.reads() - reads, 1);
    let now = Moment(world.now);
    let member = &mut world.processes[0].member;
    assert!(member.apply(&seen, now).is_none() && member.proposal(&seen, now).is_none(), "nothing has changed");
    let renewal = member.renewal();
    assert_eq!((renewal.writes().len(), renewal.expects().len(), renewal.appends().len()), (1, 1, 0));
    assert!(renewal.written_bytes() < 300, "{} bytes", renewal.written_bytes());
}

#[test]
fn nodes_with_another_configuration_are_known_from_their_rows() {
    let row = |name: &str, serves| {
        let id = NodeId { name: name.into(), incarnation: Uuid::from_u128(1) };
        Row { node: Node { id, address: format!("{name}:7001") }, beats: 1, follows: 0, leaves: false, serves }
    };
    let mut member = Member::new(row("own", None).node, MembershipRules { period: PERIOD });
    let rows = vec![row("own", Some(1)), row("same", Some(2)), row("other", Some(1)), row("silent", None)];
    let snapshot = Snapshot { rows, ..Snapshot::default() };
    member.set_configuration(2);
    let differing: Vec<&str> =
        member.nodes_configured_differently(&snapshot).map(|node| node.id.name.as_str()).collect();
    assert_eq!(differing, ["other"]);
    assert_eq!(member.published(), (0, false, Some(2)));
    // Older versions write rows without the field. Deleting the row of a gone node compares the bytes that were
    // read.
    assert!(!serde_json::to_string(&snapshot.rows[3]).unwrap().contains("serves"));
}

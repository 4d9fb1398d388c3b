//! Simulation of the engine without sockets, in virtual time and with an unreliable EHR. A seed determines locations,
//! clients, staff and crashes, and thereby the run. `SIM_SEED=n` reruns one seed with its full log, `SIM_SEEDS=n`
//! sets the number of seeds. On PostgreSQL, if installed: `SIM_POSTGRES_SEED=n`, `SIM_POSTGRES_SEEDS=n`.
// A few thousand events in memory: names matter more than sizes.
#![allow(clippy::large_enum_variant, clippy::enum_variant_names)]

mod agenda;
mod audit;
mod calls;
mod clients;
mod directory;
mod disk;
mod ehr;
mod followers;
mod groups;
mod invariants;
mod ledger;
mod liveness;
mod log;
mod plan;
mod prefetch;
mod process;
mod rules;
mod sim;
mod sim_request;
mod visits;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use disk::SimDisk;
use location::rules::RuleSet;
use parking_lot::Mutex;
use postgres_server::{Cluster, Durability, is_skipped};
use sim::Sim;
use store::{
    StoreKey, StoreKeys,
    postgres::{self, PostgresConfig, PostgresStore, Tls},
};

const SEEDS: u64 = 200;
const THREADS: usize = 2;
/// Number of seeds on PostgreSQL, where each read and commit is a round trip.
const SEEDS_ON_POSTGRES: u64 = 3;

/// The result of a run.
struct Ended {
    sim: Sim,
    /// The violated invariant.
    broken: Option<String>,
}

fn run(seed: u64, aloud: bool, prepare: impl FnOnce(&mut Sim)) -> Ended {
    let mut sim = Sim::new(seed, aloud, |_| SimDisk::in_memory());
    prepare(&mut sim);
    ended(sim)
}

fn ended(mut sim: Sim) -> Ended {
    let broken = catch_unwind(AssertUnwindSafe(|| sim.run())).err().map(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words").to_owned()
    });
    Ended { sim, broken }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

#[test]
fn invariants_hold_for_all_seeds() {
    if let Some(seed) = number("SIM_SEED") {
        let ended = run(seed, true, |_| {});
        assert!(ended.broken.is_none(), "seed {seed}, step {}: {}", ended.sim.log.steps, ended.broken.unwrap());
        return;
    }
    let (next, seeds, failures) = (AtomicU64::new(0), number("SIM_SEEDS").unwrap_or(SEEDS), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        return;
                    }
                    let ended = run(seed, false, |_| {});
                    if let Some(broken) = ended.broken {
                        let (steps, tail) = (ended.sim.log.steps, ended.sim.log.tail());
                        let report = format!("seed {seed}, step {steps}: {broken}\n{tail}");
                        failures.lock().push((seed, report));
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner();
    failures.sort();
    let all: Vec<String> =
        failures.iter().map(|(_, report)| report.lines().next().unwrap_or_default().to_owned()).collect();
    assert!(failures.is_empty(), "{}\n\nall failures:\n{}", failures[0].1, all.join("\n"));
}

#[test]
fn the_same_seed_gives_the_same_log() {
    for seed in 1_000..1_004 {
        let logs = [(); 2].map(|()| {
            let log = run(seed, false, |_| {}).sim.log;
            (log.steps, log.digest)
        });
        assert_eq!(logs[0], logs[1], "seed {seed}");
    }
}

/// Checks the simulation itself: it detects duplicate writes if an EHR forgets keys.
#[test]
fn ehr_that_violates_its_contract_is_detected() {
    let forgetful = |sim: &mut Sim| sim.ehrs.values_mut().for_each(|ehr| ehr.forgets_keys = true);
    let noticed =
        (2_000..2_020).any(|seed| run(seed, false, forgetful).broken.is_some_and(|why| why.contains("at most once")));
    assert!(noticed);
}

/// Checks the simulation itself: it detects EHRs that accept confirmations and do not store them.
#[test]
fn ehr_that_loses_confirmations_is_detected() {
    let lossy = |sim: &mut Sim| sim.ehrs.values_mut().for_each(|ehr| ehr.loses_confirmations = true);
    let noticed =
        (2_000..2_020).any(|seed| run(seed, false, lossy).broken.is_some_and(|why| why.contains("confirmations: ")));
    assert!(noticed);
}

/// Checks the simulation itself: it detects a process that ignores the booking rules.
#[test]
fn process_that_ignores_booking_rules_is_detected() {
    let lax = |sim: &mut Sim| {
        let mut setup = (*sim.plan.setup).clone();
        for location in setup.locations.values_mut() {
            Arc::make_mut(location).settings_mut().booking.rules = RuleSet::default();
        }
        sim.process.deps.setup.store(Arc::new(setup));
    };
    let noticed = (2_000..2_020).any(|seed| run(seed, false, lax).broken.is_some_and(|why| why.starts_with("rules: ")));
    assert!(noticed);
}

/// Checks the simulation itself: it detects an audit trail whose positions are stored before its entries.
#[test]
fn audit_trail_that_loses_entries_in_a_crash_is_detected() {
    let hasty = |sim: &mut Sim| sim.audit.stores_positions_first = true;
    let noticed = (2_000..2_020)
        .any(|seed| run(seed, false, hasty).broken.is_some_and(|why| why.contains("one entry per change")));
    assert!(noticed);
}

/// Checks the simulation itself: its runs contain crashes within batches of the audit trail, and pages requested ahead
/// that are used and that are not.
#[test]
fn runs_repeat_audit_entries_and_take_and_drop_prefetched_pages() {
    let (mut repeated, mut taken, mut dropped) = (0, 0, 0);
    for seed in 3_000..3_020 {
        let Ended { sim, broken } = run(seed, false, |_| {});
        assert_eq!(broken, None, "seed {seed}");
        repeated += sim.audit.repeated();
        taken += sim.page_counts.taken;
        dropped += sim.page_counts.dropped;
        if repeated > 0 && taken > 0 && dropped > 0 {
            return;
        }
    }
    panic!("{repeated} repeated, {taken} taken, {dropped} dropped");
}

/// Checks the simulation itself: its runs contain groups that are booked, and groups that are refused.
#[test]
fn runs_book_and_refuse_groups() {
    let (mut booked, mut asked) = (0, 0);
    for seed in 5_000..5_020 {
        let Ended { sim, broken } = run(seed, false, |_| {});
        assert_eq!(broken, None, "seed {seed}");
        booked += sim.ledger.groups.len();
        asked += sim.ledger.group_requests.len();
        if booked > 0 && booked < asked {
            return;
        }
    }
    panic!("{booked} groups booked of {asked}");
}

/// Checks the simulation itself: its runs contain reschedules that move a visit, and repeated ones that do not.
#[test]
fn runs_move_visits_and_replay_reschedules() {
    let (mut moves, mut replays) = (0, 0);
    for seed in 4_000..4_020 {
        let Ended { sim, broken } = run(seed, false, |_| {});
        assert_eq!(broken, None, "seed {seed}");
        moves += sim.ledger.moves;
        replays += sim.ledger.replays;
        if moves > 0 && replays > 0 {
            return;
        }
    }
    panic!("{moves} moved, {replays} replayed");
}

/// Checks the simulation itself: its runs contain confirmations that are written to the EHR, and local ones.
#[test]
fn runs_confirm_visits_in_the_ehr_and_locally() {
    let (mut written, mut local) = (0, 0);
    for seed in 6_000..6_020 {
        let Ended { sim, broken } = run(seed, false, |_| {});
        assert_eq!(broken, None, "seed {seed}");
        let confirmations = || sim.ledger.confirmations.values();
        written += confirmations().filter(|it| it.queued && !it.failed).count();
        local += confirmations().filter(|it| it.acknowledged && !it.queued).count();
        if written > 0 && local > 0 {
            return;
        }
    }
    panic!("{written} written, {local} local");
}

/// Runs the first seeds, each on its own database with two processes.
#[test]
fn invariants_hold_for_all_seeds_on_postgres() {
    if is_skipped() {
        return;
    }
    let server = Cluster::temporary(Durability::Written).unwrap();
    let (seeds, aloud) = match number("SIM_POSTGRES_SEED") {
        Some(seed) => (seed..seed + 1, true),
        None => (0..number("SIM_POSTGRES_SEEDS").unwrap_or(SEEDS_ON_POSTGRES), false),
    };
    for seed in seeds {
        let in_database = |setup: &setup::Setup| {
            let config = PostgresConfig { tls: Tls::Off, ..PostgresConfig::new(server.database().unwrap()) };
            let keys = StoreKeys::from(StoreKey::new([7; 32]));
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(postgres::migrate(&config, &keys)).unwrap();
            let open = || PostgresStore::open(&config, &keys, engine::owners_of(setup)).unwrap();
            [SimDisk::new(Arc::new(open())), SimDisk::new(Arc::new(open()))]
        };
        let ended = ended(Sim::new(seed, aloud, in_database));
        let log = &ended.sim.log;
        assert!(ended.broken.is_none(), "seed {seed}, step {}: {}\n{}", log.steps, ended.broken.unwrap(), log.tail());
    }
}

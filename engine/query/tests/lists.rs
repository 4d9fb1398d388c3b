//! Walks against a model, while records are made and changed.

#![allow(clippy::unwrap_used)]

use std::{collections::BTreeSet, sync::Arc};

use location::{
    command::Placement,
    time::{DAY, HOUR, MINUTE, Span, Timestamp},
};
use processor::{
    id_pool::Pool,
    unit_of_work::{Home, UnitOfWork},
};
use proptest::prelude::*;
use query::{
    lists::{COMMITS_WITHIN, Lists, Narrow, Order, Part, Position, Walk},
    retention as upkeep,
};
use records::{
    Appointment, Patient,
    document::Document,
    index::{Field, OrderBy, Term, words},
    record::Record,
};
use store::{Batch, Direction, MemoryStore, Store, keys, secrets::Secrets};

const OWNER: u32 = 7;
const NAMES: [&str; 6] = ["Ada", "Adam", "Zoë", "Åsa", "Bo Adler", "Mary-Ann"];

struct World {
    store: Arc<MemoryStore>,
    pool: Pool,
    secrets: Secrets,
    now: i64,
}

impl World {
    fn new() -> World {
        World {
            store: Arc::new(MemoryStore::new()),
            pool: Pool::default(),
            secrets: Secrets::from_seed([3; 32]),
            now: 1_000 * DAY,
        }
    }

    fn turn(&self, work: impl FnOnce(&mut UnitOfWork<'_>)) {
        let home = Home { source: Some(1), location: OWNER, now: Timestamp(self.now) };
        let mut unit_of_work = UnitOfWork::new(&*self.store, &self.pool, &self.secrets, home);
        work(&mut unit_of_work);
        let mut batch = Batch::new();
        unit_of_work.into_batch(&mut batch).unwrap();
        self.store.commit_now(batch).unwrap();
    }

    fn lists(&self) -> Lists<'_> {
        Lists { store: &*self.store, secrets: &self.secrets }
    }

    fn patient(&self, id: u32) -> Record<Patient> {
        let key = keys::record(Record::<Patient>::KIND.byte(), OWNER, id.into());
        serde_json::from_slice(&self.store.get(&key).unwrap().unwrap()).unwrap()
    }

    /// All pages of a walk.
    fn ids(&self, walk: &Walk, size: usize, direction: Direction) -> Vec<u64> {
        let (mut ids, mut from) = (Vec::new(), None);
        loop {
            let page = self.lists().walk::<Record<Patient>>(walk, Part { from, direction, limit: size }).unwrap();
            let raw = self.lists().walk_raw::<Record<Patient>>(walk, Part { from, direction, limit: size }).unwrap();
            assert_eq!(
                page.iter().map(|(at, _)| *at).collect::<Vec<_>>(),
                raw.iter().map(|(at, _)| *at).collect::<Vec<_>>()
            );
            assert!(page.len() <= size);
            let Some((last, _)) = page.last() else { return ids };
            from = Some(*last);
            ids.extend(page.iter().map(|(_, patient)| u64::from(patient.id)));
        }
    }
}

fn patient(id: u32, name: usize, inactive: bool, now: i64) -> Record<Patient> {
    let body = Patient {
        first_name: NAMES[name].to_owned(),
        last_name: format!("Smith{}", id % 40),
        inactive,
        cell_phone: Some(format!("+1 555 010 {:04}", id % 10)),
        ..Patient::default()
    };
    Record { source_id: Some(1), ..Record::new(id, OWNER, Timestamp(now), body) }
}

fn appointment(id: u64, location: u32, start: i64, now: i64) -> Record<Appointment> {
    let span = Span::new(Timestamp(start), Timestamp(start + 1)).unwrap();
    let placement = Placement { operatory: None, provider: None, span };
    let body = Appointment { patient_id: Some(id as u32 % 5), ..Appointment::at(placement) };
    Record { location_id: Some(location), ..Record::new(id, 1, Timestamp(now), body) }
}

#[test]
fn each_condition_finds_its_records_and_pages_of_any_size_add_up() {
    let world = World::new();
    for id in 1..=300 {
        world.turn(|unit_of_work| {
            unit_of_work.put(&patient(id, id as usize % NAMES.len(), id % 3 == 0, world.now + i64::from(id))).unwrap()
        });
    }
    let has = |wanted: &dyn Fn(&Record<Patient>) -> bool| -> Vec<u64> {
        (1..=300).filter(|id| wanted(&world.patient(*id))).map(u64::from).collect()
    };
    let begins = |start: &'static str| move |patient: &Record<Patient>| words::begin(&patient.name(), start);
    let cases: Vec<(Vec<Narrow>, Vec<u64>)> = vec![
        (vec![], has(&|_| true)),
        (vec![Narrow::Has(Term::flag(Field::Inactive))], has(&|it| it.inactive)),
        (vec![Narrow::OneOf(BTreeSet::from([7, 8, 9, 1_000]))], vec![7, 8, 9]),
        (
            vec![Narrow::OneOf((1..20).collect()), Narrow::Has(Term::flag(Field::Inactive))],
            has(&|it| it.inactive && it.id < 20),
        ),
        (vec![Narrow::Has(Term::phone("555-010-0003").unwrap())], has(&|it| it.id % 10 == 3)),
        (
            vec![Narrow::Has(Term::flag(Field::Inactive)), Narrow::Has(Term::phone("5550100003").unwrap())],
            has(&|it| it.inactive && it.id % 10 == 3),
        ),
        (vec![Narrow::Has(Term::text(Field::Email, "nobody"))], vec![]),
        (Narrow::name("ad").collect(), has(&begins("ad"))),
        (Narrow::name("ASA").collect(), has(&begins("asa"))),
        (Narrow::name("smith3").collect(), has(&begins("smith3"))),
        (Narrow::name("smith33").collect(), has(&begins("smith33"))),
        (Narrow::name("smithers").collect(), vec![]),
        (vec![Narrow::UpdatedSince(Timestamp(world.now + 290))], (290..=300).collect()),
        (vec![Narrow::UpdatedSince(Timestamp(world.now + 200))], (200..=300).collect()),
        (
            vec![Narrow::UpdatedSince(Timestamp(world.now + 200)), Narrow::Has(Term::flag(Field::Inactive))],
            has(&|it| it.inactive && it.id >= 200),
        ),
    ];
    for order in [Order::Id, Order::By(OrderBy::Updated)] {
        for (narrow, expected) in &cases {
            let walk = Walk { narrow: narrow.clone(), ..Walk::new(OWNER, order) };
            // Orders by time may show more than what was asked for; the caller filters.
            for (size, direction) in [
                (1, Direction::Forward),
                (7, Direction::Forward),
                (1_000, Direction::Forward),
                (7, Direction::Backward),
            ] {
                let mut found = world.ids(&walk, size, direction);
                if direction == Direction::Backward {
                    found.reverse();
                }
                if order != Order::Id || narrow.len() > 1 {
                    found.retain(|id| expected.contains(id));
                }
                assert_eq!(&found, expected, "{narrow:?} by {size} {direction:?} {order:?}");
            }
        }
    }
    let other = Walk::new(OWNER + 1, Order::Id);
    assert!(world.ids(&other, 10, Direction::Forward).is_empty());
}

#[test]
fn a_beginning_of_too_many_words_leaves_the_filter_to_the_caller() {
    let world = World::new();
    for id in 1..=300 {
        let mut named = patient(id, 0, false, world.now);
        named.last_name = format!("Q{id}");
        world.turn(|unit_of_work| unit_of_work.put(&named).unwrap());
    }
    let walk = |start| Walk { narrow: Narrow::name(start).collect(), ..Walk::new(OWNER, Order::Id) };
    assert_eq!(world.ids(&walk("q"), 50, Direction::Forward).len(), 300);
    assert_eq!(world.ids(&walk("q1"), 50, Direction::Forward).len(), 111);
    assert_eq!(world.ids(&walk("q17"), 3, Direction::Backward), [179, 178, 177, 176, 175, 174, 173, 172, 171, 170, 17]);
}

#[test]
fn what_a_record_is_no_longer_is_forgotten() {
    let world = World::new();
    world.turn(|unit_of_work| unit_of_work.put(&patient(1, 0, true, world.now)).unwrap());
    let of = |space: keys::Space| world.store.scan_keys(space.range(), Direction::Forward, 99).unwrap();
    let before = of(keys::Space::Index);
    world.turn(|unit_of_work| {
        unit_of_work.change::<Record<Patient>>(OWNER, 1, |it| it.first_name = "Eve".into()).unwrap();
        unit_of_work.change::<Record<Patient>>(OWNER, 1, |it| it.inactive = false).unwrap();
    });
    world.turn(|unit_of_work| {
        drop(unit_of_work.change::<Record<Patient>>(OWNER, 1, |it| it.first_name = "Ada".into()).unwrap())
    });
    world.turn(|unit_of_work| drop(unit_of_work.change::<Record<Patient>>(OWNER, 1, |it| it.inactive = true).unwrap()));
    assert_eq!(of(keys::Space::Index), before);
    assert_eq!(before.len(), 4, "two words, a phone number, a flag");
    for key in before.iter().chain(&of(keys::Space::Word)) {
        assert!(!key.windows(3).any(|part| part.eq_ignore_ascii_case(b"ada") || part == b"555"), "names in keys");
    }
}

#[test]
fn places_left_long_ago_are_forgotten() {
    let mut world = World::new();
    world.turn(|unit_of_work| unit_of_work.put(&appointment(1, OWNER, 50, world.now)).unwrap());
    for (after, start) in [(HOUR, 60), (HOUR, 50), (HOUR, 70)] {
        world.now += after;
        let move_it = |it: &mut Record<Appointment>| {
            it.placement.span = Span::new(Timestamp(start), Timestamp(start + 1)).unwrap();
        };
        world.turn(|unit_of_work| drop(unit_of_work.change(0, 1, move_it).unwrap()));
    }
    let walk = |as_of: i64| Walk { as_of: Timestamp(as_of), ..Walk::new(OWNER, Order::By(OrderBy::Start)) };
    let all = Part { from: None, direction: Direction::Forward, limit: 9 };
    let places = |as_of| -> Vec<i64> {
        let found = world.lists().walk::<Record<Appointment>>(&walk(as_of), all).unwrap();
        found.iter().map(|(position, _)| position.at.0).collect()
    };
    for (ago, at) in [(0, 70), (1, 50), (HOUR, 50), (HOUR + 1, 60), (2 * HOUR, 60), (2 * HOUR + 1, 50), (9 * HOUR, 50)]
    {
        assert_eq!(places(world.now - ago), [at], "{ago} ago");
    }
    assert_eq!(places(i64::MAX), [70]);
    let narrow = vec![Narrow::Has(Term::number(Field::Patient, 1u64))];
    let few = Walk { narrow, ..walk(world.now - HOUR - 1) };
    assert_eq!(world.lists().walk::<Record<Appointment>>(&few, all).unwrap()[0].0.at.0, 60, "found by going back");

    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let later = Timestamp(world.now + DAY);
    runtime.block_on(upkeep::all(&(world.store.clone() as Arc<dyn Store>), later, std::time::Duration::ZERO)).unwrap();
    let left = |space: keys::Space| world.store.scan_keys(space.range(), Direction::Forward, 99).unwrap().len();
    assert_eq!((left(keys::Space::Place), left(keys::Space::PlaceLeft)), (2, 0), "one by start, one by update");
    assert_eq!(places(i64::MAX), [70]);
}

#[derive(Clone, Debug)]
enum Step {
    Create {
        name: usize,
        inactive: bool,
    },
    Change {
        which: usize,
        name: usize,
        inactive: bool,
    },
    /// To another start, and perhaps from or to another location.
    Move {
        which: usize,
        start: i64,
        away: bool,
    },
    Wait(i64),
    Upkeep,
}

fn some_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..NAMES.len(), any::<bool>()).prop_map(|(name, inactive)| Step::Create { name, inactive }),
        6 => (any::<usize>(), 0..NAMES.len(), any::<bool>())
            .prop_map(|(which, name, inactive)| Step::Change { which, name, inactive }),
        6 => (any::<usize>(), 0..12i64, prop::bool::weighted(0.1))
            .prop_map(|(which, start, away)| Step::Move { which, start, away }),
        4 => prop_oneof![Just(1), Just(2_000), Just(6_000), Just(MINUTE), Just(3 * HOUR)].prop_map(Step::Wait),
        1 => Just(Step::Upkeep),
    ]
}

/// Patients and appointments with the same ids.
struct Practice {
    world: World,
    count: u64,
    runtime: tokio::runtime::Runtime,
}

impl Practice {
    fn step(&mut self, step: &Step) {
        let now = self.world.now;
        match *step {
            Step::Create { name, inactive } => {
                self.count += 1;
                let id = self.count;
                self.world.turn(|unit_of_work| {
                    unit_of_work.put(&patient(id as u32, name, inactive, now)).unwrap();
                    let born = if inactive { OWNER + 1 } else { OWNER };
                    unit_of_work
                        .put(&Record { institution_id: born, ..appointment(id, born, id as i64 % 12, now) })
                        .unwrap();
                });
            }
            Step::Change { which, name, inactive } if self.count > 0 => {
                let id = which as u64 % self.count + 1;
                self.world.turn(|unit_of_work| {
                    unit_of_work
                        .change::<Record<Patient>>(OWNER, id, |it| {
                            it.first_name = NAMES[name].to_owned();
                            it.inactive = inactive;
                            it.updated_at = Timestamp(now);
                        })
                        .unwrap();
                });
            }
            Step::Move { which, start, away } if self.count > 0 => {
                let id = which as u64 % self.count + 1;
                self.world.turn(|unit_of_work| {
                    unit_of_work
                        .change::<Record<Appointment>>(0, id, |it| {
                            it.placement.span = Span::new(Timestamp(start), Timestamp(start + 1)).unwrap();
                            // At most once: what comes back is new.
                            if away && it.location() == it.institution_id {
                                it.location_id = Some(2 * OWNER + 1 - it.location());
                            }
                            it.updated_at = Timestamp(now);
                        })
                        .unwrap();
                });
            }
            Step::Wait(length) => self.world.now += length,
            Step::Upkeep => {
                let now = Timestamp(now);
                self.runtime
                    .block_on(upkeep::all(
                        &(self.world.store.clone() as Arc<dyn Store>),
                        now,
                        std::time::Duration::ZERO,
                    ))
                    .unwrap();
            }
            _ => {}
        }
    }

    fn matching<D: Document>(&self, keep: &dyn Fn(&D) -> bool) -> BTreeSet<u64> {
        let ids = 1..=self.count;
        let read = |id: &u64| -> D {
            let key = keys::record(D::KIND.byte(), D::scope_of(OWNER), *id);
            serde_json::from_slice(&self.world.store.get(&key).unwrap().unwrap()).unwrap()
        };
        ids.filter(|id| Some(read(id)).is_some_and(|it| it.owner() == OWNER && keep(&it))).collect()
    }

    /// Walks while the steps happen between the pages, and back again from where it ended. What matched all the time is shown each way;
    /// nothing is shown twice.
    fn check<D: Document>(
        &mut self,
        walk: Walk,
        size: usize,
        there: Direction,
        steps: &[Step],
        keep: &dyn Fn(&D) -> bool,
    ) {
        let back = if there == Direction::Forward { Direction::Backward } else { Direction::Forward };
        let mut pass = Pass { walk, size, steps: steps.iter(), always: self.matching(keep), keep };
        let shown = self.pass(&mut pass, there, None);
        let missing: Vec<_> = pass.always.iter().filter(|id| !shown.iter().any(|at| at.id == **id)).collect();
        assert!(missing.is_empty(), "{missing:?} are skipped");
        let Some(turned) = shown.last() else { return };
        let shown = self.pass(&mut pass, back, Some(*turned));
        let missing = pass.always.iter().filter(|id| **id != turned.id && !shown.iter().any(|at| at.id == **id));
        assert!(missing.clone().count() == 0, "{:?} are skipped on the way back", missing.collect::<Vec<_>>());
    }

    fn pass<D: Document>(
        &mut self,
        pass: &mut Pass<'_, D>,
        direction: Direction,
        mut from: Option<Position>,
    ) -> Vec<Position> {
        let mut shown: Vec<Position> = Vec::new();
        loop {
            let part = Part { from, direction, limit: pass.size };
            let page = self.world.lists().walk::<D>(&pass.walk, part).unwrap();
            let Some((end, _)) = page.last() else { return shown };
            from = Some(*end);
            for (position, record) in page {
                assert_eq!(position.id, record.id());
                assert!(!shown.iter().any(|at| at.id == position.id), "{} is repeated", position.id);
                shown.push(position);
            }
            for step in pass.steps.by_ref().take(2) {
                self.step(step);
                let matching = self.matching(pass.keep);
                pass.always.retain(|id| matching.contains(id));
            }
        }
    }
}

struct Pass<'a, D> {
    walk: Walk,
    size: usize,
    steps: std::slice::Iter<'a, Step>,
    /// What existed at the beginning and has matched ever since.
    always: BTreeSet<u64>,
    keep: &'a dyn Fn(&D) -> bool,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn walks_neither_skip_nor_repeat(
        before in prop::collection::vec(some_step(), 1..60),
        during in prop::collection::vec(some_step(), 0..40),
        size in 1..6usize,
        there in prop::sample::select(vec![Direction::Forward, Direction::Backward]),
        kind in 0..7usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let mut practice = Practice { world: World::new(), count: 0, runtime };
        before.iter().for_each(|step| practice.step(step));
        let as_of = Timestamp(practice.world.now).minus(COMMITS_WITHIN);
        let walk = |order, narrow| Walk { owner: OWNER, order, within: None, narrow, as_of };
        let inactive = || vec![Narrow::Has(Term::flag(Field::Inactive))];
        // The waits of the walk must not outlast the day for which places are kept.
        let mut waited = 0;
        let during: Vec<Step> = during.into_iter().filter(|step| match step {
            Step::Wait(length) => { waited += length; waited < DAY - MINUTE }
            _ => true,
        }).collect();
        match kind {
            0 => practice.check::<Record<Patient>>(walk(Order::Id, vec![]), size, there, &during, &|_| true),
            1 => practice.check::<Record<Patient>>(walk(Order::Id, inactive()), size, there, &during, &|it| it.inactive),
            2 => {
                let narrow = Narrow::name("ad").collect();
                let keep = |it: &Record<Patient>| words::begin(&it.name(), "ad");
                practice.check::<Record<Patient>>(walk(Order::Id, narrow), size, there, &during, &keep);
            }
            3 => {
                let since = Timestamp(practice.world.now - HOUR);
                let narrow = vec![Narrow::UpdatedSince(since)];
                practice.check::<Record<Patient>>(walk(Order::Id, narrow), size, there, &during, &|it| it.updated_at >= since);
            }
            4 => practice.check::<Record<Patient>>(walk(Order::By(OrderBy::Updated), vec![]), size, there, &during, &|_| true),
            5 => practice.check::<Record<Appointment>>(walk(Order::By(OrderBy::Start), vec![]), size, there, &during, &|_| true),
            _ => {
                let narrow = vec![Narrow::Has(Term::number(Field::Patient, 2u64))];
                let keep = |it: &Record<Appointment>| it.patient_id == Some(2);
                practice.check::<Record<Appointment>>(walk(Order::By(OrderBy::Start), narrow), size, there, &during, &keep);
            }
        }
    }
}

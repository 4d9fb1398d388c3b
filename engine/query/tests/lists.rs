//! Compares lists with a model, read page by page while records are created and changed.

use records::record::Record;
use std::{collections::BTreeSet, ops::RangeInclusive, sync::Arc, time::Duration};

use location::{
    command::Placement,
    pull::Resource,
    time::{DAY, HOUR, MINUTE, Span, Timestamp},
};
use processor::{
    id_pool::Pool,
    unit_of_work::{TurnContext, UnitOfWork},
};
use proptest::prelude::*;
use query::{
    index::{Index, IndexEntries, ReadBudget, merge, rebuild},
    lists::{Filter, ListQuery, Lists, Order, PageAt, PageRequest, Position, Range},
    rows::Form,
    stream::Stream,
};
use records::{
    Appointment, Patient,
    demographics::{name, phone::Number},
    document::{Document, Link},
};
use store::{Batch, Direction, MemoryStore, Store, keys};
use testing::{HookedStore, earlier_change};

const OWNER: u32 = 7;
const FORM: Form = Form { endpoint: "/", version: "", amounts: true, setup: 0 };
const NAMES: [&str; 6] = ["Ada", "Adam", "Zoë", "Åsa", "Bo Adler", "Mary-Ann"];

/// Small limits, so that few records are enough to reach the other sources.
fn index() -> Index {
    Index::with(ReadBudget { named: 4, words: 256, with_terms: 15, changed: 50, credit: 8, earned: 3 })
}

struct ListsWorld {
    store: Arc<MemoryStore>,
    pool: Pool,
    index: Arc<Index>,
    now: i64,
}

impl ListsWorld {
    fn new() -> ListsWorld {
        ListsWorld {
            store: Arc::new(MemoryStore::new()),
            pool: Pool::default(),
            index: Arc::new(index()),
            now: 1_000 * DAY,
        }
    }

    fn turn(&self, work: impl FnOnce(&mut UnitOfWork<'_>)) {
        let home = TurnContext { institution: 1, source: Some(1), location: OWNER, now: Timestamp(self.now) };
        let mut unit_of_work = UnitOfWork::new(&*self.store, &self.pool, &self.index, home);
        work(&mut unit_of_work);
        let mut batch = Batch::new();
        unit_of_work.into_batch(&mut batch, 1, None).unwrap();
        self.store.commit_now(batch).unwrap();
    }

    fn lists(&self) -> Lists<'_> {
        Lists { store: &*self.store, index: &self.index }
    }

    /// Merges all streams.
    async fn merge(&self) {
        let store: Arc<dyn Store> = self.store.clone();
        for stream in
            [OWNER, OWNER + 1].into_iter().flat_map(|owner| [Stream::Institution(owner), Stream::Location(owner)])
        {
            merge(&self.index, &store, stream, 1, Duration::ZERO).await.unwrap();
        }
    }

    fn patient(&self, id: u32) -> Record<Patient> {
        let key = keys::record(Record::<Patient>::BYTE, OWNER, id.into());
        serde_json::from_slice(&self.store.get(&key).unwrap().unwrap()).unwrap()
    }

    /// Returns the ids of all pages of a list.
    fn ids(&self, query: &ListQuery, size: usize, direction: Direction) -> Vec<u64> {
        let (mut ids, mut from) = (Vec::new(), None);
        loop {
            let range = Range { from, direction, limit: size };
            let page = self.lists().scan::<Record<Patient>>(query, range).unwrap();
            let raw = self.lists().scan_raw::<Record<Patient>>(query, range).unwrap();
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

fn phone(text: &str) -> Filter {
    Filter::Phone(Number::read(text, "US").unwrap())
}

fn appointment(id: u64, location: u32, start: i64, now: i64) -> Record<Appointment> {
    let span = Span::new(Timestamp(start), Timestamp(start + 1)).unwrap();
    let placement = Placement { operatory: None, provider: None, span };
    let body = Appointment { patient_id: Some(id as u32 % 5), ..Appointment::at(placement) };
    Record { location_id: Some(location), ..Record::new(id, 1, Timestamp(now), body) }
}

#[test]
fn each_condition_finds_its_records_on_pages_of_any_size() {
    let world = ListsWorld::new();
    for id in 1..=300 {
        world.turn(|unit_of_work| {
            unit_of_work.put(&patient(id, id as usize % NAMES.len(), id % 3 == 0, world.now + i64::from(id))).unwrap()
        });
    }
    let has = |wanted: &dyn Fn(&Record<Patient>) -> bool| -> Vec<u64> {
        (1..=300).filter(|id| wanted(&world.patient(*id))).map(u64::from).collect()
    };
    let begins = |start: &'static str| move |patient: &Record<Patient>| name::is_found(&patient.name(), start);
    let cases: Vec<(Vec<Filter>, Vec<u64>)> = vec![
        (vec![], has(&|_| true)),
        (vec![Filter::Inactive(true)], has(&|it| it.inactive)),
        (vec![Filter::Ids(BTreeSet::from([7, 8, 9, 1_000]))], vec![7, 8, 9]),
        (vec![Filter::Ids((1..20).collect()), Filter::Inactive(true)], has(&|it| it.inactive && it.id < 20)),
        (vec![phone("555-010-0003")], has(&|it| it.id % 10 == 3)),
        (vec![Filter::Inactive(true), phone("5550100003")], has(&|it| it.inactive && it.id % 10 == 3)),
        (vec![Filter::Email("nobody".to_owned())], vec![]),
        (vec![Filter::Name("ad".to_owned())], has(&begins("ad"))),
        (vec![Filter::Name("ASA".to_owned())], has(&begins("asa"))),
        (vec![Filter::Name("smith3".to_owned())], has(&begins("smith3"))),
        (vec![Filter::Name("smith33".to_owned())], has(&begins("smith33"))),
        (vec![Filter::Name("smithers".to_owned())], vec![]),
        (vec![Filter::UpdatedSince(Timestamp(world.now + 290))], (290..=300).collect()),
        (vec![Filter::UpdatedSince(Timestamp(world.now + 200))], (200..=300).collect()),
        (
            vec![Filter::UpdatedSince(Timestamp(world.now + 200)), Filter::Inactive(true)],
            has(&|it| it.inactive && it.id >= 200),
        ),
    ];
    for order in [Order::Id, Order::UpdatedAt] {
        for (case, (filters, expected)) in cases.iter().enumerate() {
            let query = ListQuery::new([OWNER], order).filtered(filters.clone());
            // Orders by time may return additional records, which the caller filters.
            for (size, direction) in [
                (1, Direction::Forward),
                (7, Direction::Forward),
                (1_000, Direction::Forward),
                (7, Direction::Backward),
            ] {
                let mut found = world.ids(&query, size, direction);
                if direction == Direction::Backward {
                    found.reverse();
                }
                if order != Order::Id || filters.len() > 1 {
                    found.retain(|id| expected.contains(id));
                }
                assert_eq!(&found, expected, "case {case} by {size} {direction:?} {order:?}");
            }
        }
    }
    let other = ListQuery::new([OWNER + 1], Order::Id);
    assert!(world.ids(&other, 10, Direction::Forward).is_empty());
}

#[tokio::test]
async fn entries_of_an_earlier_version_are_found_before_and_after_a_merge() {
    let world = ListsWorld::new();
    let (before, after) = (patient(1, 0, false, world.now), patient(1, 4, true, world.now + 1));
    let old = IndexEntries::from_record(&before);
    let tag = Record::<Patient>::BYTE;
    let value = |change, (removed, added): (Vec<Vec<u8>>, Vec<Vec<u8>>)| {
        earlier_change(tag, 1, change, &[0, 1], [&removed, &added])
    };
    let mut batch = Batch::new();
    batch.put(keys::record(tag, OWNER, 1), serde_json::to_vec(&after).unwrap());
    let stream = Stream::Institution(OWNER).number();
    batch.append_many(stream, 1, value(0, old.since(None)));
    batch.append_many(stream, 1, value(1, IndexEntries::from_record(&after).since(Some(&old))));
    world.store.commit_now(batch).unwrap();
    world.turn(|unit_of_work| unit_of_work.put(&patient(2, 0, false, world.now + 2)).unwrap());
    for merged in [false, true] {
        if merged {
            world.merge().await;
        }
        let found = |filters: Vec<Filter>| {
            let query = ListQuery::new([OWNER], Order::Id).filtered(filters);
            world.ids(&query, 10, Direction::Forward)
        };
        assert_eq!(found(vec![]), [1, 2], "merged: {merged}");
        assert_eq!(found(vec![Filter::Name("ada".to_owned())]), [2], "merged: {merged}");
        assert_eq!(found(vec![Filter::Name("adler".to_owned())]), [1], "merged: {merged}");
        assert_eq!(found(vec![Filter::Inactive(true)]), [1], "merged: {merged}");
    }
}

#[test]
fn a_prefix_of_too_many_words_leaves_the_filter_to_the_caller() {
    let world = ListsWorld::new();
    for id in 1..=300 {
        let mut named = patient(id, 0, false, world.now);
        named.last_name = format!("Q{id}");
        world.turn(|unit_of_work| unit_of_work.put(&named).unwrap());
    }
    let named = |start: &str| ListQuery::new([OWNER], Order::Id).filtered([Filter::Name(start.to_owned())]);
    assert_eq!(world.ids(&named("q"), 50, Direction::Forward).len(), 300);
    assert_eq!(world.ids(&named("q1"), 50, Direction::Forward).len(), 111);
    assert_eq!(
        world.ids(&named("q17"), 3, Direction::Backward),
        [179, 178, 177, 176, 175, 174, 173, 172, 171, 170, 17]
    );
}

/// Returns a hundred patients with twenty words of a name each, which fill more than ten blocks of the index.
async fn patients_with_many_words(budget: ReadBudget) -> ListsWorld {
    let world = ListsWorld { index: Arc::new(Index::with(budget)), ..ListsWorld::new() };
    put_patients_with_many_words(&world, 1..=100).await;
    world
}

/// Writes patients to a new segment. Ids that differ by a hundred have the same name.
async fn put_patients_with_many_words(world: &ListsWorld, ids: RangeInclusive<u32>) {
    world.turn(|unit_of_work| {
        for id in ids {
            let mut named = patient(id, 0, false, world.now);
            named.first_name = (0..20).map(|part| format!("q{:06x} ", (id % 100 * 20 + part) * 7_919)).collect();
            unit_of_work.put(&named).unwrap();
        }
    });
    world.merge().await;
}

/// Counts the reads of a page of five.
fn reads_of_page(world: &ListsWorld, filters: Vec<Filter>, keep: fn(&Record<Patient>) -> bool) -> u64 {
    let query = ListQuery::new([OWNER], Order::Id).filtered(filters);
    let first_asked = Timestamp(world.now);
    let request = PageRequest { at: PageAt::Start, size: 5, descending: false, first_asked, budget: 1_000 };
    let page = || world.lists().list::<Record<Patient>>(&query, &request, keep).unwrap();
    // The first query loads the state into memory.
    page();
    let before = world.store.reads();
    assert_eq!(page().rows.len(), 5);
    world.store.reads() - before
}

#[tokio::test]
async fn a_prefix_of_many_blocks_is_known_without_reading_them() {
    // Fourteen words begin blocks. An estimate of the others adds to them.
    for words in [4, 50] {
        let world = patients_with_many_words(ReadBudget { words, ..ReadBudget::default() }).await;
        let reads = |filters| reads_of_page(&world, filters, |_| true);
        // Unlike the whole list, a filtered one reads the changes since the last read.
        let without_blocks = reads(Vec::new()) + 1;
        assert_eq!(reads(vec![Filter::Name("q".to_owned())]), without_blocks);
        // A narrower prefix is looked up in its blocks.
        assert!(reads(vec![Filter::Name("smith1".to_owned())]) > without_blocks);
    }
}

#[tokio::test]
async fn words_of_several_segments_are_not_added_up() {
    // The blocks of each segment begin with fourteen words, those of both with 27. Their words are the same.
    let world = patients_with_many_words(ReadBudget { words: 80, ..ReadBudget::default() }).await;
    put_patients_with_many_words(&world, 103..=200).await;
    let reads = |filters| reads_of_page(&world, filters, |_| true);
    assert!(reads(vec![Filter::Name("q".to_owned())]) > reads(Vec::new()) + 1);
}

#[tokio::test]
async fn too_many_records_are_known_from_the_number_of_blocks() {
    // Thirteen full blocks have over 1,300 entries.
    let reads = async |named| {
        let world = patients_with_many_words(ReadBudget { named, words: 100, ..ReadBudget::default() }).await;
        reads_of_page(&world, vec![Filter::Name("q".to_owned())], |_| true)
    };
    let collected_first = reads(1_300).await;
    assert_eq!(reads(1_299).await, reads(0).await);
    assert!(collected_first > reads(1_299).await);
}

#[test]
fn a_list_that_ends_on_the_page_is_read_once() {
    let world = ListsWorld::new();
    for id in 1..=60 {
        world.turn(|unit_of_work| unit_of_work.put(&patient(id, 0, id % 3 == 0, world.now)).unwrap());
    }
    let first_asked = Timestamp(world.now);
    let page = PageRequest { at: PageAt::Start, size: 100, descending: false, first_asked, budget: 1_000 };
    let read = |filters: &[Filter], request: &PageRequest| {
        let query = ListQuery::new([OWNER], Order::Id).filtered(filters.to_vec());
        let before = world.store.reads();
        let page = world.lists().list::<Record<Patient>>(&query, request, |_| true).unwrap();
        (page.rows.len(), page.has_next, world.store.reads() - before)
    };
    for filters in [vec![], vec![Filter::Inactive(true)]] {
        // The first query loads the state into memory.
        read(&filters, &page);
        assert_eq!(read(&filters, &page), read(&filters, &PageRequest::whole(100)));
    }
}

#[tokio::test]
async fn a_frequent_prefix_is_looked_up_once_per_page() {
    let world = patients_with_many_words(ReadBudget { named: 4, words: 100, ..ReadBudget::default() }).await;
    let lookup = |keep: fn(&Record<Patient>) -> bool| {
        let of_all = reads_of_page(&world, Vec::new(), keep);
        // Each read of the filtered list also reads the changes since the last one.
        (of_all, reads_of_page(&world, vec![Filter::Name("q".to_owned())], keep) - 2 * of_all)
    };
    let (once, of_one_read) = lookup(|_| true);
    let (several, of_several_reads) = lookup(|patient| patient.id.is_multiple_of(10));
    assert!(several > once, "the page of one record in ten takes several reads");
    assert!(of_one_read > 0);
    assert_eq!(of_several_reads, of_one_read);
}

/// Unlike a range of a list, a page contains only matching records.
#[test]
fn a_page_contains_exactly_the_matching_records() {
    let world = ListsWorld::new();
    for id in 1..=60 {
        let foreign_id = Some(format!("P-{id}"));
        let named = Record { foreign_id, ..patient(id, id as usize % NAMES.len(), id % 3 == 0, world.now) };
        world.turn(|unit_of_work| {
            unit_of_work.put(&named).unwrap();
            unit_of_work.put_link(1, Resource::Patients, &format!("P-{id}"), Link::new(id.into()));
            let owner = OWNER + id % 2;
            unit_of_work.put(&appointment(id.into(), owner, i64::from(100 - id), world.now)).unwrap();
        });
    }
    let now = Timestamp(world.now);
    let request = |at| PageRequest { at, size: 4, descending: false, first_asked: now, budget: 1_000 };
    let query = |order, filters: &[Filter]| ListQuery::new([OWNER], order).filtered(filters.to_vec());
    // Reads all pages to the last one and back.
    fn pages<D: Document>(world: &ListsWorld, query: &ListQuery, request: impl Fn(PageAt) -> PageRequest) -> Vec<u64> {
        let read = |at| world.lists().list::<D>(query, &request(at), |_| true).unwrap();
        let (mut ids, mut page) = (Vec::new(), read(PageAt::Start));
        loop {
            ids.extend(page.rows.iter().map(Document::id));
            let Some(end) = page.end.filter(|_| page.has_next) else { break };
            page = read(PageAt::After(end));
        }
        let mut back: Vec<u64> = page.rows.iter().map(Document::id).collect();
        while let Some(start) = page.start.filter(|_| page.has_previous) {
            page = read(PageAt::Before(start));
            back.splice(0..0, page.rows.iter().map(Document::id));
        }
        assert_eq!(back, ids, "the way back shows the same");
        let counted = world.lists().list::<D>(query, &request(PageAt::Counted(0)), |_| true);
        assert_eq!(counted.unwrap().count, Some(ids.len()));
        let whole = world.lists().list::<D>(query, &PageRequest::whole(100), |_| true).unwrap();
        assert_eq!(whole.rows.iter().map(Document::id).collect::<Vec<_>>(), ids);
        ids
    }
    let ids = |wanted: fn(u64) -> bool| (1..=60).filter(|id| wanted(*id)).collect::<Vec<u64>>();
    let called = |sources: &[u32], foreign_ids: &[&str]| Filter::ForeignIds {
        sources: sources.to_vec(),
        foreign_ids: foreign_ids.iter().map(|id| (*id).to_owned()).collect(),
    };
    let foreign = |sources: &[u32], foreign_id: &str| called(sources, &[foreign_id]);
    let cases = [
        (vec![Filter::Inactive(true)], ids(|id| id % 3 == 0)),
        (vec![Filter::Inactive(false)], ids(|id| id % 3 != 0)),
        (vec![Filter::Name(" -. ".to_owned())], vec![]),
        (vec![Filter::Name("ad smith1".to_owned()), Filter::Inactive(false)], {
            let named = |id: &u64| [0, 1, 4].contains(&(id % 6)) && (id % 40).to_string().starts_with('1');
            ids(|id| id % 3 != 0).into_iter().filter(named).collect()
        }),
        (vec![foreign(&[1], "P-7")], vec![7]),
        (vec![foreign(&[1], "P-7"), Filter::Ids(BTreeSet::from([8]))], vec![]),
        (vec![foreign(&[2], "P-7")], vec![]),
        (vec![foreign(&[], "P-7")], vec![]),
        (vec![called(&[2, 1], &["P-9", "P-7", "P-9", "nobody"])], vec![7, 9]),
        (vec![called(&[1], &["P-9", "P-7"]), foreign(&[1], "P-9")], vec![9]),
        (vec![called(&[1], &[])], vec![]),
        (vec![Filter::UpdatedSince(now.plus(1))], vec![]),
        (vec![Filter::UpdatedSince(now), Filter::NotDeleted], ids(|_| true)),
    ];
    for order in [Order::Id, Order::UpdatedAt] {
        for (case, (filters, expected)) in cases.iter().enumerate() {
            assert_eq!(
                &pages::<Record<Patient>>(&world, &query(order, filters), request),
                expected,
                "case {case} {order:?}"
            );
        }
    }
    // In the order of starts, the records created last come first. The end of the span is exclusive.
    let span = Span::new(Timestamp(50), Timestamp(60)).unwrap();
    let both = ListQuery::new([OWNER, OWNER + 1], Order::StartsAt).filtered([Filter::Starting(span)]);
    assert_eq!(pages::<Record<Appointment>>(&world, &both, request), (41..=50).rev().collect::<Vec<u64>>());
    for order in [Order::Id, Order::UpdatedAt] {
        let both = ListQuery { order, ..both.clone() };
        assert_eq!(pages::<Record<Appointment>>(&world, &both, request), (41..=50).collect::<Vec<u64>>(), "{order:?}");
    }
    let one = ListQuery { owners: vec![OWNER], ..both };
    assert_eq!(pages::<Record<Appointment>>(&world, &one, request), [50, 48, 46, 44, 42]);
    // One patient's appointments at a location are collected, those of three patients are more than that.
    for patients in [BTreeSet::new(), BTreeSet::from([3, 77]), BTreeSet::from([0, 3, 4]), (0..500).collect()] {
        let of_patients = |id: &u64| patients.contains(&(id % 5));
        let filters = [Filter::Patients(patients.clone())];
        let here: Vec<u64> = ids(|id| id % 2 == 0).into_iter().filter(of_patients).collect();
        assert_eq!(pages::<Record<Appointment>>(&world, &query(Order::Id, &filters), request), here, "{patients:?}");
        let by_start = query(Order::StartsAt, &filters);
        let latest_first: Vec<u64> = here.iter().rev().copied().collect();
        assert_eq!(pages::<Record<Appointment>>(&world, &by_start, request), latest_first, "{patients:?}");
        let owners = vec![OWNER, OWNER + 1];
        let everywhere = ListQuery { owners, ..query(Order::Id, &filters) };
        let all: Vec<u64> = ids(|_| true).into_iter().filter(of_patients).collect();
        assert_eq!(pages::<Record<Appointment>>(&world, &everywhere, request), all, "{patients:?}");
    }
}

#[test]
fn a_prefix_longer_than_the_index_stores_is_checked_on_the_record() {
    let world = ListsWorld::new();
    for (id, last_name) in ["Featherstonehaugh", "Featherstonehaughs", "Featherstone-Haugh"].iter().enumerate() {
        let mut named = patient(id as u32 + 1, 0, false, world.now);
        named.last_name = (*last_name).to_owned();
        world.turn(|unit_of_work| unit_of_work.put(&named).unwrap());
    }
    let found = |start: &str| -> Vec<u32> {
        let query = ListQuery::new([OWNER], Order::Id).filtered([Filter::Name(start.to_owned())]);
        let page = world.lists().list::<Record<Patient>>(&query, &PageRequest::whole(9), |_| true).unwrap();
        page.rows.iter().map(|it| it.id).collect()
    };
    assert_eq!(found("featherstone"), [1, 2, 3]);
    assert_eq!(found("featherstonehaug"), [1, 2, 3]);
    assert_eq!(found("featherstonehaughs"), [2]);
    assert_eq!(found("featherstonehaught"), [0; 0]);
}

#[tokio::test]
async fn entries_of_earlier_states_are_removed() {
    let world = ListsWorld::new();
    let entries = || {
        let keys = world.store.scan(keys::Space::IndexBlock.range(), Direction::Forward, 99).unwrap();
        keys.into_iter().map(|(_, packed)| packed).collect::<Vec<_>>()
    };
    world.turn(|unit_of_work| unit_of_work.put(&patient(1, 0, true, world.now)).unwrap());
    world.merge().await;
    let before = entries();
    assert_eq!(before.len(), 2, "a block, and what leads to it");
    type PatientEdit = fn(&mut Record<Patient>);
    let changes: [PatientEdit; 6] = [
        |it| it.first_name = "Eve".into(),
        |it| it.inactive = false,
        |it| it.first_name = "Ada".into(),
        |it| it.inactive = true,
        |it| it.last_name = "Adler".into(),
        |it| it.last_name = "Smith1".into(),
    ];
    for change in changes {
        world.turn(|unit_of_work| drop(unit_of_work.change::<Record<Patient>>(OWNER, 1, change).unwrap()));
        world.merge().await;
    }
    assert_eq!(entries(), before, "the segments of one size became one, and the older ones are gone");
    for space in [keys::Space::IndexBlock, keys::Space::IndexManifest, keys::Space::Feed] {
        for key in world.store.scan_keys(space.range(), Direction::Forward, 99).unwrap() {
            assert!(!key.windows(3).any(|part| part.eq_ignore_ascii_case(b"ada") || part == b"555"), "names in keys");
        }
    }
}

/// A record changed during a walk with the latest change first moves to the beginning, which has already been
/// read.
#[test]
fn a_descending_list_ends_with_changes_since_it_began() {
    let mut world = ListsWorld::new();
    for id in 1..=6 {
        world.now += MINUTE;
        world.turn(|unit_of_work| unit_of_work.put(&patient(id, 0, false, world.now)).unwrap());
    }
    world.now += MINUTE;
    let query = ListQuery::new([OWNER], Order::UpdatedAt);
    let first_asked = Timestamp(world.now);
    let request = |at| PageRequest { at, size: 2, descending: true, first_asked, budget: 1_000 };
    let (mut shown, mut at) = (Vec::new(), PageAt::Start);
    for change in [None, Some(2), Some(6), Some(1), None, None] {
        if let Some(id) = change {
            world.now += MINUTE;
            let now = Timestamp(world.now);
            world.turn(|unit| drop(unit.change::<Record<Patient>>(OWNER, id, |it| it.updated_at = now).unwrap()));
        }
        let page = world.lists().list::<Record<Patient>>(&query, &request(at), |_| true).unwrap();
        shown.push(page.rows.iter().map(|it| it.id).collect::<Vec<_>>());
        let Some(end) = page.end.filter(|_| page.has_next) else { break };
        at = PageAt::After(end);
    }
    assert_eq!(shown, [[6, 5], [4, 3], [1, 2], [6, 1]], "2 changed before it was shown, 6 and 1 afterwards");
}

#[derive(Clone, Debug)]
enum ListStep {
    Create {
        name: usize,
        inactive: bool,
    },
    Change {
        which: usize,
        name: usize,
        inactive: bool,
    },
    /// Moves the record to another start, and possibly from or to another location.
    Move {
        which: usize,
        start: i64,
        away: bool,
    },
    Wait(i64),
    Merge,
    Restart,
    /// Rebuilds the index, as after damage.
    Rebuild,
}

fn some_step() -> impl Strategy<Value = ListStep> {
    prop_oneof![
        3 => (0..NAMES.len(), any::<bool>()).prop_map(|(name, inactive)| ListStep::Create { name, inactive }),
        6 => (any::<usize>(), 0..NAMES.len(), any::<bool>())
            .prop_map(|(which, name, inactive)| ListStep::Change { which, name, inactive }),
        6 => (any::<usize>(), 0..12i64, prop::bool::weighted(0.1))
            .prop_map(|(which, start, away)| ListStep::Move { which, start, away }),
        4 => prop_oneof![Just(1), Just(2_000), Just(6_000), Just(MINUTE), Just(3 * HOUR)].prop_map(ListStep::Wait),
        3 => Just(ListStep::Merge),
        1 => Just(ListStep::Restart),
        1 => Just(ListStep::Rebuild),
    ]
}

/// Patients and appointments with the same ids.
struct ListModel {
    world: ListsWorld,
    count: u64,
    runtime: tokio::runtime::Runtime,
}

impl ListModel {
    fn step(&mut self, step: &ListStep) {
        let now = self.world.now;
        match *step {
            ListStep::Create { name, inactive } => {
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
            ListStep::Change { which, name, inactive } if self.count > 0 => {
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
            ListStep::Move { which, start, away } if self.count > 0 => {
                let id = which as u64 % self.count + 1;
                self.world.turn(|unit_of_work| {
                    unit_of_work
                        .change::<Record<Appointment>>(0, id, |it| {
                            it.placement.span = Span::new(Timestamp(start), Timestamp(start + 1)).unwrap();
                            // Limited to one repetition, because a record that comes back is a new one.
                            if away && it.location() == it.institution_id {
                                it.location_id = Some(2 * OWNER + 1 - it.location());
                            }
                            it.updated_at = Timestamp(now);
                        })
                        .unwrap();
                });
            }
            ListStep::Wait(length) => self.world.now += length,
            ListStep::Merge => self.runtime.block_on(self.world.merge()),
            ListStep::Restart => self.world.index = Arc::new(index()),
            ListStep::Rebuild => {
                let store: Arc<dyn Store> = self.world.store.clone();
                let rebuilt = self.runtime.block_on(rebuild(&store, Timestamp(now))).unwrap();
                assert_eq!(rebuilt, 2 * self.count);
                self.world.index = Arc::new(index());
            }
            _ => {}
        }
    }

    fn matching<D: Document>(&self, keep: &dyn Fn(&D) -> bool) -> BTreeSet<u64> {
        self.matching_records(keep).iter().map(Document::id).collect()
    }

    fn matching_records<D: Document>(&self, keep: &dyn Fn(&D) -> bool) -> Vec<D> {
        let read = |id| -> D {
            let key = keys::record(D::BYTE, D::scope_of(OWNER), id);
            serde_json::from_slice(&self.world.store.get(&key).unwrap().unwrap()).unwrap()
        };
        (1..=self.count).map(read).filter(|it| it.owner() == OWNER && keep(it)).collect()
    }

    fn both<D: Document>(
        &mut self,
        query: ListQuery,
        size: usize,
        there: Direction,
        steps: &[ListStep],
        position: &dyn Fn(&D) -> Position,
        keep: &dyn Fn(&D) -> bool,
    ) {
        self.compare(&query, position, keep);
        self.check(&query, size, there, steps, keep);
        self.compare(&query, position, keep);
    }

    /// Checks that a list contains exactly the matching records, in order. Rows from memory equal the stored records.
    fn compare<D: Document>(&self, query: &ListQuery, position: &dyn Fn(&D) -> Position, keep: &dyn Fn(&D) -> bool) {
        let mut records = self.matching_records(keep);
        records.sort_by_key(position);
        let mut expected: Vec<Position> = records.iter().map(position).collect();
        for _ in 0..2 {
            let request = PageRequest { at: PageAt::Start, ..PageRequest::whole(1_000) };
            let page = self.world.lists().list_rows::<D>(query, &request, keep).unwrap();
            assert_eq!(page.rows.len(), records.len());
            for (row, record) in page.rows.iter().zip(&records) {
                let rendered = self.world.index.rows().rendered(row, FORM, None, |it| it).unwrap();
                assert_eq!(rendered.text.get(), serde_json::to_string(record).unwrap());
            }
        }
        for direction in [Direction::Forward, Direction::Backward] {
            let range = Range { from: None, direction, limit: 1_000 };
            let found = self.world.lists().scan::<D>(query, range).unwrap();
            let kept = found.iter().filter(|(_, record)| keep(record)).map(|(position, _)| *position);
            assert_eq!(kept.collect::<Vec<_>>(), expected);
            expected.reverse();
        }
    }

    /// Walks through a list while the steps happen between the pages. If the order is stable, walks back from the
    /// end, too. Records that match throughout appear exactly once in each direction.
    fn check<D: Document>(
        &mut self,
        query: &ListQuery,
        size: usize,
        there: Direction,
        steps: &[ListStep],
        keep: &dyn Fn(&D) -> bool,
    ) {
        let by_change = query.order == Order::UpdatedAt;
        let there = if by_change { Direction::Forward } else { there };
        let back = if there == Direction::Forward { Direction::Backward } else { Direction::Forward };
        let mut pass =
            ListPass { query, size, steps: steps.iter(), always: self.matching(keep), moved: BTreeSet::new(), keep };
        let shown = self.pass(&mut pass, there, None);
        let missing = |pass: &ListPass<'_, D>, shown: &[Position]| -> Vec<u64> {
            let by_start = pass.query.order == Order::StartsAt;
            let promised = pass.always.iter().filter(|id| !by_start || !pass.moved.contains(id));
            promised.filter(|id| !shown.iter().any(|at| at.id == **id)).copied().collect()
        };
        let skipped = missing(&pass, &shown);
        assert!(skipped.is_empty(), "{skipped:?} are skipped");
        let Some(turned) = shown.last().filter(|_| !by_change) else { return };
        pass.always.remove(&turned.id);
        let shown = self.pass(&mut pass, back, Some(*turned));
        let skipped = missing(&pass, &shown);
        assert!(skipped.is_empty(), "{skipped:?} are skipped on the way back");
    }

    fn pass<D: Document>(
        &mut self,
        pass: &mut ListPass<'_, D>,
        direction: Direction,
        mut from: Option<Position>,
    ) -> Vec<Position> {
        let mut shown: Vec<Position> = Vec::new();
        loop {
            let range = Range { from, direction, limit: pass.size };
            let page = self.world.lists().scan::<D>(pass.query, range).unwrap();
            let Some((end, _)) = page.last() else { return shown };
            from = Some(*end);
            for (position, record) in page {
                assert_eq!(position.id, record.id());
                let may_come_again = pass.query.order != Order::Id && pass.moved.contains(&position.id);
                let again = shown.iter().any(|at| at.id == position.id);
                assert!(!again || may_come_again, "{} is repeated", position.id);
                shown.push(position);
            }
            for step in pass.steps.by_ref().take(2) {
                self.step(step);
                if let ListStep::Change { which, .. } | ListStep::Move { which, .. } = step {
                    pass.moved.insert(*which as u64 % self.count + 1);
                }
                let matching = self.matching(pass.keep);
                pass.always.retain(|id| matching.contains(id));
            }
        }
    }
}

struct ListPass<'a, D> {
    query: &'a ListQuery,
    size: usize,
    steps: std::slice::Iter<'a, ListStep>,
    /// The records that existed at the beginning and have matched ever since.
    always: BTreeSet<u64>,
    /// The records changed during the walk.
    moved: BTreeSet<u64>,
    keep: &'a dyn Fn(&D) -> bool,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn pages_read_during_changes_skip_and_repeat_nothing(
        before in prop::collection::vec(some_step(), 1..60),
        during in prop::collection::vec(some_step(), 0..40),
        size in 1..6usize,
        there in prop::sample::select(vec![Direction::Forward, Direction::Backward]),
        kind in 0..7usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let mut practice = ListModel { world: ListsWorld::new(), count: 0, runtime };
        before.iter().for_each(|step| practice.step(step));
        let list = |order, filters: &[Filter]| ListQuery::new([OWNER], order).filtered(filters.to_vec());
        let by_id = |it: &Record<Patient>| Position::id(it.id.into());
        let since = Timestamp(practice.world.now - HOUR);
        let start = |it: &Record<Appointment>| Position { at: it.placement.span.start, id: it.id };
        match kind {
            0 => practice.both(list(Order::Id, &[]), size, there, &during, &by_id, &|_| true),
            1 => practice.both(list(Order::Id, &[Filter::Inactive(true)]), size, there, &during, &by_id, &|it| it.inactive),
            2 => {
                let keep = |it: &Record<Patient>| name::is_found(&it.name(), "ad");
                practice.both(list(Order::Id, &[Filter::Name("ad".to_owned())]), size, there, &during, &by_id, &keep);
            }
            3 => {
                let keep = |it: &Record<Patient>| it.updated_at >= since;
                practice.both(list(Order::Id, &[Filter::UpdatedSince(since)]), size, there, &during, &by_id, &keep);
            }
            4 => {
                let at = |it: &Record<Patient>| Position { at: it.updated_at, id: it.id.into() };
                practice.both(list(Order::UpdatedAt, &[]), size, there, &during, &at, &|_| true);
            }
            5 => practice.both(list(Order::StartsAt, &[]), size, there, &during, &start, &|_| true),
            _ => {
                let keep = |it: &Record<Appointment>| it.patient_id == Some(2);
                practice.both(list(Order::StartsAt, &[Filter::Patient(2)]), size, there, &during, &start, &keep);
            }
        }
    }
}

#[test]
fn a_repeated_list_opens_changed_records_only() {
    let world = ListsWorld::new();
    for id in 1..=60 {
        world.turn(|unit_of_work| {
            unit_of_work.put(&patient(id, 0, id % 3 == 0, world.now)).unwrap();
            unit_of_work.put(&appointment(id.into(), OWNER, i64::from(100 - id), world.now)).unwrap();
        });
    }
    let store = HookedStore::over(world.store.clone());
    let lists = Lists { store: &store, index: &world.index };
    fn opened<D: Document>(lists: Lists<'_>, store: &HookedStore, query: &ListQuery) -> usize {
        let request = PageRequest { at: PageAt::Start, size: 50, ..PageRequest::whole(0) };
        store.take_opened();
        let page = lists.list_rows::<D>(query, &request, |_| true).unwrap();
        assert!(page.rows.len() >= 20);
        store.take_opened().iter().filter(|key| keys::parse_record(key).is_some()).count()
    }
    let patients = |filters: &[Filter]| ListQuery::new([OWNER], Order::Id).filtered(filters.to_vec());
    let read = || {
        let all = opened::<Record<Patient>>(lists, &store, &patients(&[]));
        let inactive = opened::<Record<Patient>>(lists, &store, &patients(&[Filter::Inactive(true)]));
        let by_start = ListQuery::new([OWNER], Order::StartsAt);
        (all, inactive, opened::<Record<Appointment>>(lists, &store, &by_start))
    };
    // A page reads one record more than it shows. The three inactive patients after the first 51 are new.
    assert_eq!(read(), (51, 3, 51));
    assert_eq!(read(), (0, 0, 0));
    world.turn(|unit| drop(unit.change::<Record<Patient>>(OWNER, 9, |it| it.last_name = "Adler".into()).unwrap()));
    assert_eq!(read(), (1, 0, 0));
}

/// Counts the values read for a page of a hundred, for each kind of filter, in a list of `count` patients.
async fn values_of_pages(count: u32) -> Vec<usize> {
    let world = ListsWorld { index: Arc::default(), ..ListsWorld::new() };
    for first in (1..=count).step_by(500) {
        world.turn(|unit_of_work| {
            for id in first..first + 500 {
                let mut patient = patient(id, id as usize % NAMES.len(), id % 3 == 0, world.now + i64::from(id));
                patient.last_name = format!("Smith{}", id % 5);
                unit_of_work.put(&patient).unwrap();
            }
        });
        world.merge().await;
    }
    let store = HookedStore::over(world.store.clone());
    let middle = world.now + i64::from(count / 2);
    let cases = [
        (Order::Id, vec![]),
        (Order::Id, vec![Filter::Inactive(true)]),
        (Order::Id, vec![phone("5550100003")]),
        (Order::Id, vec![Filter::Inactive(true), phone("5550100003")]),
        (Order::Id, vec![Filter::Name("smith1".to_owned())]),
        (Order::Id, vec![Filter::UpdatedSince(Timestamp(middle))]),
        (Order::UpdatedAt, vec![]),
        (Order::UpdatedAt, vec![Filter::UpdatedSince(Timestamp(middle))]),
    ];
    let values = cases.map(|(order, filters)| {
        let query = ListQuery::new([OWNER], order).filtered(filters);
        let lists = Lists { store: &store, index: &world.index };
        let request = PageRequest {
            at: PageAt::Start,
            size: 100,
            descending: false,
            first_asked: Timestamp(world.now),
            budget: 10_000,
        };
        let page = || lists.list::<Record<Patient>>(&query, &request, |_| true).unwrap();
        // The first query loads the state into memory.
        page();
        let before = store.found.get();
        assert!(!page().rows.is_empty());
        store.found.get() - before
    });
    values.to_vec()
}

#[tokio::test]
async fn the_cost_of_a_page_is_independent_of_the_list_size() {
    let (short, long) = (values_of_pages(1_000).await, values_of_pages(20_000).await);
    for (case, (short, long)) in short.iter().zip(&long).enumerate() {
        assert!(*long <= 600, "case {case}: {long} values for a page of 100");
        assert!(*long <= short + 250, "case {case}: {short} values of 1,000 patients, {long} of 20,000");
    }
}

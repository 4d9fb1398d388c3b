//! Tests of the feed: contents, order and retention.

use std::sync::Arc;

use location::{
    pull::Resource,
    time::{DAY, HOUR, MINUTE, Timestamp},
};
use processor::{
    id_pool::Pool,
    unit_of_work::{TurnContext, UnitOfWork},
};
use query::{
    feed::{ChangeKind, Followed, KEPT, Reader, page},
    index::Index,
    retention,
    stream::Stream,
};
use records::{AppointmentType, FeeSchedule, Operatory, record::Record, schema::rules};
use store::{Batch, Direction, MemoryStore, Store, keys};
use testing::earlier_change;

type FeedPage = (Vec<(Resource, u64, ChangeKind)>, u64, bool);

const READER: Reader = Reader { institution: 3, source: Some(1), location: 9 };

struct FeedWorld {
    store: Arc<MemoryStore>,
    index: Arc<Index>,
    now: i64,
    /// The number up to which the changes of location 9 have been followed.
    followed: u64,
}

impl FeedWorld {
    fn new() -> FeedWorld {
        FeedWorld { store: Arc::new(MemoryStore::new()), index: Arc::default(), now: 100 * DAY, followed: u64::MAX }
    }

    fn turn(&self, location: u32, work: impl FnOnce(&mut UnitOfWork<'_>)) {
        self.turn_of(Some(1), location, work);
    }

    fn turn_of(&self, source: Option<u32>, location: u32, work: impl FnOnce(&mut UnitOfWork<'_>)) {
        let home = TurnContext { institution: 1, source, location, now: Timestamp(self.now) };
        let pool = Pool::default();
        let mut unit_of_work = UnitOfWork::new(&*self.store, &pool, &self.index, home);
        work(&mut unit_of_work);
        let mut batch = Batch::new();
        unit_of_work.into_batch(&mut batch, 1, None).unwrap();
        self.store.commit_now(batch).unwrap();
    }

    fn page(&self, since: u64, resources: &[Resource], limit: usize) -> Option<FeedPage> {
        let changes = page(&*self.store, READER, since, resources, limit).unwrap()?;
        let entries = changes.entries.iter().map(|entry| (entry.resource, entry.id, entry.change)).collect();
        Some((entries, changes.next, changes.more))
    }

    fn run_retention(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let to = self.followed;
        let followed: Arc<Followed> = Arc::new(move |location| Ok(if location.0 == 9 { to } else { u64::MAX }));
        runtime
            .block_on(retention::all(
                &self.index,
                &(self.store.clone() as Arc<dyn Store>),
                &followed,
                Timestamp(self.now),
                std::time::Duration::ZERO,
            ))
            .unwrap();
    }
}

fn kind(id: u32) -> Record<AppointmentType> {
    let body =
        AppointmentType { name: "check-up".into(), minutes: 30, bookable_online: true, ..AppointmentType::default() };
    Record::new(id, 3, Timestamp(0), body)
}

fn operatory(id: u64, location_id: u32) -> Record<Operatory> {
    let body = Operatory { name: "1".into(), active: true, bookable_online: true, ..Operatory::default() };
    Record { location_id: Some(location_id), ..Record::new(id, 3, Timestamp(0), body) }
}

const TYPE: Resource = Resource::AppointmentTypes;
const ROOM: Resource = Resource::Operatories;

#[test]
fn each_changed_record_is_in_the_feed_once_in_commit_order() {
    let world = FeedWorld::new();
    world.turn(9, |unit_of_work| {
        unit_of_work.put(&kind(1)).unwrap();
        unit_of_work.change::<Record<AppointmentType>>(3, 1, |it| it.minutes = 40).unwrap();
    });
    world.turn(9, |unit_of_work| unit_of_work.put(&operatory(5, 9)).unwrap());
    // Another location of the data source, with its own operatory.
    world.turn(8, |unit_of_work| {
        unit_of_work.change::<Record<AppointmentType>>(3, 1, |it| it.minutes = 50).unwrap();
        unit_of_work.put(&operatory(6, 8)).unwrap();
    });
    // Unchanged records: written without a change, or changed and changed back.
    world.turn(9, |unit_of_work| unit_of_work.put(&operatory(5, 9)).unwrap());
    world.turn(9, |unit_of_work| {
        unit_of_work.change::<Record<AppointmentType>>(3, 1, |it| it.minutes = 60).unwrap();
        unit_of_work.change::<Record<AppointmentType>>(3, 1, |it| it.minutes = 50).unwrap();
    });
    let delete = |it: &mut Record<Operatory>| it.deleted_at = Some(Timestamp(1));
    world.turn(9, |unit_of_work| drop(unit_of_work.change(9, 5, delete).unwrap()));
    world.turn(9, |unit_of_work| {
        drop(unit_of_work.change(9, 5, |it: &mut Record<Operatory>| it.active = false).unwrap())
    });

    use ChangeKind::{Created, Deleted, Updated};
    let (entries, end, more) = world.page(0, &[], 100).unwrap();
    assert_eq!(entries, [(TYPE, 1, Created), (ROOM, 5, Updated)], "the last change of each");
    assert_eq!((end, more), (6, false));
    let mut one_by_one = Vec::new();
    let mut since = 0;
    while let Some((entries, next, true)) | Some((entries, next, false)) = world.page(since, &[], 1)
        && !entries.is_empty()
    {
        assert!(next > since);
        one_by_one.extend(entries);
        since = next;
    }
    let expected = [(TYPE, 1, Created), (ROOM, 5, Created), (TYPE, 1, Updated), (ROOM, 5, Deleted), (ROOM, 5, Updated)];
    assert_eq!(one_by_one, expected);
    assert_eq!(world.page(0, &[TYPE], 100).unwrap(), (vec![(TYPE, 1, Created)], 6, false));
    assert_eq!(world.page(1, &[TYPE], 100).unwrap(), (vec![(TYPE, 1, Updated)], 6, false));
    assert_eq!(world.page(6, &[], 100).unwrap(), (vec![], 6, false));
}

#[test]
fn long_streams_are_merged_without_gaps() {
    let world = FeedWorld::new();
    for n in 0..1_300u32 {
        world.turn(9, |unit_of_work| match n % 13 {
            0 => unit_of_work.put(&kind(n)).unwrap(),
            _ => unit_of_work.put(&operatory(n.into(), 9)).unwrap(),
        });
    }
    for limit in [7, 499, 500, 501, 5_000] {
        let (mut ids, mut since) = (Vec::new(), 0);
        loop {
            let (entries, next, more) = world.page(since, &[], limit).unwrap();
            ids.extend(entries.into_iter().map(|(_, id, _)| id));
            since = next;
            if !more {
                break;
            }
        }
        assert_eq!(ids, (0..1_300).collect::<Vec<_>>(), "by {limit}");
    }
}

/// A page of a pull: many changes in one commit, read from any number among them.
#[test]
fn changes_of_one_value_have_separate_numbers() {
    let world = FeedWorld::new();
    for turn in 0..3u32 {
        world.turn(9, |unit_of_work| {
            for n in 0..70 {
                unit_of_work.put(&kind(turn * 70 + n)).unwrap();
                unit_of_work.put(&operatory((turn * 70 + n).into(), 9)).unwrap();
            }
        });
    }
    let values = world.store.scan_keys(keys::Space::Feed.range(), Direction::Forward, 999).unwrap();
    assert_eq!(values.len(), 3 * 2 * 2, "two values for seventy changes");
    let (all, end, more) = world.page(0, &[], 999).unwrap();
    assert_eq!((all.len(), end, more), (420, 420, false));
    for limit in [1, 3, 32, 100] {
        for start in [0, 1, 31, 32, 33, 139, 140, 419] {
            let (mut entries, mut since) = (Vec::new(), start);
            while since < end {
                let (page, next, _) = world.page(since, &[], limit).unwrap();
                assert!(page.len() <= limit && next > since);
                entries.extend(page);
                since = next;
            }
            assert_eq!(entries, all[start as usize..], "by {limit} from {start}");
        }
    }
    assert_eq!(world.page(0, &[ROOM], 999).unwrap().0.len(), 210);
}

#[test]
fn changes_older_than_thirty_days_are_pruned_and_their_cursors_expire() {
    let mut world = FeedWorld::new();
    for id in 0..700 {
        world.turn(9, |unit_of_work| unit_of_work.put(&operatory(id, 9)).unwrap());
    }
    world.turn(8, |unit_of_work| unit_of_work.put(&operatory(900, 8)).unwrap());
    world.now += KEPT - HOUR;
    world.turn(9, |unit_of_work| unit_of_work.put(&kind(1)).unwrap());
    world.run_retention();
    assert_eq!(world.page(0, &[], 5_000).unwrap().0.len(), 701);
    world.now += HOUR + MINUTE;
    world.run_retention();
    assert_eq!(world.page(0, &[], 10), None);
    assert_eq!(world.page(699, &[], 10), None);
    assert_eq!(world.page(700, &[], 10).unwrap(), (vec![(TYPE, 1, ChangeKind::Created)], 702, false));
    let left = world.store.scan_keys(keys::Space::Feed.range(), Direction::Forward, 99).unwrap();
    assert_eq!(left.len(), 1);
}

#[test]
fn changes_of_an_earlier_version_are_read_and_pruned_without_a_follower() {
    let mut world = FeedWorld::new();
    // The time of the earlier changes.
    world.now = 1_795_255_200_000;
    let earlier =
        |resource, id, change, readers: &[u8]| earlier_change(rules(resource).tag, id, change, readers, [&[], &[]]);
    let mut batch = Batch::new();
    batch.append_many(Stream::Institution(3).number(), 1, earlier(TYPE, 1, 0, &[0, 1]));
    let made_and_changed = [earlier(ROOM, 5, 0, &[1, 9]), earlier(ROOM, 5, 1, &[1, 9])].concat();
    batch.append_many(Stream::Location(9).number(), 2, made_and_changed);
    // Index entries only, and a record of another location.
    batch.append_many(Stream::Institution(3).number(), 1, earlier(TYPE, 1, 1, &[2]));
    batch.append_many(Stream::Location(9).number(), 1, earlier(ROOM, 6, 2, &[1, 8]));
    batch.append_many(Stream::Location(9).number(), 1, earlier(ROOM, 7, 2, &[1, 9]));
    world.store.commit_now(batch).unwrap();
    world.now += MINUTE;
    world.turn(9, |unit| unit.put(&kind(2)).unwrap());
    use ChangeKind::{Created, Deleted};
    let entries = vec![(TYPE, 1, Created), (ROOM, 5, Created), (ROOM, 7, Deleted), (TYPE, 2, Created)];
    assert_eq!(world.page(0, &[], 100).unwrap(), (entries, 7, false));

    world.now += KEPT - 1;
    world.followed = 0;
    world.run_retention();
    assert_eq!(world.page(0, &[], 100), None);
    assert_eq!(world.page(6, &[], 100).unwrap(), (vec![(TYPE, 2, Created)], 7, false));
    assert_eq!(world.store.scan_keys(keys::Space::Feed.range(), Direction::Forward, 99).unwrap().len(), 1);
}

#[test]
fn changes_that_are_not_followed_yet_are_not_pruned() {
    let mut world = FeedWorld::new();
    world.turn(9, |unit| (0..200).for_each(|id| unit.put(&operatory(id, 9)).unwrap()));
    world.turn(8, |unit| unit.put(&operatory(900, 8)).unwrap());
    world.turn(9, |unit| unit.put(&operatory(500, 9)).unwrap());
    world.now += KEPT + MINUTE;
    let left = |world: &FeedWorld| {
        world.run_retention();
        world.page(201, &[], 5_000).map(|(entries, ..)| entries.len())
    };
    world.followed = 0;
    world.run_retention();
    assert_eq!(world.page(0, &[ROOM], 5_000).unwrap().0.len(), 201);
    let of_8 = keys::feed_after(Stream::Location(8).number(), 0);
    assert_eq!(world.store.scan_keys(of_8, Direction::Forward, 9).unwrap().len(), 0, "only that of location 9 is kept");
    world.followed = 200;
    assert_eq!(left(&world), Some(1));
    world.followed = 202;
    assert_eq!(left(&world), None);
}

/// The stream without a data source is shared by several institutions. Pruning changes of one location does
/// not affect the cursors of another.
#[test]
fn pruning_without_a_data_source_expires_only_cursors_of_the_location() {
    let mut world = FeedWorld::new();
    let schedule = |id| {
        Record::new(
            id,
            3,
            Timestamp(0),
            FeeSchedule { name: "standard".into(), active: Some(true), extra: Default::default() },
        )
    };
    let readers = [9, 21].map(|location| Reader { institution: location / 7, source: None, location });
    let make = |world: &FeedWorld, location, id| world.turn_of(None, location, |unit| unit.put(&schedule(id)).unwrap());
    make(&world, 9, 1);
    make(&world, 21, 2);
    make(&world, 21, 3);
    world.now += KEPT - HOUR;
    make(&world, 9, 4);
    world.now += HOUR + MINUTE;
    world.run_retention();
    let entries = |reader, since| {
        let changes = page(&*world.store, reader, since, &[], 10).unwrap()?;
        Some((changes.entries.iter().map(|entry| entry.id).collect::<Vec<_>>(), changes.next))
    };
    assert_eq!(entries(readers[0], 0), None);
    assert_eq!(entries(readers[0], 1), Some((vec![4], 4)), "what it has not seen is all there");
    assert_eq!(entries(readers[1], 2), None);
    assert_eq!(entries(readers[1], 3), Some((vec![], 4)));
}

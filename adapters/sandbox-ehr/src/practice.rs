//! The practice's database: records by id, the feed of their revisions, the calendars of the operatories, and recent
//! write keys.

use std::collections::BTreeMap;

use super::{
    change::Change,
    records::{Appointment, Record, Resource},
    triggers::{Trigger, UNCONVERTED},
};

/// Maximum number of stored write keys.
const WRITE_KEYS: usize = 200_000;
/// Maximum duration of an appointment in seconds; limits the search for overlaps.
pub(super) const LONGEST: i64 = 24 * 3_600;

/// The record written with a write key.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KeyedRecord {
    pub(super) resource: Resource,
    pub(super) id: String,
}

/// A feed: a resource, for one location if it is local.
type Feed = (Resource, Option<String>);

#[derive(Default)]
pub(super) struct PracticeDatabase {
    revision: u64,
    rows: BTreeMap<(Resource, String), Record>,
    /// Record ids of each feed by the revision of their last change. Deleted records stay here, but not in `rows`.
    feeds: BTreeMap<Feed, BTreeMap<u64, String>>,
    /// Number of existing records per feed.
    sizes: BTreeMap<Feed, usize>,
    last_number: BTreeMap<Resource, u64>,
    /// Occupied time: the end by place, start and id.
    calendar: BTreeMap<(String, i64, String), i64>,
    write_keys: BTreeMap<String, (u64, KeyedRecord)>,
    write_key_ages: BTreeMap<u64, String>,
}

pub(super) struct FeedPage<'a> {
    pub(super) records: Vec<&'a Record>,
    pub(super) deleted: Vec<&'a str>,
    /// Start of the next page.
    pub(super) revision: u64,
    pub(super) more: bool,
}

impl PracticeDatabase {
    pub(super) fn get(&self, resource: Resource, id: &str) -> Option<&Record> {
        self.rows.get(&(resource, id.to_owned()))
    }

    pub(super) fn all(&self, resource: Resource) -> impl Iterator<Item = &Record> {
        let from = (resource, String::new());
        self.rows.range(from..).take_while(move |((of, _), _)| *of == resource).map(|(_, record)| record)
    }

    pub(super) fn size(&self, resource: Resource, location: Option<&str>) -> usize {
        self.sizes.get(&(resource, location.map(str::to_owned))).copied().unwrap_or(0)
    }

    pub(super) fn written(&self, write_key: &str) -> Option<&KeyedRecord> {
        self.write_keys.get(write_key).map(|(_, written)| written)
    }

    /// Returns the appointment other than `but` that occupies the place during `start..end`.
    pub(super) fn occupied(&self, place: &str, start: i64, end: i64, but: &str) -> Option<&str> {
        let from = (place.to_owned(), start - LONGEST, String::new());
        let until = (place.to_owned(), end, String::new());
        let mut near = self.calendar.range(from..until);
        near.find(|((_, _, id), ends)| **ends > start && id != but).map(|((_, _, id), _)| id.as_str())
    }

    /// Returns at most `limit` changes after `since`, in order.
    pub(super) fn stretch(&self, resource: Resource, location: Option<&str>, since: u64, limit: usize) -> FeedPage<'_> {
        let mut stretch = FeedPage { records: Vec::new(), deleted: Vec::new(), revision: since, more: false };
        let Some(feed) = self.feeds.get(&(resource, location.map(str::to_owned))) else { return stretch };
        for (count, (revision, id)) in feed.range(since + 1..).enumerate() {
            if count == limit {
                stretch.more = true;
                break;
            }
            match self.get(resource, id).filter(|r| r.location() == location) {
                Some(record) if record.version() == *revision => stretch.records.push(record),
                // It left the location and returned; its last revision is listed.
                Some(_) => {}
                None => stretch.deleted.push(id),
            }
            stretch.revision = *revision;
        }
        stretch
    }

    /// Saves a record and returns the change. A record with an empty id is new.
    pub(super) fn save(&mut self, mut record: Record, write_key: Option<&str>) -> Change {
        let resource = record.resource();
        if record.id().is_empty() {
            let number = self.last_number.get(&resource).copied().unwrap_or(0) + 1;
            record.set_id(format!("{}-{number:05}{}", resource.prefix(), Trigger::ending_of_id(&record)));
        }
        record.set_version(self.revision + 1);
        let change = Change::Saved { record: Box::new(record), write_key: write_key.map(str::to_owned) };
        self.apply(change.clone());
        change
    }

    pub(super) fn delete(&mut self, resource: Resource, id: &str, write_key: Option<&str>) -> Option<Change> {
        self.get(resource, id)?;
        let (id, write_key) = (id.to_owned(), write_key.map(str::to_owned));
        let change = Change::Deleted { resource, id, revision: self.revision + 1, write_key };
        self.apply(change.clone());
        Some(change)
    }

    pub(super) fn apply(&mut self, change: Change) {
        match change {
            Change::Saved { record, write_key } => {
                self.revision = self.revision.max(record.version());
                if let Some(key) = write_key {
                    self.remember(key, KeyedRecord { resource: record.resource(), id: record.id().to_owned() });
                }
                self.put(*record);
            }
            Change::Deleted { resource, id, revision, write_key } => {
                self.revision = self.revision.max(revision);
                if let Some(key) = write_key {
                    self.remember(key, KeyedRecord { resource, id: id.clone() });
                }
                if let Some(feed) = self.take(resource, &id) {
                    self.feeds.entry(feed).or_default().insert(revision, id);
                }
            }
        }
    }

    fn put(&mut self, record: Record) {
        let (resource, id, version) = (record.resource(), record.id().to_owned(), record.version());
        let feed = feed_of(&record);
        let before = self.take(resource, &id);
        if let Some(left) = before.filter(|left| *left != feed) {
            // The record moved to another location; for the previous location it is deleted.
            self.feeds.entry(left).or_default().insert(version, id.clone());
        }
        if let Record::Appointment(appointment) = &record {
            self.occupy(appointment);
        }
        let digits = id.rsplit('-').next().map(|last| last.trim_end_matches(UNCONVERTED));
        let number = digits.and_then(|digits| digits.parse().ok()).unwrap_or(0);
        let last = self.last_number.entry(resource).or_default();
        *last = number.max(*last);
        *self.sizes.entry(feed.clone()).or_default() += 1;
        self.feeds.entry(feed).or_default().insert(version, id.clone());
        self.rows.insert((resource, id), record);
    }

    /// Removes a record everywhere and returns its feed.
    fn take(&mut self, resource: Resource, id: &str) -> Option<Feed> {
        let record = self.rows.remove(&(resource, id.to_owned()))?;
        let feed = feed_of(&record);
        if let Some(revisions) = self.feeds.get_mut(&feed) {
            revisions.remove(&record.version());
        }
        if let Some(size) = self.sizes.get_mut(&feed) {
            *size -= 1;
        }
        if let Record::Appointment(a) = &record
            && let Some(place) = a.place()
        {
            self.calendar.remove(&(place.clone(), a.start, a.id.clone()));
        }
        Some(feed)
    }

    fn occupy(&mut self, a: &Appointment) {
        if let Some(place) = a.place().filter(|_| a.occupies()) {
            self.calendar.insert((place.clone(), a.start, a.id.clone()), a.end);
        }
    }

    fn remember(&mut self, key: String, written: KeyedRecord) {
        let age = self.revision;
        if let Some((earlier, _)) = self.write_keys.insert(key.clone(), (age, written)) {
            self.write_key_ages.remove(&earlier);
        }
        self.write_key_ages.insert(age, key);
        if self.write_keys.len() > WRITE_KEYS
            && let Some((_, oldest)) = self.write_key_ages.pop_first()
        {
            self.write_keys.remove(&oldest);
        }
    }
}

fn feed_of(record: &Record) -> Feed {
    (record.resource(), record.location().map(str::to_owned))
}

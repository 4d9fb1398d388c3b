//! Lists by pages, as a pull shows them: by offset, overlapping by one row, so that a row deleted in between does not hide another.

use adapter_sdk::{Fault, Page, Record, SkippedRecord, clock, warn};
use serde_json::Value;

use crate::{
    client::Client,
    cursor::{Cursor, Whole},
    settings::Settings,
    time,
    values::Num,
};

/// A resource as the API has it.
pub struct Feed {
    pub parts: &'static [Part],
    pub whole: fn(&Settings) -> Whole,
}

/// One of the lists a resource consists of.
pub enum Part {
    Rows(List),
    /// Something that is asked for by dates.
    Days(fn(&Client, from: &str, to: &str) -> Result<Vec<Record>, Fault>),
}

pub struct List {
    pub path: &'static str,
    /// The field with a row's id.
    pub id: &'static str,
    /// The parameter that shows only what changed since.
    pub since: Option<Since>,
    pub query: fn(&Settings, &Cursor) -> Vec<(&'static str, String)>,
    /// What stands before a row's key in the id of its record; none where a row is not one record.
    pub record: Option<&'static str>,
    /// Rows of a page: few where each is looked up further.
    pub rows: u32,
    pub show: fn(&Client, Value) -> Result<Shown, Trouble>,
}

#[derive(Clone, Copy)]
pub enum Since {
    Time(&'static str),
    Date(&'static str),
}

/// What a row is to the engine.
#[derive(Default)]
pub struct Shown {
    pub records: Vec<Record>,
    pub deleted: Vec<String>,
}

/// Why there is nothing to show.
pub enum Trouble {
    /// The row cannot be read: it is left out, and nothing is said of what it was before.
    Row(String),
    /// An appointment without a place in the calendar: whatever place it had before is free.
    NoPlace(&'static str),
    Fault(Fault),
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Trouble {
        Trouble::Fault(fault)
    }
}

impl From<String> for Trouble {
    fn from(why: String) -> Trouble {
        Trouble::Row(why)
    }
}

impl Shown {
    pub fn one(record: Record) -> Shown {
        Shown { records: vec![record], deleted: Vec::new() }
    }

    pub fn gone(id: Option<String>) -> Shown {
        Shown { records: Vec::new(), deleted: id.into_iter().collect() }
    }
}

/// Days of a page of what is asked for by dates.
const DAYS: i64 = 7;

impl Feed {
    pub fn delta(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Rows(List { since: Some(_), .. })))
    }

    pub fn pull(&self, client: &Client, cursor: Option<&str>, limit: u32) -> Result<Page, Fault> {
        let cursor = Cursor::parse(cursor, clock::now(), (self.whole)(&client.settings))
            .ok_or_else(|| Fault::rejected("not a cursor of this adapter"))?;
        if cursor.started.is_none() && !cursor.is_whole() && !self.delta() {
            // Not yet time to read everything again, and nothing less can be asked for.
            return Ok(Page { cursor: cursor.to_string(), last: true, ..Page::default() });
        }
        let whole = cursor.is_whole();
        let mut page = Page::default();
        let limit = limit.max(1) as usize;
        let (cursor, ends) = match self.parts.get(cursor.part) {
            Some(Part::Rows(list)) => list.page(client, cursor, limit, &mut page)?,
            Some(Part::Days(show)) => days(client, *show, cursor, limit, &mut page)?,
            None => return Err(Fault::rejected("not a cursor of this adapter")),
        };
        page.last = ends && cursor.part + 1 == self.parts.len();
        page.whole = whole && cursor.steady && !cursor.left_out;
        page.cursor = match (ends, page.last) {
            (_, true) => cursor.finished().to_string(),
            (true, false) => cursor.next_part().to_string(),
            (false, false) => cursor.to_string(),
        };
        Ok(page)
    }
}

impl List {
    /// Fills a page; answers where to go on, and whether this list is at its end.
    fn page(&self, client: &Client, cursor: Cursor, limit: usize, page: &mut Page) -> Result<(Cursor, bool), Fault> {
        let mut query = (self.query)(&client.settings, &cursor);
        if let (Some(parameter), Some(since)) = (self.since, cursor.since) {
            let since = time::since_text(since, clock::now());
            query.push(match parameter {
                Since::Time(name) => (name, since),
                Since::Date(name) => (name, since.chars().take(10).collect()),
            });
        }
        let overlap = u32::from(cursor.offset > 0);
        let room = u32::try_from(limit).unwrap_or(u32::MAX).min(self.rows).saturating_add(overlap);
        let found = client.page(self.path, self.id, &query, cursor.offset - overlap, room)?;
        let mut cursor = match cursor.started {
            Some(_) => cursor,
            None => {
                let asked = self.since.is_some() && found.now.is_none() && !found.rows.is_empty();
                let told = if asked { client.now() } else { found.now };
                disagree(told);
                Cursor { started: Some(told.unwrap_or_else(clock::now)), told, ..cursor }
            }
        };
        let mut rows = found.rows.into_iter().peekable();
        if overlap == 1 {
            let held = rows.peek().is_some_and(|row| self.id_of(row) == Some(cursor.last));
            if held {
                rows.next();
            } else {
                // Something before it went, or came: this row may not have been shown.
                cursor.steady = false;
                cursor.offset -= 1;
            }
        }
        let (mut done, mut last) = (0, None);
        for row in rows {
            let id = self.id_of(&row);
            let mut skipped = Vec::new();
            let Shown { records, deleted } = match (self.show)(client, row) {
                Ok(shown) => shown,
                Err(Trouble::Fault(fault)) => return Err(fault),
                Err(Trouble::Row(why)) => {
                    match self.record.zip(id) {
                        Some((before, key)) => skipped.push(SkippedRecord::new(format!("{before}{key}"), why)),
                        None => {
                            warn!("{} {} is left out: {why}", self.path, id.unwrap_or(0));
                            cursor.left_out = true;
                        }
                    }
                    Shown::default()
                }
                Err(Trouble::NoPlace(why)) => {
                    warn!("{} {} is left out: {why}", self.path, id.unwrap_or(0));
                    Shown::gone(id.map(|id| id.to_string()))
                }
            };
            let room = limit.saturating_sub(page.records.len() + page.skipped.len());
            let unseen = records.len().saturating_sub(cursor.shown) + skipped.len();
            if unseen > room && !(page.records.is_empty() && page.skipped.is_empty()) {
                return Ok((cursor.further(done, last, 0), false));
            }
            page.skipped.extend(skipped);
            page.records.extend(records.into_iter().skip(cursor.shown).take(room));
            if unseen > room {
                let shown = cursor.shown + room;
                return Ok((cursor.further(done, last, shown), false));
            }
            // Of what was never shown nothing is to be taken back.
            if !cursor.first {
                page.deleted.extend(deleted);
            }
            (done, last, cursor.shown) = (done + 1, id.or(last), 0);
        }
        Ok((cursor.further(done, last, 0), !found.full))
    }

    fn id_of(&self, row: &Value) -> Option<u64> {
        Num::of(&row[self.id]).map(|id| id.0).filter(|id| *id > 0)
    }
}

/// A week of what is asked for by dates, from yesterday on.
fn days(
    client: &Client,
    show: fn(&Client, &str, &str) -> Result<Vec<Record>, Fault>,
    cursor: Cursor,
    limit: usize,
    page: &mut Page,
) -> Result<(Cursor, bool), Fault> {
    let started = cursor.started.unwrap_or_else(clock::now);
    let mut cursor = Cursor { started: Some(started), ..cursor };
    let ahead = client.settings.schedule_days;
    let from = i64::from(cursor.offset);
    let to = (from + DAYS - 1).min(ahead);
    let first = time::plus_days(&time::date(started), -1);
    let records = show(client, &time::plus_days(&first, from), &time::plus_days(&first, to))?;
    let total = records.len();
    let rest: Vec<Record> = records.into_iter().skip(cursor.shown).take(limit).collect();
    let shown = cursor.shown + rest.len();
    cursor.ids = rest.iter().fold(cursor.ids, |ids, record| ids.wrapping_add(fingerprint(record)));
    page.records.extend(rest);
    if shown < total {
        return Ok((cursor.further(0, None, shown), false));
    }
    let done = u32::try_from(to + 1 - from).unwrap_or(1);
    Ok((cursor.further(done, None, 0), to >= ahead))
}

/// FNV-1a of a blockout's id: the sum over all of them tells whether they are still the same.
fn fingerprint(record: &Record) -> u64 {
    let Record::Appointment(blockout) = record else { return 0 };
    blockout
        .id
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The location's zone must be the office's: its times have none.
fn disagree(client: Option<i64>) {
    let Some(client) = client else { return };
    let off = (client - clock::now()).abs();
    if off > 900 {
        warn!("the office's clock is {} minutes off: is the location's zone the office's?", off / 60);
    }
}

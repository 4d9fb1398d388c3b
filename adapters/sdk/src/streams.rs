//! What can be read, as a table: one [`Stream`] for each resource. From a row of the EHR a mapping makes a record, or says why it cannot
//! be read; such a row is left out by its id, and the others are shown.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Deletions, Fault, Page, PullAbility, Record, Resource, SkippedRecord, clock,
    pass::{self, Marks, Pass, Whole},
    records::Instant,
    warn,
};

/// One resource, and how its pages are read. `C` is the EHR for one call.
pub struct Stream<C: 'static> {
    /// What is read.
    pub resource: Resource,
    deletions: Deletions,
    delta: bool,
    rule: Rule<C>,
}

enum Rule<C: 'static> {
    Changes(ListChanges<C>, Rows<C>),
    Lists(fn(&C) -> Whole, &'static [List<C>]),
    OnePage(fn(&C) -> Result<Vec<Record>, Fault>),
    Own(fn(&C, Resource, Option<&str>, u32) -> Result<Page, Fault>),
}

/// Asks for what changed after the mark [`Ask::at`], without one for everything. None: the mark is of other books, such as a database
/// that was restored, and everything is read again.
pub type ListChanges<C> = fn(&C, &Ask) -> Result<Option<Changes>, Fault>;
/// Makes a record of a row.
pub type Map<C> = fn(&C, Resource, Value) -> Mapped;

/// What became of a row.
#[derive(Debug)]
pub enum Shown {
    /// A record.
    Record(Box<Record>),
    /// What had this id is none any more.
    Gone(String),
    /// It is no such record, and never was.
    Nothing,
}

/// Why there is nothing to show of a row.
#[derive(Debug)]
pub enum Trouble {
    /// It cannot be read, and why, in words without patient data: it is left out.
    Row(String),
    /// Something that concerns more than this row: the page cannot be read.
    Fault(Fault),
}

/// A row as a record.
pub type Mapped = Result<Shown, Trouble>;

impl From<&str> for Trouble {
    fn from(why: &str) -> Trouble {
        Trouble::Row(why.to_owned())
    }
}

impl From<String> for Trouble {
    fn from(why: String) -> Trouble {
        Trouble::Row(why)
    }
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Trouble {
        Trouble::Fault(fault)
    }
}

impl From<Record> for Shown {
    fn from(record: Record) -> Shown {
        Shown::Record(Box::new(record))
    }
}

/// How rows become records.
pub struct Rows<C: 'static> {
    /// The field with a row's id, a text or a number.
    pub id: &'static str,
    /// Makes a record of a row.
    pub map: Map<C>,
}

/// What changed after a mark.
#[derive(Debug, Default)]
pub struct Changes {
    /// New and changed rows.
    pub rows: Vec<Value>,
    /// Ids of what is gone.
    pub deleted: Vec<String>,
    /// The mark behind them.
    pub mark: String,
    /// There is more behind it.
    pub more: bool,
    /// How many rows a whole pass shows, where the EHR says it.
    pub total: Option<u64>,
}

/// One of the lists a resource is kept in.
pub struct List<C: 'static> {
    /// Stands before the ids of its rows, where a resource has several lists: `allergy-`.
    pub prefix: &'static str,
    /// Asks for a page.
    pub page: fn(&C, &Ask) -> Result<Listed, Fault>,
    /// How its rows become records.
    pub rows: Rows<C>,
}

/// A page that is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Of this resource.
    pub resource: Resource,
    /// What changed since, by the EHR's clock; none: everything.
    pub since: Option<Instant>,
    /// Where the page begins: what [`Listed::next`] was before, none for the first.
    pub at: Option<&'a str>,
    /// Rows at most.
    pub limit: u32,
}

/// A page of a list.
#[derive(Debug, Default)]
pub struct Listed {
    /// Its rows.
    pub rows: Vec<Value>,
    /// Where the next page begins; none: this was the last.
    pub next: Option<String>,
    /// What the EHR's clock shows, where the answer says it.
    pub now: Option<Instant>,
    /// How many rows a whole pass over all lists of the resource shows, where the EHR says it. Its first page counts.
    pub total: Option<u64>,
}

impl Ask<'_> {
    /// Where the page begins, as a number: rows before it, or the id after which it goes on. 0 is the beginning.
    pub fn number(&self) -> Result<u64, Fault> {
        self.at.map_or(Ok(0), |at| at.parse().map_err(|_| pass::foreign()))
    }
}

impl Listed {
    /// Of a list in the order of its ids that is asked for what comes after one. What comes or goes meanwhile shifts nothing.
    pub fn keyset(rows: Vec<Value>, asked: &Ask, id: &str) -> Listed {
        let full = rows.len() >= asked.limit as usize;
        let next = rows.last().filter(|_| full).and_then(|row| id_of(row, id));
        Listed { rows, next, ..Listed::default() }
    }

    /// Of a list that is asked for rows from the so-many-th on. What is deleted meanwhile shifts the rest: read such a list whole.
    pub fn offset(rows: Vec<Value>, asked: &Ask) -> Result<Listed, Fault> {
        let next = (rows.len() >= asked.limit as usize).then_some(asked.number()? + rows.len() as u64);
        Ok(Listed { rows, next: next.map(|next| next.to_string()), ..Listed::default() })
    }
}

/// The place in a pass over lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    list: usize,
    at: Option<String>,
}

impl<C> Stream<C> {
    /// Of an EHR that marks its changes and reports what is deleted.
    pub const fn changes(resource: Resource, list: ListChanges<C>, id: &'static str, map: Map<C>) -> Stream<C> {
        Stream { resource, deletions: Deletions::Reported, delta: true, rule: Rule::Changes(list, Rows { id, map }) }
    }

    /// Of lists that are read whole each time.
    pub const fn whole(resource: Resource, lists: &'static [List<C>]) -> Stream<C> {
        let rule = Rule::Lists(|_| Whole::Always, lists);
        Stream { resource, deletions: Deletions::ByAbsence, delta: false, rule }
    }

    /// Of lists that can be asked for what changed since a time; `whole` says when everything is read again, for what was deleted.
    pub const fn since(resource: Resource, whole: fn(&C) -> Whole, lists: &'static [List<C>]) -> Stream<C> {
        Stream { resource, deletions: Deletions::ByAbsence, delta: true, rule: Rule::Lists(whole, lists) }
    }

    /// Of few records that fit one page, such as those of settings.
    pub const fn one_page(resource: Resource, records: fn(&C) -> Result<Vec<Record>, Fault>) -> Stream<C> {
        Stream { resource, deletions: Deletions::ByAbsence, delta: false, rule: Rule::OnePage(records) }
    }

    /// Read in a way of its own: resource, cursor and limit are those of the contract.
    pub const fn own(
        ability: (Resource, bool, Deletions),
        page: fn(&C, Resource, Option<&str>, u32) -> Result<Page, Fault>,
    ) -> Stream<C> {
        Stream { resource: ability.0, deletions: ability.2, delta: ability.1, rule: Rule::Own(page) }
    }

    /// As `describe` says it.
    pub fn ability(&self) -> PullAbility {
        PullAbility { resource: self.resource, delta: self.delta, deletions: self.deletions }
    }

    /// One page of it.
    pub fn pull(&self, ehr: &C, cursor: Option<&str>, limit: u32) -> Result<Page, Fault> {
        match &self.rule {
            Rule::Changes(list, rows) => {
                let ask = Ask { resource: self.resource, since: None, at: None, limit: limit.max(1) };
                changes(ehr, *list, rows, Marks::of(cursor)?, ask)
            }
            Rule::Lists(whole, lists) => {
                let pass = Pass::of(cursor, clock::now(), if self.delta { whole(ehr) } else { Whole::Always })?;
                page_of_lists(ehr, self.resource, lists, pass, limit.max(1))
            }
            Rule::OnePage(records) => {
                let pass = Pass::<Place>::of(cursor, clock::now(), Whole::Always)?;
                let cursor = pass.after(None, clock::now()).to_string();
                Ok(Page { records: records(ehr)?, cursor, last: true, whole: true, ..Page::default() })
            }
            Rule::Own(page) => page(ehr, self.resource, cursor, limit),
        }
    }
}

fn changes<C>(ehr: &C, list: ListChanges<C>, rows: &Rows<C>, mut at: Marks, ask: Ask) -> Result<Page, Fault> {
    let changes = match list(ehr, &Ask { at: at.mark(), ..ask })? {
        Some(changes) => changes,
        None => {
            at = at.started_over();
            list(ehr, &ask)?.ok_or_else(|| Fault::retry_later("the EHR refuses the mark it gave", None))?
        }
    };
    let mut page = Page {
        deleted: changes.deleted,
        whole: at.is_whole(),
        estimate: changes.total.filter(|_| at.is_whole()),
        last: !changes.more,
        cursor: at.after(&changes.mark, changes.more).to_string(),
        ..Page::default()
    };
    for row in changes.rows {
        let whole = page.whole;
        // The pass cannot be left with a hole in it: nothing would show this row again.
        if let Some(why) = rows.put(ehr, (ask.resource, row), "", whole, &mut page)? {
            return Err(Fault::retry_later(why, None));
        }
    }
    Ok(page)
}

fn page_of_lists<C>(
    ehr: &C,
    resource: Resource,
    lists: &[List<C>],
    mut pass: Pass<Place>,
    limit: u32,
) -> Result<Page, Fault> {
    let list = lists.get(pass.at.list).ok_or_else(pass::foreign)?;
    let asked = Ask { resource, since: pass.since, at: pass.at.at.as_deref(), limit };
    let listed = (list.page)(ehr, &asked)?;
    let mut page = Page::default();
    for row in listed.rows {
        if let Some(why) = list.rows.put(ehr, (resource, row), list.prefix, pass.is_whole(), &mut page)? {
            warn!("a row is left out: {why}");
            pass.left_out = true;
        }
    }
    let next = match listed.next {
        Some(at) => Some(Place { list: pass.at.list, at: Some(at) }),
        None => Some(Place { list: pass.at.list + 1, at: None }).filter(|next| next.list < lists.len()),
    };
    page.last = next.is_none();
    page.whole = pass.is_whole() && !pass.left_out;
    page.estimate = listed.total.filter(|_| pass.is_whole() && pass.begins());
    page.cursor = pass.after(next, listed.now.unwrap_or_else(clock::now)).to_string();
    Ok(page)
}

impl<C> Rows<C> {
    /// Puts what a row is into the page. Answers why it cannot be read, where it has no id to leave it out by.
    fn put(
        &self,
        ehr: &C,
        (resource, row): (Resource, Value),
        prefix: &str,
        whole: bool,
        page: &mut Page,
    ) -> Result<Option<String>, Fault> {
        let id = id_of(&row, self.id);
        match ((self.map)(ehr, resource, row), id) {
            (Ok(Shown::Record(record)), _) => page.records.push(*record),
            // A whole pass tells what is gone by not showing it.
            (Ok(Shown::Gone(_)), _) if whole => {}
            (Ok(Shown::Gone(id)), _) => page.deleted.push(id),
            (Ok(Shown::Nothing), _) => {}
            (Err(Trouble::Row(why)), Some(id)) => page.skipped.push(SkippedRecord::new(format!("{prefix}{id}"), why)),
            (Err(Trouble::Row(why)), None) => return Ok(Some(why)),
            (Err(Trouble::Fault(fault)), _) => return Err(fault),
        }
        Ok(None)
    }
}

fn id_of(row: &Value, field: &str) -> Option<String> {
    match &row[field] {
        Value::String(id) if !id.is_empty() => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::{records::Operatory, testing::Host};

    /// Rows by id, and the clock.
    struct Ehr(Vec<Value>, Instant);

    fn room(_: &Ehr, _: Resource, row: Value) -> Mapped {
        match row["name"].as_str() {
            Some("gone") => Ok(Shown::Gone(row["id"].to_string())),
            Some(name) => Ok(Record::Operatory(Operatory {
                id: row["id"].to_string(),
                name: name.to_owned(),
                ..Operatory::default()
            })
            .into()),
            None => Err("it has no name".into()),
        }
    }

    fn by_id(ehr: &Ehr, asked: &Ask) -> Result<Listed, Fault> {
        let after: u64 = asked.at.map_or(0, |at| at.parse().unwrap());
        let rows = ehr.0.iter().filter(|row| row["id"].as_u64().unwrap_or(u64::MAX) > after);
        let rows: Vec<Value> = rows.take(asked.limit as usize).cloned().collect();
        Ok(Listed { now: Some(ehr.1), total: Some(ehr.0.len() as u64), ..Listed::keyset(rows, asked, "id") })
    }

    const ROOMS: &[List<Ehr>] = &[List { prefix: "", page: by_id, rows: Rows { id: "id", map: room } }];
    const STREAM: Stream<Ehr> = Stream::since(Resource::Operatories, |_| Whole::After(60), ROOMS);

    fn pull(stream: &Stream<Ehr>, ehr: &Ehr, cursor: Option<&str>) -> Page {
        Host::new().run(|| stream.pull(ehr, cursor, 2)).unwrap()
    }

    #[test]
    fn a_whole_pass_goes_by_ids_and_a_delta_reports_what_is_gone() {
        let ehr = Ehr(vec![json!({"id": 1, "name": "A"}), json!({"id": 5}), json!({"id": 9, "name": "gone"})], 7_000);
        let first = pull(&STREAM, &ehr, None);
        assert_eq!((first.records.len(), first.skipped.len(), first.last), (1, 1, false));
        assert_eq!((first.whole, first.estimate), (true, Some(3)));
        let second = pull(&STREAM, &ehr, Some(&first.cursor));
        assert_eq!((second.records.len(), second.deleted.len(), second.last, second.whole), (0, 0, true, true));
        let delta = pull(&STREAM, &ehr, Some(&second.cursor));
        assert!(!delta.whole && delta.estimate.is_none() && delta.cursor.contains("\"since\":6700"), "{delta:?}");
        let rest = pull(&STREAM, &ehr, Some(&delta.cursor));
        assert_eq!(rest.deleted, ["9"]);
    }

    #[test]
    fn a_pass_with_a_row_that_has_no_id_takes_nothing_away() {
        let ehr = Ehr(vec![json!({"name": null})], 7_000);
        let page = pull(&STREAM, &ehr, None);
        assert!(!page.whole && page.last && page.skipped.is_empty());
        // The next one is whole again: what could not be read may be mended.
        let next = Pass::<Place>::of(Some(&page.cursor), 0, Whole::Always).unwrap();
        assert!(next.is_whole());
    }

    #[test]
    fn what_fits_one_page_is_whole_each_time() {
        let stream =
            Stream::one_page(Resource::Operatories, |_: &Ehr| Ok(vec![Record::Operatory(Operatory::default())]));
        let ehr = Ehr(Vec::new(), 7_000);
        let first = pull(&stream, &ehr, None);
        let second = pull(&stream, &ehr, Some(&first.cursor));
        assert!([first, second].iter().all(|page| page.whole && page.last && page.records.len() == 1));
        assert_eq!(Host::new().run(|| stream.pull(&ehr, Some("elsewhere"), 2)), Err(pass::foreign()));
    }

    #[test]
    fn several_lists_are_one_pass() {
        const TWO: &[List<Ehr>] = &[
            List { prefix: "a-", page: by_id, rows: Rows { id: "id", map: room } },
            List { prefix: "b-", page: by_id, rows: Rows { id: "id", map: room } },
        ];
        let stream = Stream::whole(Resource::Operatories, TWO);
        let ehr = Ehr(vec![json!({"id": 1})], 7_000);
        let first = pull(&stream, &ehr, None);
        let second = pull(&stream, &ehr, Some(&first.cursor));
        let ids = [&first, &second].map(|page| page.skipped[0].id.as_str());
        assert_eq!((ids, first.last, second.last), (["a-1", "b-1"], false, true));
        assert_eq!(Host::new().run(|| stream.pull(&ehr, Some("elsewhere"), 2)), Err(pass::foreign()));
    }

    #[test]
    fn other_books_are_read_from_their_beginning() {
        fn list(_: &Ehr, asked: &Ask) -> Result<Option<Changes>, Fault> {
            let rows = vec![json!({"id": 1, "name": "A"})];
            Ok((asked.at != Some("old")).then(|| Changes {
                rows,
                mark: "new".into(),
                total: Some(1),
                ..Changes::default()
            }))
        }
        let stream = Stream::changes(Resource::Operatories, list, "id", room);
        let page = pull(&stream, &Ehr(Vec::new(), 0), Some("delta:old"));
        assert_eq!((page.whole, page.records.len(), page.cursor.as_str()), (true, 1, "delta:new"));
    }
}

//! The readable resources as a table of one [`Stream`] each. A mapping converts a row of the EHR into a record or
//! reports why it cannot be read. An unreadable row is skipped by its id.

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use crate::pages::{Ask, Listed, Overlap};
use crate::{
    Deletions, Fault, Page, PullAbility, Record, Resource, SkippedRecord, clock, json, mark,
    pages::id_of,
    pass::{self, Marks, Pass, Whole},
    warn,
};

/// A resource and how its pages are read. `C` is the EHR for one call.
pub struct Stream<C: 'static> {
    /// The resource to read.
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

/// Requests changes after the mark [`Ask::at`], or everything without a mark. Returns `None` if the mark is unknown to
/// the EHR, such as after a restored database; then everything is read again.
pub type ListChanges<C> = fn(&C, &Ask) -> Result<Option<Changes>, Fault>;
/// Converts a row into a record.
pub type Map<C> = fn(&C, Resource, Value) -> Mapped;

/// The result of mapping a row.
#[derive(Debug)]
pub enum Shown {
    /// A record.
    Record(Box<Record>),
    /// Several records, or no known record.
    Records(Vec<Record>),
    /// The readable records of a row with several, and why the others cannot be read, without patient data.
    Partly(Vec<Record>, String),
    /// The record with this id is deleted. Also used for an appointment that a delta lists at another location, because
    /// staff may have moved it. An id that was never listed here has no effect.
    Gone(String),
    /// The row is not a record of this resource and never was.
    Nothing,
}

/// Why a row yields no record.
#[derive(Debug)]
pub enum RowError {
    /// The row cannot be read and is skipped. The reason contains no patient data.
    Row(String),
    /// One of several records of the row cannot be read, so no id identifies the skipped record.
    Part(String),
    /// A fault that affects more than this row; the page fails.
    Fault(Fault),
}

/// The result of a mapping.
pub type Mapped = Result<Shown, RowError>;

impl RowError {
    /// Marks the trouble as one of several records of the row.
    pub fn into_part(self) -> RowError {
        match self {
            RowError::Row(why) => RowError::Part(why),
            other => other,
        }
    }
}

impl From<&str> for RowError {
    fn from(why: &str) -> RowError {
        RowError::Row(why.to_owned())
    }
}

impl From<String> for RowError {
    fn from(why: String) -> RowError {
        RowError::Row(why)
    }
}

impl From<Fault> for RowError {
    fn from(fault: Fault) -> RowError {
        RowError::Fault(fault)
    }
}

impl From<Record> for Shown {
    fn from(record: Record) -> Shown {
        Shown::Record(Box::new(record))
    }
}

/// Returns the row as this record.
pub fn one_record(record: Record) -> Mapped {
    Ok(record.into())
}

/// Conversion of rows into records.
pub struct Rows<C: 'static> {
    /// The field of a row's id, a text or a number.
    pub id: &'static str,
    /// Converts a row into a record.
    pub map: Map<C>,
}

/// Changes after a mark.
#[derive(Debug, Default, Deserialize)]
pub struct Changes {
    /// New and changed rows.
    pub rows: Vec<Value>,
    /// Ids of deleted rows.
    pub deleted: Vec<String>,
    /// The mark after these changes.
    pub mark: String,
    /// More changes follow.
    pub more: bool,
    /// Total rows of a whole pass, if the EHR reports it.
    pub total: Option<u64>,
}

/// One of the lists of a resource.
pub struct List<C: 'static> {
    /// Prefix of the ids of its rows if a resource has several lists: `allergy-`.
    pub prefix: &'static str,
    /// Requests a page.
    pub page: fn(&C, &Ask) -> Result<Listed, Fault>,
    /// Conversion of the list's rows into records.
    pub rows: Rows<C>,
}

/// The position in a pass over lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ListPosition {
    list: usize,
    at: Option<String>,
    /// Records of the current row that were already listed.
    #[serde(default)]
    shown: usize,
}

impl<C> Stream<C> {
    /// A resource of an EHR that marks its changes and reports deletions.
    pub const fn changes(resource: Resource, list: ListChanges<C>, id: &'static str, map: Map<C>) -> Stream<C> {
        Stream { resource, deletions: Deletions::Reported, delta: true, rule: Rule::Changes(list, Rows { id, map }) }
    }

    /// Lists that are read whole in every pass.
    pub const fn whole(resource: Resource, lists: &'static [List<C>]) -> Stream<C> {
        let rule = Rule::Lists(|_| Whole::Always, lists);
        Stream { resource, deletions: Deletions::ByAbsence, delta: false, rule }
    }

    /// Lists that support requests for changes since a time. `whole` determines when everything is read again to detect
    /// deletions.
    pub const fn since(resource: Resource, whole: fn(&C) -> Whole, lists: &'static [List<C>]) -> Stream<C> {
        Stream { resource, deletions: Deletions::ByAbsence, delta: true, rule: Rule::Lists(whole, lists) }
    }

    /// Lists that are read whole periodically and do not support requests for changes.
    pub const fn seldom(resource: Resource, whole: fn(&C) -> Whole, lists: &'static [List<C>]) -> Stream<C> {
        Stream { resource, deletions: Deletions::ByAbsence, delta: false, rule: Rule::Lists(whole, lists) }
    }

    /// Declares that the EHR reports each deleted record.
    pub const fn reporting_deletions(self) -> Stream<C> {
        Stream { deletions: Deletions::Reported, ..self }
    }

    /// A few records that fit into one page, such as those configured as settings.
    pub const fn one_page(resource: Resource, records: fn(&C) -> Result<Vec<Record>, Fault>) -> Stream<C> {
        Stream { resource, deletions: Deletions::ByAbsence, delta: false, rule: Rule::OnePage(records) }
    }

    /// A resource with custom paging; resource, cursor and limit are those of the contract.
    pub const fn custom(
        ability: (Resource, bool, Deletions),
        page: fn(&C, Resource, Option<&str>, u32) -> Result<Page, Fault>,
    ) -> Stream<C> {
        Stream { resource: ability.0, deletions: ability.2, delta: ability.1, rule: Rule::Own(page) }
    }

    /// Returns the entry for `describe`.
    pub fn ability(&self) -> PullAbility {
        PullAbility { resource: self.resource, delta: self.delta, deletions: self.deletions }
    }

    /// Reads one page.
    pub fn pull(&self, ehr: &C, cursor: Option<&str>, limit: u32) -> Result<Page, Fault> {
        match &self.rule {
            Rule::Changes(list, rows) => {
                let ask = Ask {
                    resource: self.resource,
                    started: None,
                    now: clock::now(),
                    since: None,
                    at: None,
                    limit: limit.max(1),
                };
                changes(ehr, *list, rows, Marks::from_cursor(cursor)?, ask)
            }
            Rule::Lists(whole, lists) => {
                let pass = Pass::from_cursor(cursor, clock::now(), whole(ehr))?;
                if !self.delta && !pass.is_whole() && pass.begins() {
                    // The next whole pass is not due, and no changes can be requested.
                    return Ok(Page { cursor: pass.to_string(), last: true, ..Page::default() });
                }
                let reported = matches!(self.deletions, Deletions::Reported);
                page_of_lists(ehr, self.resource, lists, pass, (limit.max(1), reported))
            }
            Rule::OnePage(records) => {
                let pass = Pass::<ListPosition>::from_cursor(cursor, clock::now(), Whole::Always)?;
                let cursor = pass.after(None, None, clock::now()).to_string();
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
        let Read { records, gone, skipped, left_out } = rows.read(ehr, (ask.resource, row), "")?;
        if let Some(why) = left_out {
            // The pass must not have a gap, because nothing would list this row again.
            return Err(Fault::retry_later(why, None));
        }
        page.records.extend(records);
        page.skipped.extend(skipped);
        // The EHR reports deletions, so absence means nothing, also in a whole pass.
        page.deleted.extend(gone);
    }
    Ok(page)
}

fn page_of_lists<C>(
    ehr: &C,
    resource: Resource,
    lists: &[List<C>],
    mut pass: Pass<ListPosition>,
    (limit, reported): (u32, bool),
) -> Result<Page, Fault> {
    let begun = clock::now();
    let list = lists.get(pass.at.list).ok_or_else(pass::foreign)?;
    let asked =
        Ask { resource, started: pass.started, now: begun, since: pass.since, at: pass.at.at.as_deref(), limit };
    let Listed { rows, next, now, total, after, shifted, entire } = (list.page)(ehr, &asked)?;
    pass.missed |= shifted;
    let mut page = Page::default();
    let mut full = None;
    // Rows that are no record, or several, change the EHR's total.
    let mut announced = total;
    for (n, row) in rows.into_iter().enumerate() {
        let Read { records, gone, skipped, left_out } = list.rows.read(ehr, (resource, row), list.prefix)?;
        if let Some(why) = left_out {
            warn!("{} {why}", json::name(resource));
            pass.left_out = true;
        }
        let seen = if n == 0 { pass.at.shown } else { 0 };
        let here = if n == 0 { pass.at.at.clone() } else { after.get(n - 1).cloned() };
        let room = (limit as usize).saturating_sub(page.records.len() + page.skipped.len());
        let unseen = records.len().saturating_sub(seen) + skipped.iter().len();
        // A row is listed on one page, unless it has more records than fit.
        if unseen > room && (n == 0 || here.is_some()) {
            let part = if page.records.is_empty() && page.skipped.is_empty() { room } else { 0 };
            page.records.extend(records.into_iter().skip(seen).take(part));
            full = Some(ListPosition { list: pass.at.list, at: here, shown: if part > 0 { seen + part } else { 0 } });
            break;
        }
        announced = announced.map(|all| (all + (records.len() + skipped.iter().len()) as u64).saturating_sub(1));
        page.records.extend(records.into_iter().skip(seen));
        page.skipped.extend(skipped);
        // A whole pass reports deletions by absence. With `Deletions::Reported` absence means nothing, so the EHR's
        // reports are passed on.
        page.deleted.extend(gone.filter(|_| reported || !pass.is_whole()));
    }
    let further = next.map(|at| ListPosition { at: Some(at), list: pass.at.list, shown: 0 });
    let other = ListPosition { list: pass.at.list + 1, ..ListPosition::default() };
    let next = full.or(further).or(Some(other).filter(|other| other.list < lists.len()));
    if entire {
        // The sum over all record ids of a list detects changes of the set.
        let mark = |record: &Record| mark::number(json::id(record).bytes());
        pass.ids = page.records.iter().map(mark).fold(pass.ids, u64::wrapping_add);
    }
    page.last = next.is_none();
    page.whole = pass.is_whole() && !pass.left_out && !pass.missed;
    page.estimate = announced.filter(|_| pass.is_whole() && pass.begins());
    page.cursor = pass.after(next, now, begun).to_string();
    Ok(page)
}

/// A row after mapping.
#[derive(Default)]
struct Read {
    records: Vec<Record>,
    gone: Option<String>,
    skipped: Option<SkippedRecord>,
    /// Why part of the row cannot be read if no id identifies it.
    left_out: Option<String>,
}

impl<C> Rows<C> {
    fn read(&self, ehr: &C, (resource, row): (Resource, Value), prefix: &str) -> Result<Read, Fault> {
        let id = id_of(&row, self.id);
        let nothing = Read::default();
        Ok(match ((self.map)(ehr, resource, row), id) {
            (Ok(Shown::Record(record)), _) => Read { records: vec![*record], ..nothing },
            (Ok(Shown::Records(records)), _) => Read { records, ..nothing },
            (Ok(Shown::Partly(records, why)), id) => {
                let of = id.map(|id| format!(" of {id}")).unwrap_or_default();
                Read { records, left_out: Some(format!("records{of} are left out: {why}")), ..nothing }
            }
            (Ok(Shown::Gone(id)), _) => Read { gone: Some(id), ..nothing },
            (Ok(Shown::Nothing), _) => nothing,
            (Err(RowError::Row(why)), Some(id)) => {
                Read { skipped: Some(SkippedRecord::new(format!("{prefix}{id}"), why)), ..nothing }
            }
            (Err(RowError::Row(why)), None) => Read { left_out: Some(format!("row is skipped: {why}")), ..nothing },
            (Err(RowError::Part(why)), id) => {
                Read { left_out: Some(format!("of row {} are left out: {why}", id.unwrap_or_default())), ..nothing }
            }
            (Err(RowError::Fault(fault)), _) => return Err(fault),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::{
        records::{Instant, Operatory},
        testing::Host,
    };

    /// Rows by id, and the clock.
    struct RowsEhr(Vec<Value>, Instant);

    fn room(_: &RowsEhr, _: Resource, row: Value) -> Mapped {
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

    fn by_id(ehr: &RowsEhr, asked: &Ask) -> Result<Listed, Fault> {
        let after: u64 = asked.at.map_or(0, |at| at.parse().unwrap());
        let rows = ehr.0.iter().filter(|row| row["id"].as_u64().unwrap_or(u64::MAX) > after);
        let rows: Vec<Value> = rows.take(asked.limit as usize).cloned().collect();
        Ok(Listed { now: Some(ehr.1), total: Some(ehr.0.len() as u64), ..Listed::keyset(rows, asked, "id") })
    }

    const ROOMS: &[List<RowsEhr>] = &[List { prefix: "", page: by_id, rows: Rows { id: "id", map: room } }];
    const STREAM: Stream<RowsEhr> = Stream::since(Resource::Operatories, |_| Whole::After(60), ROOMS);

    fn pull(stream: &Stream<RowsEhr>, ehr: &RowsEhr, cursor: Option<&str>) -> Page {
        Host::new().run(|| stream.pull(ehr, cursor, 2)).unwrap()
    }

    #[test]
    fn a_whole_pass_pages_by_id_and_a_delta_reports_deletions() {
        let ehr =
            RowsEhr(vec![json!({"id": 1, "name": "A"}), json!({"id": 5}), json!({"id": 9, "name": "gone"})], 7_000);
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

    /// If absence does not mean deletion, a repeated whole pass is the only source of deletions.
    #[test]
    fn reported_deletions_are_passed_on_in_a_whole_pass() {
        let stream = Stream::since(Resource::Operatories, |_| Whole::Never, ROOMS).reporting_deletions();
        let ehr = RowsEhr(vec![json!({"id": 1, "name": "A"}), json!({"id": 9, "name": "gone"})], 7_000);
        assert_eq!(pull(&stream, &ehr, None).deleted, ["9"]);
    }

    #[test]
    fn a_pass_with_a_row_without_an_id_is_not_whole() {
        let ehr = RowsEhr(vec![json!({"name": null})], 7_000);
        let page = pull(&STREAM, &ehr, None);
        assert!(!page.whole && page.last && page.skipped.is_empty());
        // The next pass is whole again, because the row may be readable by then.
        let next = Pass::<ListPosition>::from_cursor(Some(&page.cursor), 0, Whole::Always).unwrap();
        assert!(next.is_whole());
    }

    #[test]
    fn a_single_page_is_always_whole() {
        let stream =
            Stream::one_page(Resource::Operatories, |_: &RowsEhr| Ok(vec![Record::Operatory(Operatory::default())]));
        let ehr = RowsEhr(Vec::new(), 7_000);
        let first = pull(&stream, &ehr, None);
        let second = pull(&stream, &ehr, Some(&first.cursor));
        assert!([first, second].iter().all(|page| page.whole && page.last && page.records.len() == 1));
        assert_eq!(Host::new().run(|| stream.pull(&ehr, Some("elsewhere"), 2)), Err(pass::foreign()));
    }

    #[test]
    fn several_lists_are_one_pass() {
        const TWO: &[List<RowsEhr>] = &[
            List { prefix: "a-", page: by_id, rows: Rows { id: "id", map: room } },
            List { prefix: "b-", page: by_id, rows: Rows { id: "id", map: room } },
        ];
        let stream = Stream::whole(Resource::Operatories, TWO);
        let ehr = RowsEhr(vec![json!({"id": 1})], 7_000);
        let first = pull(&stream, &ehr, None);
        let second = pull(&stream, &ehr, Some(&first.cursor));
        let ids = [&first, &second].map(|page| page.skipped[0].id.as_str());
        assert_eq!((ids, first.last, second.last), (["a-1", "b-1"], false, true));
        assert_eq!(Host::new().run(|| stream.pull(&ehr, Some("elsewhere"), 2)), Err(pass::foreign()));
    }

    /// Three operatories in each row.
    fn rooms(_: &RowsEhr, _: Resource, row: Value) -> Mapped {
        let room = |n| Record::Operatory(Operatory { id: format!("{}.{n}", row["id"]), ..Operatory::default() });
        match row["name"].as_str() {
            Some(_) => Ok(Shown::Records((1..=3).map(room).collect())),
            None => Err(RowError::from("it has no name").into_part()),
        }
    }

    fn overlapping(ehr: &RowsEhr, asked: &Ask) -> Result<Listed, Fault> {
        let from = asked.overlapping()?;
        let rows: Vec<Value> = ehr.0.iter().skip(from.offset as usize).take(from.limit as usize).cloned().collect();
        let full = rows.len() == from.limit as usize;
        Ok(Listed { now: Some(ehr.1), ..Listed::overlapping(rows, asked, "id", full)? })
    }

    const IN_ROWS: &[List<RowsEhr>] = &[List { prefix: "", page: overlapping, rows: Rows { id: "id", map: rooms } }];

    fn ids(page: &Page) -> Vec<&str> {
        page.records.iter().map(json::id).collect()
    }

    #[test]
    fn a_row_with_more_records_than_fit_is_split_across_pages() {
        let stream = Stream::whole(Resource::Operatories, IN_ROWS);
        let ehr = RowsEhr(vec![json!({"id": 1, "name": "A"}), json!({"id": 5, "name": "B"})], 7_000);
        let (mut pages, mut cursor) = (Vec::new(), None);
        while pages.last().is_none_or(|page: &Page| !page.last) {
            pages.push(pull(&stream, &ehr, cursor.as_deref()));
            cursor = pages.last().map(|page| page.cursor.clone());
        }
        let shown: Vec<Vec<&str>> = pages.iter().map(ids).collect();
        assert_eq!(shown, [vec!["1.1", "1.2"], vec!["1.3"], vec!["5.1", "5.2"], vec!["5.3"]]);
        assert!(pages.iter().all(|page| page.whole));
        // Nothing identifies which of a row's records cannot be read.
        let page = pull(&stream, &RowsEhr(vec![json!({"id": 1})], 7_000), None);
        assert!(page.records.is_empty() && page.skipped.is_empty() && page.last && !page.whole);
    }

    #[test]
    fn a_deletion_between_pages_hides_no_other_row() {
        let row = |id: u64| json!({"id": id, "name": "A"});
        let list = List { prefix: "", page: overlapping, rows: Rows { id: "id", map: room } };
        let stream = Stream::since(Resource::Operatories, |_| Whole::After(60), Box::leak(Box::new([list])));
        let first = pull(&stream, &RowsEhr((1..=4).map(row).collect(), 7_000), None);
        let second = pull(&stream, &RowsEhr([1, 3, 4].map(row).to_vec(), 7_000), Some(&first.cursor));
        assert_eq!((ids(&second), second.last, second.whole), (vec!["3", "4"], true, false));
        let again = pull(&stream, &RowsEhr([1, 3, 4].map(row).to_vec(), 7_000), Some(&second.cursor));
        assert!(again.whole && ids(&again) == ["1", "3"], "it is done again");
    }

    #[test]
    fn lists_without_changes_are_not_read_before_the_next_whole_pass() {
        let stream = Stream::seldom(Resource::Operatories, |_| Whole::After(60), ROOMS);
        let first = pull(&stream, &RowsEhr(vec![json!({"id": 1, "name": "A"})], 7_000), None);
        let next = pull(&stream, &RowsEhr(vec![json!({"id": 1, "name": "B"})], 7_000), Some(&first.cursor));
        assert!(first.whole && next.last && !next.whole && next.records.is_empty() && next.cursor == first.cursor);
    }

    #[test]
    fn an_unknown_mark_starts_a_whole_pass() {
        fn list(_: &RowsEhr, asked: &Ask) -> Result<Option<Changes>, Fault> {
            let rows = vec![json!({"id": 1, "name": "A"})];
            Ok((asked.at != Some("old")).then(|| Changes {
                rows,
                mark: "new".into(),
                total: Some(1),
                ..Changes::default()
            }))
        }
        let stream = Stream::changes(Resource::Operatories, list, "id", room);
        let page = pull(&stream, &RowsEhr(Vec::new(), 0), Some("delta:old"));
        assert_eq!((page.whole, page.records.len(), page.cursor.as_str()), (true, 1, "delta:new"));
    }

    #[test]
    fn a_whole_pass_by_marks_passes_a_deleted_row_on() {
        fn list(_: &RowsEhr, _: &Ask) -> Result<Option<Changes>, Fault> {
            let rows = vec![json!({"id": 9, "name": "gone"})];
            Ok(Some(Changes { rows, mark: "new".into(), ..Changes::default() }))
        }
        let stream = Stream::changes(Resource::Operatories, list, "id", room);
        let page = pull(&stream, &RowsEhr(Vec::new(), 0), None);
        assert_eq!((page.whole, page.deleted), (true, vec!["9".to_owned()]));
    }
}

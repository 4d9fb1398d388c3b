//! Page rules: how a list is asked for page by page, and where the next page begins. By id after id, by offset, or by offset with pages that
//! overlap, so that what comes and goes in between hides nothing.

use serde_json::Value;

use crate::{Fault, Resource, pass, records::Instant};

/// A page that is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Of this resource.
    pub resource: Resource,
    /// When this pass began, see [`Pass::started`](pass::Pass::started); none: with this page.
    pub started: Option<Instant>,
    /// The time here, from before the page is read: what a list counts from its next page counts from too.
    pub now: Instant,
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
    /// Where a page begins that goes on behind each of its rows: for rows that may be more records than the engine's page has room for.
    pub after: Vec<String>,
    /// Rows came or went before this page since the one before: some may never have been shown, and the pass is done again.
    pub shifted: bool,
    /// Deltas show this list to its end, too: once something is gone from it, the next pass is whole.
    pub entire: bool,
}

/// What to ask a list by offset for, see [`Ask::overlapping`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap<'a> {
    /// Rows before the page.
    pub offset: u64,
    /// Rows of it.
    pub limit: u32,
    /// The id of the row that the page should begin with; none on the first page.
    last: Option<&'a str>,
}

impl Ask<'_> {
    /// Where the page begins, as a number: rows before it, or the id after which it goes on. 0 is the beginning.
    pub fn number(&self) -> Result<u64, Fault> {
        self.at.map_or(Ok(0), |at| at.parse().map_err(|_| pass::foreign()))
    }

    /// Of a list by offset whose pages overlap by a row: the last one that was shown is asked for once more. Where it is not in its place,
    /// something before it came or went. The answer goes into [`Listed::overlapping`].
    pub fn overlapping(&self) -> Result<Overlap<'_>, Fault> {
        let Some(at) = self.at else { return Ok(Overlap { offset: 0, limit: self.limit, last: None }) };
        let (done, last) = at.split_once(':').ok_or_else(pass::foreign)?;
        let done: u64 = done.parse().map_err(|_| pass::foreign())?;
        let offset = done.checked_sub(1).ok_or_else(pass::foreign)?;
        Ok(Overlap { offset, limit: self.limit.saturating_add(1), last: Some(last) })
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

    /// Of a list that was asked for what [`Ask::overlapping`] says. `full`: there may be more behind it.
    ///
    /// ```
    /// use adapter_sdk::{Resource, streams::{Ask, Listed}};
    /// use serde_json::json;
    ///
    /// let first = Ask { resource: Resource::Operatories, started: None, now: 0, since: None, at: None, limit: 2 };
    /// let listed = Listed::overlapping(vec![json!({"id": 5}), json!({"id": 7})], &first, "id", true).expect("a first page");
    /// let next = Ask { at: listed.next.as_deref(), ..first };
    /// assert_eq!(next.overlapping().map(|asked| (asked.offset, asked.limit)), Ok((1, 3)));
    /// // Row 5 was deleted in between: 9 has moved up, and 8 may never have been shown.
    /// let listed = Listed::overlapping(vec![json!({"id": 9})], &next, "id", false).expect("a second page");
    /// assert!(listed.shifted && listed.rows.len() == 1);
    /// ```
    pub fn overlapping(mut rows: Vec<Value>, asked: &Ask, id: &str, full: bool) -> Result<Listed, Fault> {
        let Overlap { offset, last, .. } = asked.overlapping()?;
        let held = last.is_some() && rows.first().and_then(|row| id_of(row, id)).as_deref() == last;
        if held {
            rows.remove(0);
        }
        let (mut done, mut last) = (offset + u64::from(held), last.unwrap_or_default().to_owned());
        let here = format!("{done}:{last}");
        let after = rows.iter().map(|row| {
            (done, last) = (done + 1, id_of(row, id).unwrap_or_else(|| std::mem::take(&mut last)));
            format!("{done}:{last}")
        });
        let after: Vec<String> = after.collect();
        let next = full.then(|| after.last().cloned().unwrap_or(here));
        Ok(Listed { rows, next, after, shifted: asked.at.is_some() && !held, ..Listed::default() })
    }
}

/// The id of a row: a text or a number.
pub(crate) fn id_of(row: &Value, field: &str) -> Option<String> {
    match &row[field] {
        Value::String(id) if !id.is_empty() => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}
